import { describe, expect, it } from 'vitest'
import type { DestinationConfig } from '../../../src/config/config.ts'
import { setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { onSqlite, testDatabases } from '../../tools/databases.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { destinationTo, loginAuth, secret, serve, template } from '../http/support.ts'
import { PushRig, webhookTo } from '../rig.ts'

async function startTarget(status: number) {
  const target = { status, arrived: [] as string[], taken: [] as string[], inFlight: 0, mostInFlight: 0, baseUrl: '' }
  const { baseUrl } = await serve((request, response) => {
    target.inFlight += 1
    target.mostInFlight = Math.max(target.mostInFlight, target.inFlight)
    response.once('close', () => target.inFlight--)
    const { id = String(request.headers['webhook-id']) } = JSON.parse(request.body) as { id?: string }
    target.arrived.push(id)
    const { status } = target
    if (status === 200) target.taken.push(id)
    setTimeout(() => response.writeHead(status, { location: 'https://elsewhere.example' }).end('{"error": "not you"}'), 5)
  })
  return Object.assign(target, { baseUrl })
}

const event = (n: number) => observedEvent('default', uuid(9, n % 3), wireEvent(n))
const events = Array.from({ length: 9 }, (_, n) => event(n))
const SCHEDULE = [20, 20, 20, 20, 20]

const kinds: readonly (readonly [kind: string, to: (url: string) => DestinationConfig])[] = [
  ['webhook', (url) => webhookTo(url, { scheduleMs: SCHEDULE })],
  ['http', (url) => destinationTo(url, { accounts: ['default'], scheduleMs: SCHEDULE })],
]
const statuses = [302, 401, 403, 404, 405]

describe.each(testDatabases)('a destination on $name', (database) => {
  it.each(kinds.flatMap(([kind, to]) => statuses.map((status) => ({ kind, to, status }))))(
    'of kind $kind whose endpoint answers $status is suspended, tried one change at a time, and then gets everything in order',
    async ({ to, status }) => {
      const rig = await PushRig.open(database)
      const target = await startTarget(status)
      const destination = to(target.baseUrl)
      await rig.push(destination)
      await rig.apply(events)
      await rig.until('it is suspended', async () => (await rig.destination()).state === 'suspended')
      const before = target.arrived.length
      target.mostInFlight = target.inFlight
      await rig.until('it is tried again', () => target.arrived.length >= before + 2)
      expect(target.mostInFlight - Math.min(before, 8)).toBeLessThanOrEqual(1)
      const reason = expect.stringMatching(new RegExp(`^the endpoint answered ${status}\\b`))
      expect(await rig.destination()).toMatchObject({ state: 'suspended', reason, retry_at: expect.any(String) })
      const waiting = await rig.rows()
      expect(waiting.map(({ state, attempts }) => [state, attempts])).toEqual(waiting.map(() => ['ready', 0]))
      target.status = 200
      await rig.until('all is delivered', () => rig.isEmpty())
      const rows = await rig.rows()
      expect(rows.every(({ state, attempts }) => state === 'delivered' && attempts === 1)).toBe(true)
      for (const stream of new Set(rows.map((row) => row.stream))) {
        const ids = rows.filter((row) => row.stream === stream).map((row) => row.message_id)
        expect(target.taken.filter((id) => ids.includes(id))).toEqual(ids)
      }
      expect(await rig.destination()).toMatchObject({ state: 'active', reason: null, retry_at: null, failures: 0 })
    },
  )

  it.each(kinds)('of kind %s that answers 410 waits for a person, and loses nothing', async (_, to) => {
    const rig = await PushRig.open(database)
    const target = await startTarget(410)
    const destination = to(target.baseUrl)
    await rig.push(destination)
    await rig.apply(events)
    await rig.until('it is suspended', async () => (await rig.destination()).state === 'suspended')
    const reason = expect.stringMatching(/^the endpoint is gone: it answered 410/)
    expect(await rig.destination()).toMatchObject({ reason, retry_at: null })
    target.status = 200
    await setDestinationState(rig.db, 'ams', 'active', null)
    await rig.until('all is delivered', () => rig.isEmpty())
    expect((await rig.rows()).every(({ state }) => state === 'delivered')).toBe(true)
  })
})

describe.each(onSqlite)('a destination on $name', (database) => {
  it.each([
    ...[400, 409, 413, 415, 422].map((status) => [status, 'rejects one message'] as const),
    ...[408, 425, 429, 500, 503].map((status) => [status, 'fails for a while'] as const),
  ])('stays active when it answers %i, which %s', async (status, what) => {
    const rig = await PushRig.open(database)
    const target = await startTarget(status)
    await rig.push(webhookTo(target.baseUrl))
    await rig.apply([event(1)])
    const isDead = async () => (await rig.destination()).dead === 1
    await rig.until(what, what === 'rejects one message' ? isDead : () => target.arrived.length >= 2)
    expect((await rig.destination()).state).toBe('active')
  })

  it('stays paused when an answer in flight rejects everything', async () => {
    const rig = await PushRig.open(database)
    const paused = Promise.withResolvers<void>()
    const target = await serve((_, response) => {
      void setDestinationState(rig.db, 'ams', 'paused', 'by hand').then(() => {
        response.writeHead(401).end()
        paused.resolve()
      })
    })
    const destination = webhookTo(target.baseUrl)
    const running = await rig.push(destination)
    await rig.apply([event(1)])
    await paused.promise
    await running.stop()
    expect(await rig.destination()).toMatchObject({ state: 'paused', reason: 'by hand' })
  })

  it('is active again when no change waits for it', async () => {
    const rig = await PushRig.open(database)
    const target = await startTarget(404)
    const destination = webhookTo(target.baseUrl)
    await rig.push(destination)
    await rig.apply([event(1)])
    await rig.until('it is suspended', async () => (await rig.destination()).state === 'suspended')
    await rig.db.write('test', (tx) => tx.sql.deleteFrom('sync_push_streams').execute())
    await rig.until('it is active', async () => (await rig.destination()).state === 'active')
  })

  it.each([
    [200, '{"ok": false, "message": "Wrong password"}'],
    [200, '<html>Sign in</html>'],
    [400, '{"message": "Wrong password"}'],
    [404, '{"message": "No such user"}'],
    [422, '{"message": "Wrong password"}'],
  ])('whose login fails with %i %s is suspended after three logins, with the words of the answer', async (status, body) => {
    const rig = await PushRig.open(database)
    let logins = 0
    const target = await serve((_, response) => {
      logins += 1
      response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    })
    const request = template('$url(settings.base_url, "login")', '{"password": credentials.password}')
    const auth = { ...loginAuth, credentials: { password: secret('a wrong password') }, request }
    const destination = destinationTo(target.baseUrl, { accounts: ['default'], scheduleMs: SCHEDULE, auth })
    await rig.push(destination)
    await rig.apply(events)
    await rig.until('it is suspended', async () => (await rig.destination()).state === 'suspended')
    expect(logins).toBe(3)
    const { reason, retry_at: retryAt } = await rig.destination()
    const words = /"message": "([^"]+)"/.exec(body)?.[1]
    expect(reason).toContain(`answered ${status}${words === undefined ? '' : ` (${words})`}`)
    expect(Date.parse(retryAt ?? '') - Date.now()).toBeGreaterThan(600_000)
  })
})
