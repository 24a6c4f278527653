import { randomUUID } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Clock, ManualClock, systemClock } from '../../../src/base/clock.ts'
import type { AuthConfig, HttpDestination } from '../../../src/config/config.ts'
import type { ProtectionSettings } from '../../../src/model/protection/protection.ts'
import { protectStored } from '../../../src/ops/protect/protect-step.ts'
import type { DeliveryKind } from '../../../src/push/contract/delivery.ts'
import { createHttp } from '../../../src/push/kinds/http.ts'
import { beginLogEpoch } from '../../../src/store/changes/log-epoch.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { PushTokens } from '../../../src/store/outbox/push-tokens.ts'
import { type OpenedDatabase, openAgain, silentLog, sqliteDatabase, type TestDatabase, testDatabases } from '../../tools/databases.ts'
import { json } from '../../upstream/service.ts'
import { destinationTo, loginAuth, passwordAuth, secret, sendOne, serve, template } from './support.ts'

const [k1, k2] = ['k1', 'k2'].map((id, n) => ({ id, key: Buffer.alloc(32, n + 1) })) as [Key, Key]
type Key = ProtectionSettings['keys'][number]
const drop = (...keys: Key[]): ProtectionSettings => ({ mode: 'drop', keys, taxIdFields: [] })

/** A target whose refresh tokens are good once. A reused one ends all access, as RFC 9700 demands. */
async function target() {
  let access = ''
  let refresh = ''
  let ended = false
  const seen = { logins: 0, refreshes: 0, reused: 0 }
  const fault = { refresh: 'none' as 'none' | 'lose' | 'refuse' | 'busy' }
  const give = () => {
    access = `access-${randomUUID()}`
    refresh = `refresh-${randomUUID()}`
    return { jwt: access, access_token: access, expires_in: 1000, refresh_token: refresh }
  }
  const service = await serve((request, response) => {
    if (request.url.endsWith('/notes')) {
      return json(response, {}, !ended && request.headers.authorization === `Bearer ${access}` ? 200 : 401)
    }
    const given = /refresh-[0-9a-f-]{36}/.exec(request.body)?.[0]
    if (given === undefined) {
      seen.logins += 1
      return json(response, give())
    }
    seen.refreshes += 1
    if (fault.refresh === 'refuse') return json(response, { error: 'invalid_grant' }, 400)
    if (fault.refresh === 'busy') return json(response, {}, 503)
    if (given !== refresh) {
      seen.reused += 1
      ended = true
      return json(response, { error: 'invalid_grant' }, 400)
    }
    const answer = give()
    if (fault.refresh === 'lose') return void response.socket?.destroy()
    return json(response, answer)
  })
  return { service, seen, fault, revoke: () => (access = 'none') }
}

type Target = Awaited<ReturnType<typeof target>>

const at = (path: string) => `$url(settings.base_url, "${path}")`

const login = (password = 'the-password'): AuthConfig => ({
  ...loginAuth,
  credentials: { password: secret(password) },
  request: template(at('login'), '{"password": credentials.password}'),
  refresh: template(at('refresh'), '{"token": refresh_token}'),
  expiresIn: 'body.expires_in',
  refreshToken: 'body.refresh_token',
})

function destination({ service }: Target, own: Partial<HttpDestination> = {}): HttpDestination {
  return destinationTo(service.baseUrl, { auth: login(), request: template(at('notes'), '{"id": message_id}'), ...own })
}

interface Scene {
  readonly opened: OpenedDatabase
  process(own?: Partial<HttpDestination>, clock?: Clock): Promise<DeliveryKind>
  readonly target: Target
}

async function scene(database: TestDatabase): Promise<Scene> {
  const opened = await database.open()
  const to = await target()
  onTestFinished(() => opened.close())
  return {
    opened,
    target: to,
    async process(own = {}, clock = systemClock) {
      const db = await openAgain(opened.config)
      db.protection.use(drop(k1))
      const kind = createHttp(destination(to, own), { clock, log: silentLog, proxy: {}, db })
      onTestFinished(async () => {
        await kind.close()
        await db.close()
      })
      return kind
    },
  }
}

async function stored(db: Db): Promise<string | null> {
  const row = await db.read.sql.selectFrom('sync_push_tokens').selectAll().executeTakeFirst()
  return row?.tokens ?? null
}

describe.each(testDatabases)('a stored refresh token ($name)', (database) => {
  it('is stored encrypted, with a token that the next process uses', async () => {
    const { process, target, opened } = await scene(database)
    expect(await sendOne(await process())).toMatchObject({ type: 'delivered' })
    expect(await stored(opened.db)).toMatch(/^enc:k1:/)
    expect(await sendOne(await process())).toMatchObject({ type: 'delivered' })
    expect(target.seen).toEqual({ logins: 1, refreshes: 0, reused: 0 })
  })

  it('is spent by one of several processes, and the others take what it brought', async () => {
    const { process, target } = await scene(database)
    const all = [await process(), await process(), await process()]
    for (const round of [1, 2, 3]) {
      const outcomes = await Promise.all(all.flatMap((each) => [sendOne(each), sendOne(each)]))
      expect(outcomes.map(({ type }) => type)).toEqual(Array(6).fill('delivered'))
      expect(target.seen).toEqual({ logins: 1, refreshes: round - 1, reused: 0 })
      target.revoke()
    }
  })

  it('is never sent again by who does not know whether it was taken: a new login brings another', async () => {
    const { process, target, opened } = await scene(database)
    const kind = await process()
    await sendOne(kind)
    target.revoke()
    target.fault.refresh = 'lose'
    // Its answer is lost, as in a crash before it is stored.
    expect(await sendOne(kind)).toMatchObject({ type: 'failed', permanent: false, error: expect.stringContaining('no token') })
    expect(await stored(opened.db)).toBeNull()
    target.fault.refresh = 'none'
    expect(await sendOne(await process())).toMatchObject({ type: 'delivered' })
    expect(await sendOne(kind)).toMatchObject({ type: 'delivered' })
    expect(target.seen).toEqual({ logins: 2, refreshes: 1, reused: 0 })
  })

  it('is deleted when a restored database begins another log', async () => {
    const { process, target, opened } = await scene(database)
    await sendOne(await process())
    await beginLogEpoch(opened.db, 'restore')
    expect(await sendOne(await process())).toMatchObject({ type: 'delivered' })
    expect(target.seen).toEqual({ logins: 2, refreshes: 0, reused: 0 })
  })

  it('of another login, or under another key, is not used', async () => {
    const { process, target, opened } = await scene(database)
    await sendOne(await process())
    await sendOne(await process({ auth: login('another-password') }))
    expect(target.seen.logins).toBe(2)
    opened.db.protection.use(drop(k2))
    const held = new PushTokens(opened.db, 'ams', 'x', 1_000)
    expect(await held.read()).toBeNull()
  })

  it('is dropped when another key protects, so that the old one can go', async () => {
    const { process, opened } = await scene(database)
    await sendOne(await process())
    const protect = (...keys: Key[]) => {
      opened.db.protection.use({ mode: 'encrypt', keys, taxIdFields: [] })
      return protectStored({ db: opened.db, clock: systemClock }, new AbortController().signal)
    }
    await protect(k1)
    expect(await stored(opened.db)).not.toBeNull()
    expect(await protect(k2, k1)).toEqual({ rewritten: 1 })
    expect(await stored(opened.db)).toBeNull()
  })

  it('is left to the process that claimed it, until the claim ends', async () => {
    const { opened, process, target } = await scene(database)
    opened.db.protection.use(drop(k1))
    const other = new PushTokens(opened.db, 'ams', 'x', 60_000)
    const claim = await other.claim()
    expect(await other.claim()).toBeNull()
    const failed = { type: 'failed', permanent: false, error: expect.stringMatching(/^no token: /) }
    expect(await sendOne(await process({ timeoutMs: 300 }))).toMatchObject(failed)
    expect(target.service.arrived).toEqual([])
    if (claim === null) throw new Error('nothing was claimed')
    await other.release(claim)
    expect(await sendOne(await process())).toMatchObject({ type: 'delivered' })
    await expect(other.store(claim, { token: 'x', expiresAt: null, refreshToken: null })).rejects.toThrow('token of destination ams')
  })
})

it('a refresh that is refused is followed by a login; one that may have been taken, by a login with the next try', async () => {
  const { process, target } = await scene(sqliteDatabase)
  const kind = await process()
  await sendOne(kind)
  target.revoke()
  target.fault.refresh = 'refuse'
  expect(await sendOne(kind)).toMatchObject({ type: 'delivered' })
  expect(target.seen).toEqual({ logins: 2, refreshes: 1, reused: 0 })
  target.revoke()
  target.fault.refresh = 'busy'
  expect(await sendOne(kind)).toMatchObject({ type: 'failed', alive: false, status: 503 })
  expect(await sendOne(kind)).toMatchObject({ type: 'delivered' })
  expect(target.seen).toEqual({ logins: 3, refreshes: 2, reused: 0 })
})

it('is used by the password grant too, before the token ends', async () => {
  const { process, target } = await scene(sqliteDatabase)
  const clock = new ManualClock(0, () => 0)
  const auth = passwordAuth(`${target.service.baseUrl}/token`, { clientId: 'app', refresh: true })
  const kind = await process({ auth }, clock)
  await sendOne(kind)
  clock.advance(901_000)
  expect(await sendOne(kind)).toMatchObject({ type: 'delivered' })
  expect(target.seen).toEqual({ logins: 1, refreshes: 1, reused: 0 })
  const [, refreshed] = target.service.to('/token')
  expect(Object.fromEntries(new URLSearchParams(refreshed?.body))).toEqual({
    grant_type: 'refresh_token',
    refresh_token: expect.stringMatching(/^refresh-/),
    client_id: 'app',
  })
})

it('is not used by a probe, which logs in on its own', async () => {
  const { process, target, opened } = await scene(sqliteDatabase)
  await sendOne(await process())
  const before = await stored(opened.db)
  const kind = createHttp(destination(target), { clock: systemClock, log: silentLog, proxy: {} })
  onTestFinished(() => kind.close())
  await kind.probe(new AbortController().signal)
  expect(target.seen).toEqual({ logins: 2, refreshes: 0, reused: 0 })
  expect(await stored(opened.db)).toBe(before)
})
