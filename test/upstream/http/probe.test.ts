import { describe, expect, test } from 'vitest'
import { ProductError } from '../../../src/base/errors.ts'
import type { UpstreamOptions } from '../../../src/upstream/client.ts'
import { Counts } from '../../tools/counts.ts'
import { clientOf, type Handler, json, startService, thrownBy, withTokens } from '../service.ts'

const ID = '0b8f6a52-3a35-4b52-9a1e-6f2d7f1f6a01'
const LIST = '/broker/submissions'
const emptyPage = { events: [], next_cursor: null }

/** A service with this list and working feeds. */
async function bench(list: Handler, options: Partial<UpstreamOptions> = {}) {
  const service = await startService(
    withTokens((request, response) => (request.url.includes('/events') ? json(response, emptyPage) : list(request, response))),
  )
  const counts = new Counts()
  const client = clientOf(service, { observer: counts, ...options })
  return { service, client, counts }
}

describe('probing a path', () => {
  test('sends GET below the base URL, with its query and the token, and accepts any JSON', async () => {
    let body = ''
    const { service, client } = await bench((_, response) => response.end(body))
    for (body of ['[{"submission_id": "x"}]', '{}', '7', 'null', '"text"']) {
      expect(await client.probe(`${LIST}?limit=200&status=open`)).toEqual({ text: body, json: JSON.parse(body) as unknown })
    }
    await client.probe(`${LIST}?line=gl&line=wc&q=a%2Cb`)
    expect(service.to(LIST).at(-1)?.url).toBe(`/api/v1${LIST}?line=gl&line=wc&q=a%2Cb`)
    expect(service.to(LIST)[0]).toMatchObject({
      method: 'GET',
      url: `/api/v1${LIST}?limit=200&status=open`,
      headers: { authorization: 'Bearer token-1' },
      body: '',
    })
  })

  test('trap 45, trap 76: never leaves the base URL by path or redirect', async () => {
    const elsewhere = await startService((_, response) => json(response, {}))
    const { client } = await bench((_, response) => response.writeHead(302, { location: elsewhere.baseUrl }).end())
    expect(await thrownBy(client.probe(LIST))).toMatchObject({ class: 'unavailable' })
    for (const path of [`${elsewhere.baseUrl}/x`, '//elsewhere.test/x', '/broker/../../x', '/broker/%2e%2e/x']) {
      expect(await thrownBy(client.probe(path)), path).toBeInstanceOf(ProductError)
    }
    expect(elsewhere.arrived).toEqual([])
  })

  test('never opens the circuit, nor slows or pauses the account', async () => {
    for (const status of [404, 403, 429, 500, 503]) {
      const { client, counts } = await bench((_, response) => json(response, {}, status, { 'retry-after': '600' }))
      for (let n = 0; n < 15; n += 1) await thrownBy(client.probe(LIST))
      expect(client.waitMs()).toBe(0)
      expect(await client.events(ID, null)).toEqual({ items: [], nextCursor: null, isEndConfirmed: true })
      expect(counts.gauges.get('upstream_rate')).toBe(1000)
    }
  })

  test('returns the pause that the service requested', async () => {
    const { client } = await bench((_, response) => json(response, {}, 429, { 'retry-after': '600' }))
    expect(await thrownBy(client.probe(LIST))).toMatchObject({ class: 'throttled', retryAfterMs: 600_000 })
  })

  test('does not renew a refused token', async () => {
    const { service, client } = await bench((_, response) => json(response, {}, 401))
    for (let n = 0; n < 3; n += 1) expect(await thrownBy(client.probe(LIST))).toMatchObject({ class: 'auth' })
    await client.events(ID, null)
    expect(service.to('/oauth/token')).toHaveLength(1)
  })

  test('never probes an open circuit', async () => {
    let dead = true
    const { service, client } = await bench((_, response) => (dead ? response.writeHead(500).end() : json(response, {})))
    for (let n = 0; n < 10; n += 1) await thrownBy(client.state('requirements', ID))
    dead = false
    expect(await thrownBy(client.probe(LIST))).toMatchObject({ class: 'unavailable', retryAfterMs: expect.any(Number) })
    expect(service.arrived.filter((request) => request.url.endsWith(LIST))).toEqual([])
  })

  test('refuses long answers and those that are not JSON', async () => {
    let body = ''
    const { client } = await bench((_, response) => response.end(body))
    for (body of ['', '<html>', '{"cut":']) expect(await thrownBy(client.probe(LIST))).toMatchObject({ class: 'unavailable' })
    body = `"${'x'.repeat(8 * 1024 * 1024)}"`
    expect(await thrownBy(client.probe(LIST))).toMatchObject({ class: 'oversized' })
    expect(await client.events(ID, null)).toEqual({ items: [], nextCursor: null, isEndConfirmed: true })
  })
})
