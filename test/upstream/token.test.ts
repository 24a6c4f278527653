import { describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock, systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { Channel } from '../../src/upstream/http/channel.ts'
import { AuthRefusedError, UpstreamTransientError } from '../../src/upstream/http/errors.ts'
import { Http } from '../../src/upstream/http/http.ts'
import { TokenSource } from '../../src/upstream/token.ts'
import { Counts } from '../tools/counts.ts'
import { credential, type Handler, json, SECOND_SECRET, SECRET, type Service, startService, thrownBy } from './service.ts'

const SUSPEND_MS = 900_000
async function bench(handler: Handler, keys = [credential('bac_first', SECRET)], onToken?: (clientId: string) => void) {
  const service = await startService(handler)
  const clock = new ManualClock()
  const counts = new Counts()
  const reported = [] as { credential: string; msg: string }[]
  const timeouts = { connectMs: 5000, headersMs: 5000, overallMs: 5000 }
  const http = new Http({ baseUrl: service.baseUrl, proxy: {}, timeouts, bodyLimitBytes: 100_000 })
  // The limiter has its own clock, so that only tokens stop.
  const channel = new Channel('acme', http, 1000, systemClock, counts)
  const options = { account: 'acme', credentials: keys, scope: 'broker_mcp', suspendMs: SUSPEND_MS, onToken }
  const log = createLog({
    level: 'info',
    pretty: false,
    secrets: [],
    destination: { write: (line) => void reported.push(JSON.parse(line)) },
  })
  const tokens = new TokenSource(channel, options, { clock, observer: counts, log })
  onTestFinished(() => channel.close())
  return { service, clock, tokens, counts, reported }
}

/** Issues t1, t2, … with the fields of `answer`. */
function minting(answer: object = {}): Handler {
  let minted = 0
  return (_, response) => {
    minted += 1
    json(response, { access_token: `t${minted}`, ...answer })
  }
}

const formOf = (service: Service, index: number) => Object.fromEntries(new URLSearchParams(service.arrived[index]?.body))

describe('exchange', () => {
  test('reports the credential that got a token, not refused ones', async () => {
    const reported: string[] = []
    const refusing: Handler = ({ body }, response) => {
      if (body.includes('bac_first')) json(response, { error: 'invalid_client' }, 401)
      else json(response, { access_token: 't1' })
    }
    const keys = [credential('bac_first', SECRET), credential('bac_second', SECOND_SECRET)]
    const { tokens } = await bench(refusing, keys, (id) => reported.push(id))
    expect(await tokens.get()).toBe('t1')
    expect(reported).toEqual(['bac_second'])
  })

  test('trap 41: credentials are sent as a form, under the base URL, and without a bearer', async () => {
    const { service, tokens } = await bench(minting())
    expect(await tokens.get()).toBe('t1')
    const [request] = service.arrived
    expect(request).toMatchObject({ method: 'POST', url: '/api/v1/oauth/token' })
    expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded')
    expect(request?.headers.authorization).toBeUndefined()
    expect(formOf(service, 0)).toEqual({
      grant_type: 'client_credentials',
      client_id: 'bac_first',
      client_secret: SECRET,
      scope: 'broker_mcp',
    })
  })

  test('trap 42: sends nothing to the origin: no discovery, no other path', async () => {
    const { service, tokens } = await bench(minting())
    await tokens.get()
    expect(service.arrived.map((request) => request.url)).toEqual(['/api/v1/oauth/token'])
  })

  test('trap 38: callers share one exchange, and the token is used for most of its life', async () => {
    const { service, clock, tokens, counts } = await bench(minting({ expires_in: '600', token_type: 'bearer' }))
    expect(await Promise.all(Array.from({ length: 20 }, () => tokens.get()))).toEqual(Array(20).fill('t1'))
    clock.advance(400_000)
    expect(await tokens.get()).toBe('t1')
    clock.advance(80_000)
    expect(await tokens.get()).toBe('t2')
    expect(service.arrived.length).toBe(2)
    expect(counts.of('token_mints_total acme ok')).toBe(2)
  })

  test('trap 38: assumes an hour without a valid expires_in', async () => {
    for (const answer of [{}, { expires_in: 86_400 }, { expires_in: null }]) {
      const { clock, tokens } = await bench(minting(answer))
      await tokens.get()
      clock.advance(40 * 60_000)
      expect(await tokens.get()).toBe('t1')
      // Well before the sixtieth minute, since it isn't exact.
      clock.advance(10 * 60_000)
      expect(await tokens.get()).toBe('t2')
    }
  })

  test('trap 40: ignores refresh tokens; a renewal is another exchange', async () => {
    const { service, clock, tokens } = await bench(minting({ refresh_token: 'r1' }))
    await tokens.get()
    clock.advance(3_600_000)
    await tokens.get()
    expect(formOf(service, 1)).toEqual(formOf(service, 0))
  })

  test('several refusals of one token cause one renewal', async () => {
    const { service, clock, tokens } = await bench(minting())
    const token = await tokens.get()
    const renewed = await Promise.all(
      Array.from({ length: 8 }, async () => {
        tokens.invalidate(token)
        return await tokens.get()
      }),
    )
    tokens.invalidate(token)
    // At any later time.
    clock.advance(60_000)
    tokens.invalidate(token)
    expect(new Set([...renewed, await tokens.get()])).toEqual(new Set(['t2']))
    expect(service.arrived.length).toBe(2)
  })

  test('trap 43: a token new after a refusal is kept briefly when refused too', async () => {
    const { service, clock, tokens } = await bench(minting())
    const refused = async (evenIfNew?: boolean) => {
      tokens.invalidate(await tokens.get(), evenIfNew)
      return await tokens.get()
    }
    // Invalidated early, so renewed immediately.
    expect(await refused()).toBe('t2')
    for (let n = 0; n < 5; n += 1) expect(await refused()).toBe('t2')
    expect(await refused(true)).toBe('t3')
    clock.advance(3_000)
    expect(await refused()).toBe('t4')
    expect(await refused()).toBe('t4')
    expect(service.arrived.length).toBe(4)
  })

  test('an aborted caller leaves the exchange to the others', async () => {
    const { tokens } = await bench(minting())
    const stop = new AbortController()
    const [first, second] = [thrownBy(tokens.get(stop.signal)), tokens.get()]
    stop.abort(new Error('stopped'))
    expect(await first).toMatchObject({ message: 'stopped' })
    expect(await second).toBe('t1')
    expect(await thrownBy(tokens.get(stop.signal))).toMatchObject({ message: 'stopped' })
  })
})

describe('refusal', () => {
  const refuseFirst: Handler = (request, response) => {
    if (request.body.includes('bac_first')) json(response, { detail: 'revoked' }, 401)
    else json(response, { access_token: 'of-the-second' })
  }

  test('trap 43: with two credentials the working one is used, and remembered', async () => {
    const { service, clock, tokens, counts, reported } = await bench(refuseFirst, [
      credential('bac_first', SECRET),
      credential('bac_second', SECOND_SECRET),
    ])
    expect(await tokens.get()).toBe('of-the-second')
    clock.advance(3_600_000)
    expect(await tokens.get()).toBe('of-the-second')
    expect(service.arrived.map((_, index) => formOf(service, index)['client_id'])).toEqual(['bac_first', 'bac_second', 'bac_second'])
    expect(counts.of('token_mints_total acme refused')).toBe(1)
    expect(reported.map((line) => line.credential)).toEqual(['bac_first'])
    expect(reported[0]?.msg).toBe(
      'credential bac_first of account acme was rejected (token: the service answered 401 (revoked)): ' +
        'compare its id, secret and scope with the portal, or remove it from the settings',
    )
  })

  test('a missing token endpoint is reported as a problem of the base URL', async () => {
    const { tokens } = await bench((_, response) => json(response, { detail: 'Not Found' }, 404))
    expect(String(await thrownBy(tokens.get()))).toMatch(/404.*: check BROKER_API_BASE_URL first$/)
  })

  test('trap 43: if every credential is refused, no exchange follows until the suspension ends', async () => {
    const { service, clock, tokens } = await bench((_, response) => json(response, { detail: [{ loc: ['client_id'], type: 'x' }] }, 422))
    for (let n = 0; n < 5; n += 1) expect(await thrownBy(tokens.get())).toBeInstanceOf(AuthRefusedError)
    expect(service.arrived.length).toBe(1)
    clock.advance(SUSPEND_MS)
    expect(await thrownBy(tokens.get())).toMatchObject({ class: 'auth' })
    expect(service.arrived.length).toBe(2)
    tokens.resume()
    await thrownBy(tokens.get())
    expect(service.arrived.length).toBe(3)
  })

  test('trap 43: a valid token stays in use during refused renewals, until it is refused itself', async () => {
    let revoked = false
    const { service, clock, tokens, reported } = await bench((_, response) =>
      revoked ? json(response, {}, 403) : json(response, { access_token: 'live' }),
    )
    await tokens.get()
    revoked = true
    clock.advance(55 * 60_000)
    for (let n = 0; n < 5; n += 1) expect(await tokens.get()).toBe('live')
    expect(service.arrived.length).toBe(2)
    expect(reported).toMatchObject([{ credential: 'bac_first' }])
    tokens.invalidate('live')
    expect(await thrownBy(tokens.get())).toBeInstanceOf(AuthRefusedError)
    expect(service.arrived.length).toBe(2)
    for (const taken of [false, true, false]) {
      revoked = !taken
      clock.advance(SUSPEND_MS * 5)
      await tokens.get().catch(() => undefined)
    }
    expect(reported.length).toBe(2)
  })

  test('trap 41: the documented 422, other statuses and any body are refusals, without secrets in the error', async () => {
    const answers: Handler[] = [
      (_, response) => json(response, { detail: [{ loc: ['body', 'client_secret'], msg: `bad ${SECRET}`, type: 'missing' }] }, 422),
      (_, response) => json(response, { error: 'invalid_client', error_description: SECRET }, 400),
      (_, response) => json(response, { detail: `no such key ${SECRET}` }, 403),
      (_, response) => response.writeHead(422).end('<html>'),
    ]
    for (const handler of answers) {
      const { tokens } = await bench(handler)
      const error = await thrownBy(tokens.get())
      expect(error).toBeInstanceOf(AuthRefusedError)
      expect(String(error)).not.toContain(SECRET)
    }
  })

  test('trap 43: throttling, outages and malformed answers are not refusals, and are not repeated immediately', async () => {
    const answers: Handler[] = [
      (_, response) => json(response, {}, 429, { 'retry-after': '600' }),
      (_, response) => json(response, {}, 409, { 'retry-after': '600' }),
      (_, response) => json(response, {}, 408),
      (_, response) => response.writeHead(503).end('<html>'),
      (_, response) => response.writeHead(302, { location: '/elsewhere' }).end(),
      (_, response) => response.end('<html>'),
      (_, response) => json(response, { token: 'x' }),
      (_, response) => response.destroy(),
    ]
    for (const handler of answers) {
      const { service, clock, tokens, counts } = await bench(handler, [
        credential('bac_first', SECRET),
        credential('bac_second', SECOND_SECRET),
      ])
      for (let n = 0; n < 3; n += 1) expect(await thrownBy(tokens.get())).toBeInstanceOf(UpstreamTransientError)
      expect(service.arrived.length).toBe(1)
      expect(counts.of('token_mints_total acme failed')).toBe(1)
      clock.advance(600_000)
      expect(await thrownBy(tokens.get())).toBeInstanceOf(UpstreamTransientError)
      expect(counts.of('token_mints_total acme failed')).toBe(2)
    }
  })

  test('after a failed exchange, no token is available for a second; a refusal is reported immediately', async () => {
    let status = 503
    const { clock, tokens } = await bench((_, response) => json(response, { access_token: 't1' }, status))
    expect(tokens.waitMs()).toBe(0)
    await thrownBy(tokens.get())
    expect(tokens.waitMs()).toBe(1000)
    clock.advance(1000)
    expect(tokens.waitMs()).toBe(0)
    status = 401
    await thrownBy(tokens.get())
    expect(tokens.waitMs()).toBe(0)
    tokens.resume()
    status = 200
    await tokens.get()
    clock.advance(3_590_000)
    status = 503
    expect(await tokens.get()).toBe('t1')
    expect(tokens.waitMs()).toBe(0)
  })

  test('a failed renewal keeps the valid token', async () => {
    let down = false
    const { clock, tokens } = await bench((_, response) =>
      down ? response.writeHead(500).end() : json(response, { access_token: 'live' }),
    )
    await tokens.get()
    down = true
    clock.advance(59 * 60_000)
    expect(await tokens.get()).toBe('live')
    down = false
    clock.advance(1000)
    expect(await tokens.get()).toBe('live')
  })
})
