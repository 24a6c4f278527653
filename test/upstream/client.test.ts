import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { PermanentError, ProductError, TransientError } from '../../src/base/errors.ts'
import type { UpstreamOptions } from '../../src/upstream/client.ts'
import type { Pause } from '../../src/upstream/http/channel.ts'
import { upstreamClass } from '../../src/upstream/http/errors.ts'
import { operations } from '../../src/upstream/http/operations.ts'
import type { FeedPage } from '../../src/upstream/wire/answers.ts'
import { Counts } from '../tools/counts.ts'
import { clientOf, type Handler, json, SECRET, startService, thrownBy, withTokens } from './service.ts'

const ID = '0b8f6a52-3a35-4b52-9a1e-6f2d7f1f6a01'
const OTHER = '5d2c1d1e-91c5-4c55-8d5d-2f4a7a5b9c02'
const emptyPage = { events: [], messages: [], next_cursor: null }

async function bench(handler: Handler, options: Partial<UpstreamOptions> = {}) {
  const service = await startService(withTokens(handler))
  const counts = new Counts()
  const client = clientOf(service, { observer: counts, ...options })
  return { service, client, counts }
}

describe('requests', () => {
  test('trap 44: sends only reads and the token exchange, and writes nothing', async () => {
    expect(operations).toEqual({
      token: { method: 'POST', path: '/oauth/token' },
      me: { method: 'GET', path: '/broker/me' },
      events: { method: 'GET', path: '/broker/submissions/{submission_id}/events' },
      thread: { method: 'GET', path: '/broker/submissions/{submission_id}/thread' },
      requirements: { method: 'GET', path: '/broker/submissions/{submission_id}/requirements' },
      outstanding: { method: 'GET', path: '/broker/submissions/{submission_id}/outstanding-requirements' },
      workspace: { method: 'GET', path: '/broker/submissions/{submission_id}/application-workspace' },
      sessions: { method: 'GET', path: '/broker/submissions/{submission_id}/api-quotes/sessions' },
      bind_request: { method: 'GET', path: '/broker/submissions/{submission_id}/bind-requests/{id}' },
      policy: { method: 'GET', path: '/broker/policies/{id}' },
      insured: { method: 'GET', path: '/broker/insureds/{id}' },
      document: { method: 'GET', path: '/broker/finalized-documents/{id}/pdf' },
      probe: { method: 'GET', path: '' },
    })
    const { service, client } = await bench((request, response) =>
      json(response, request.url.endsWith('/me') ? { kind: 'api_client', client_id: 'bac_first', brokerage: { id: 'b-1' } } : emptyPage),
    )
    expect(await client.me()).toEqual({ kind: 'api_client', brokerage: 'b-1', clientId: 'bac_first', label: null, activeStates: null })
    await client.events(ID, null)
    await client.thread(ID, 'c')
    for (const read of ['requirements', 'outstanding', 'workspace', 'sessions'] as const) await client.state(read, ID)
    expect(service.arrived.map((request) => `${request.method} ${request.url}`)).toEqual([
      'POST /api/v1/oauth/token',
      'GET /api/v1/broker/me',
      `GET /api/v1/broker/submissions/${ID}/events?limit=100`,
      `GET /api/v1/broker/submissions/${ID}/thread?since=c&limit=200`,
      `GET /api/v1/broker/submissions/${ID}/requirements`,
      `GET /api/v1/broker/submissions/${ID}/outstanding-requirements`,
      `GET /api/v1/broker/submissions/${ID}/application-workspace`,
      `GET /api/v1/broker/submissions/${ID}/api-quotes/sessions`,
    ])
    const methods = Object.keys(client).sort()
    expect(methods).toEqual([
      'byId',
      'clockSkewMs',
      'close',
      'document',
      'events',
      'joinPause',
      'me',
      'pause',
      'probe',
      'rate',
      'shareAmong',
      'state',
      'thread',
      'waitMs',
    ])
    expect(service.arrived.slice(1).every((request) => request.body === '' && request.headers.authorization === 'Bearer token-1')).toBe(
      true,
    )
  })

  test('trap 04: without a cursor there is no parameter', async () => {
    const { service, client } = await bench((_, response) => json(response, emptyPage))
    await client.events(ID, null)
    await client.thread(ID, null)
    expect(service.arrived.filter((request) => request.url.includes('since'))).toEqual([])
  })

  test('trap 05: sends a cursor unchanged, with any characters and length', async () => {
    const cursor = `+/=&#%?é ${'x'.repeat(6000)}`
    const { service, client } = await bench((_, response) => json(response, { ...emptyPage, next_cursor: cursor }))
    const page = await client.events(ID, null)
    await client.events(ID, page.nextCursor)
    expect(new URL(service.arrived.at(-1)?.url ?? '', 'http://x').searchParams.get('since')).toBe(cursor)
  })

  test('trap 06: requests the largest page, and accepts any number of items', async () => {
    const items = Array.from({ length: 250 }, (_, n) => ({ n }))
    const { service, client } = await bench((_, response) => json(response, { events: items, messages: [], next_cursor: 'c' }))
    expect(await client.events(ID, null)).toEqual({ items, nextCursor: 'c', isEndConfirmed: false })
    expect(await client.thread(ID, null)).toEqual({ items: [], nextCursor: 'c', isEndConfirmed: false })
    expect(service.arrived.slice(1).map((request) => request.url.split('?')[1])).toEqual(['limit=100', 'limit=200'])
  })

  test('trap 78: refuses an id that is not a UUID before sending, and sends UUIDs in lower case', async () => {
    const { service, client } = await bench((_, response) => json(response, emptyPage))
    for (const id of ['', 'x', '../../../me', `${ID}/events?x=`]) {
      for (const work of [() => client.events(id, null), () => client.thread(id, null), () => client.state('requirements', id)]) {
        expect(await thrownBy(work())).toBeInstanceOf(PermanentError)
      }
    }
    expect(service.arrived).toEqual([])
    await client.events(ID.toUpperCase(), null)
    expect(service.to(`/${ID}/`).length).toBe(1)
  })

  test('trap 45: does not follow redirects, and keeps the token on its host', async () => {
    const elsewhere = await startService((_, response) => json(response, emptyPage))
    const { service, client } = await bench((_, response) => response.writeHead(307, { location: `${elsewhere.baseUrl}/broker/me` }).end())
    expect(await thrownBy(client.events(ID, null))).toMatchObject({ class: 'unavailable' })
    expect(elsewhere.arrived).toEqual([])
    expect(service.arrived.length).toBe(2)
  })

  test('trap 82: accepts a base URL with another path', async () => {
    const service = await startService(withTokens((_, response) => json(response, emptyPage)))
    const client = clientOf(service, { baseUrl: service.baseUrl.replace('/api/v1', '/staging/v7/') })
    await client.events(ID, null)
    expect(service.arrived.map((request) => request.url.split('?')[0])).toEqual([
      '/staging/v7/oauth/token',
      `/staging/v7/broker/submissions/${ID}/events`,
    ])
  })
})

describe('refused tokens', () => {
  test('trap 39: a 401 renews the token once, and repeats the request with the same cursor', async () => {
    const { service, client } = await bench((request, response) =>
      request.headers.authorization === 'Bearer token-2' ? json(response, emptyPage) : json(response, {}, 401),
    )
    expect(await client.events(ID, 'a+b')).toEqual({ items: [], nextCursor: null, isEndConfirmed: true })
    const reads = service.to('/events')
    expect(reads.map((request) => request.headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2'])
    expect(reads[1]?.url).toBe(reads[0]?.url)
    await client.thread(ID, null)
    expect(service.to('/oauth/token').length).toBe(2)
  })

  test('trap 39: a second 401 is returned', async () => {
    const { service, client } = await bench((_, response) => json(response, { detail: 'expired' }, 401))
    expect(await thrownBy(client.state('requirements', ID))).toMatchObject({ class: 'auth', rejectedWithCursor: false })
    expect(service.to('/requirements').length).toBe(2)
  })

  test('trap 43: reads refused with a new token cause one exchange; the identity check always renews', async () => {
    const clock = new ManualClock()
    const { service, client } = await bench((_, response) => json(response, {}, 403), { clock, requestsPerSecond: 1_000_000 })
    const ask = async (read: () => Promise<unknown>) => {
      // The rate allows nothing while the clock stops.
      clock.advance(1)
      expect(await thrownBy(read())).toMatchObject({ class: 'auth' })
    }
    for (let n = 0; n < 5; n += 1) await ask(() => client.events(ID, null))
    expect(service.to('/oauth/token').length).toBe(2)
    expect(service.to('/events').length).toBe(6)
    await ask(() => client.me())
    expect(service.to('/oauth/token').length).toBe(3)
  })

  test('trap 43: only an identity check exchanges suspended credentials', async () => {
    let refused = true
    const service = await startService((request, response) => {
      if (!request.url.endsWith('/token')) return json(response, { kind: 'api_client', brokerage: 'b' })
      return refused ? json(response, {}, 400) : json(response, { access_token: 't' })
    })
    const client = clientOf(service)
    for (let n = 0; n < 3; n += 1) expect(await thrownBy(client.events(ID, null))).toMatchObject({ class: 'auth' })
    expect(service.arrived.length).toBe(1)
    expect(await thrownBy(client.me())).toMatchObject({ class: 'auth' })
    refused = false
    expect(await client.me()).toMatchObject({ brokerage: 'b' })
    expect(service.to('/token').length).toBe(3)
  })
})

describe('failures', () => {
  const misshapen = [
    '',
    '<html>maintenance</html>',
    '{"events":[',
    'null',
    '[]',
    '7',
    '{}',
    '{"events":{}}',
    '{"events":[],"next_cursor":7}',
  ]

  test('trap 52: the status of a refusal counts, with any body', async () => {
    let body = ''
    const { client } = await bench((_, response) => response.writeHead(400).end(body))
    for (body of ['', '<html>', '{"detail":', 'null', '[]', '"x"', '{"detail":[{"loc":[1]}]}', '{"detail":{"code":"x"}}', '\u0000']) {
      expect(await thrownBy(client.events(ID, 'c'))).toMatchObject({ class: 'rejected', rejectedWithCursor: true })
      expect(await thrownBy(client.events(ID, null))).toMatchObject({ class: 'rejected', rejectedWithCursor: false })
    }
  })

  test('trap 51: errors and metrics distinguish each class', async () => {
    for (const [status, kind] of [
      [404, 'gone'],
      [409, 'rejected'],
      [429, 'throttled'],
      [500, 'unavailable'],
      [301, 'unavailable'],
    ] as const) {
      const { client, counts } = await bench((_, response) => json(response, {}, status))
      const error = await thrownBy(client.thread(ID, null))
      expect(upstreamClass(error)).toBe(kind)
      expect(error).toBeInstanceOf(ProductError)
      expect(counts.of(`upstream_requests_total acme ${kind}`)).toBe(1)
    }
  })

  test('trap 52: a malformed success is a temporary fault, never an empty page', async () => {
    for (const body of misshapen) {
      const { client } = await bench((_, response) => response.end(body))
      expect(await thrownBy(client.events(ID, 'c')), body).toMatchObject({ class: 'unavailable' })
    }
  })

  test('an oversized page is requested with fewer items until it fits, then with more again', async () => {
    const large = 'x'.repeat(1_200_000)
    const thread = Array.from({ length: 60 }, (_, n) => ({ message_id: String(n), body_text: n < 8 ? large : 'short' }))
    const { service, client, counts } = await bench((request, response) => {
      const query = new URL(request.url, 'http://service').searchParams
      const from = Number(query.get('since') ?? 0)
      const to = from + Number(query.get('limit'))
      json(response, { messages: thread.slice(from, to), next_cursor: to < thread.length ? String(to) : null })
    })
    const read: unknown[] = []
    for (let since: string | null = '0'; since !== null; ) {
      const page: FeedPage<unknown> = await client.thread(ID, since)
      read.push(...page.items)
      since = page.nextCursor
    }
    expect(read).toEqual(thread)
    const limits = service.to('/thread').map(({ url }) => Number(new URL(url, 'http://service').searchParams.get('limit')))
    expect(limits).toEqual([200, 50, 12, 3, 3, 3, 3, 6, 12, 24, 48])
    expect(counts.of('upstream_requests_total acme oversized')).toBe(3)
  })

  test('one item too large for a page is read alone', async () => {
    const { client } = await bench(
      (request, response) => {
        const one = request.url.endsWith('limit=1') && request.url.includes(ID)
        json(response, { events: ['x'.repeat(one ? 4_500_000 : 5_000_000)], next_cursor: null })
      },
      { bodyLimitBytes: 4_700_000 },
    )
    expect((await client.events(ID, null)).items).toHaveLength(1)
    expect(await thrownBy(client.events(OTHER, 'c'))).toMatchObject({ class: 'oversized' })
  })

  test('a success without a body, or for another submission, is not a requirements view', async () => {
    const { client } = await bench((request, response) =>
      request.url.includes(ID) ? response.writeHead(204).end() : json(response, { submission_id: ID }),
    )
    expect(await thrownBy(client.state('requirements', ID))).toMatchObject({ class: 'unavailable' })
    expect(await thrownBy(client.state('requirements', OTHER))).toMatchObject({ class: 'unavailable' })
  })

  test('a cut body and a refused connection are network failures', async () => {
    const { service, client, counts } = await bench((_, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{"events":[', () => response.destroy())
    })
    expect(await thrownBy(client.events(ID, null))).toMatchObject({ class: 'network' })
    await service.close()
    expect(await thrownBy(client.events(ID, null))).toMatchObject({ class: 'network', message: expect.stringContaining('ECONNREFUSED') })
    expect(counts.of('upstream_requests_total acme network')).toBe(2)
  })

  test('trap 49: Retry-After on any status pauses the account', async () => {
    for (const status of [200, 400, 404, 409, 429, 503]) {
      const { service, client } = await bench((_, response) => json(response, emptyPage, status, { 'retry-after': '600' }))
      await client.events(ID, null).catch(() => null)
      const error = await thrownBy(client.thread(OTHER, null))
      expect(error).toBeInstanceOf(TransientError)
      expect(error).toMatchObject({ class: 'throttled', retryAfterMs: expect.any(Number) })
      expect(service.to('/thread')).toEqual([])
    }
  })

  test('trap 49: a long pause is reported once, with its request; another client can adopt it', async () => {
    const reported: unknown[] = []
    const pauses = { began: (account: string, pause: Pause) => void reported.push([account, pause]) }
    const { service, client } = await bench((_, response) => json(response, emptyPage, 429, { 'retry-after': '600' }), { pauses })
    expect(client.pause()).toBeNull()
    for (let n = 0; n < 2; n += 1) await thrownBy(client.events(ID, null))
    const reason = '429 with Retry-After to GET …/events'
    expect(reported).toEqual([['acme', { ms: 600_000, reason }]])
    const pause = client.pause()
    expect(pause).toEqual({ ms: expect.any(Number), reason })

    const other = await bench((_, response) => json(response, emptyPage), { pauses })
    if (pause !== null) other.client.joinPause(pause)
    expect(await thrownBy(other.client.thread(ID, null))).toMatchObject({ class: 'throttled' })
    expect(other.client.pause()?.reason).toBe(reason)
    expect([reported.length, other.service.to('/thread'), service.to('/events').length]).toEqual([1, [], 1])

    const short = await bench((_, response) => json(response, emptyPage, 429, { 'retry-after': '3' }), { pauses })
    await thrownBy(short.client.events(ID, null))
    expect([reported.length, short.client.pause()]).toEqual([1, null])
  })

  test('a Retry-After of zero leaves the rate', async () => {
    for (const waits of ['0', 'Thu, 01 Jan 2026 00:00:00 GMT']) {
      const { client, counts } = await bench((_, response) => json(response, emptyPage, 200, { 'retry-after': waits }))
      await client.events(ID, null)
      expect(counts.gauges.get('upstream_rate')).toBe(1000)
    }
  })

  test('trap 49: throttling lowers the rate', async () => {
    const { client, counts } = await bench((_, response) => json(response, {}, 429))
    await thrownBy(client.events(ID, null))
    expect(counts.gauges.get('upstream_rate')).toBeLessThan(510)
  })

  test('a failing service gets no requests for a while', async () => {
    const { service, client, counts } = await bench((_, response) => response.writeHead(500).end())
    for (let n = 0; n < 10; n += 1) await thrownBy(client.events(ID, null))
    expect(counts.gauges.get('upstream_circuit_open')).toBe(1)
    expect(await thrownBy(client.events(ID, null))).toMatchObject({ class: 'unavailable', retryAfterMs: expect.any(Number) })
    expect(service.to('/events').length).toBe(10)
  })

  test("failing submissions don't block others: a successful identity check counts for a minute", async () => {
    const clock = new ManualClock()
    let identity = 200
    const { service, client } = await bench(
      (request, response) => {
        if (request.url.endsWith('/me')) json(response, { kind: 'api_client', client_id: 'bac_first', brokerage: { id: 'b-1' } }, identity)
        else if (request.url.includes(OTHER)) json(response, emptyPage)
        else response.writeHead(500).end()
      },
      { clock, requestsPerSecond: 1_000_000 },
    )
    // The rate allows nothing while the clock stops.
    const asked = (id: string) => {
      clock.advance(1)
      return client.events(id, null)
    }
    const fail = async (times: number) => {
      for (let n = 0; n < times; n += 1) await thrownBy(asked(ID))
    }
    await fail(10)
    expect(await thrownBy(asked(OTHER))).toMatchObject({ class: 'unavailable' })
    expect(service.to('/me')).toEqual([])
    clock.advance(client.waitMs())
    await fail(21)
    expect(await asked(OTHER)).toEqual({ items: [], nextCursor: null, isEndConfirmed: true })
    expect(service.to('/me')).toHaveLength(1)
    clock.advance(60_000)
    await fail(10)
    identity = 503
    clock.advance(client.waitMs())
    const before = service.arrived.length
    expect(await thrownBy(asked(OTHER))).toMatchObject({ class: 'unavailable', retryAfterMs: expect.any(Number) })
    expect(service.arrived.slice(before).map(({ url }) => url)).toEqual(['/api/v1/broker/me'])
    expect(client.waitMs()).toBeGreaterThan(0)
  })

  test('an abort ends a read that waits for the identity check', async () => {
    const clock = new ManualClock()
    const asked = Promise.withResolvers<void>()
    const { client } = await bench((request, response) => (request.url.endsWith('/me') ? asked.resolve() : response.writeHead(500).end()), {
      clock,
      requestsPerSecond: 1_000_000,
    })
    const stop = new AbortController()
    const read = () => {
      clock.advance(1)
      return thrownBy(client.events(ID, null, stop.signal))
    }
    for (let n = 0; n < 10; n += 1) await read()
    clock.advance(client.waitMs())
    const reading = read()
    await asked.promise
    stop.abort(new Error('stopped'))
    expect(await reading).toMatchObject({ message: 'stopped' })
  })

  test('refusals do not count as failures of the service', async () => {
    const { service, client } = await bench((_, response) => json(response, {}, 404))
    for (let n = 0; n < 15; n += 1) await thrownBy(client.events(ID, null))
    expect(service.to('/events').length).toBe(15)
  })

  test('an error contains the operation and the submission, but no token or secret', async () => {
    const { client } = await bench((request, response) => json(response, { detail: `no ${request.headers.authorization} ${SECRET}` }, 400))
    const { message } = (await thrownBy(client.events(ID, null))) as Error
    expect(message).toContain(`events of submission ${ID}: the service answered 400`)
    expect(message).not.toContain(SECRET)
  })

  test("an abort throws the signal's reason, before, while waiting and while reading", async () => {
    let hangs = () => {}
    const hanging = new Promise<void>((resolve) => {
      hangs = resolve
    })
    const { client, counts } = await bench(() => hangs())
    const stop = new AbortController()
    const reading = thrownBy(client.events(ID, null, stop.signal))
    await hanging
    stop.abort(new Error('stopped'))
    expect(await reading).toMatchObject({ message: 'stopped' })
    expect(await thrownBy(client.events(ID, null, stop.signal))).toMatchObject({ message: 'stopped' })
    expect(counts.counted.filter((line) => line.startsWith('upstream_requests_total'))).toEqual(['upstream_requests_total acme ok'])
  })

  test('closing aborts active requests', async () => {
    let hangs = () => {}
    const hanging = new Promise<void>((resolve) => {
      hangs = resolve
    })
    const { client } = await bench(() => hangs())
    const reading = thrownBy(client.events(ID, null))
    await hanging
    await client.close()
    expect(await reading).toBeInstanceOf(TransientError)
    expect(await thrownBy(client.me())).toBeInstanceOf(TransientError)
  })
})
