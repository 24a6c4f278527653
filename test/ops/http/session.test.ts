import { type IncomingMessage, request } from 'node:http'
import { beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/config.ts'
import { endLapsedSessions } from '../../../src/ops/http/api/sessions.ts'
import { letSessionsAge } from '../../store/operators/session-time.ts'
import { onSqlite, silentLog } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { AdminRig, ALICE, adminRigForEach } from './rig.ts'

const VIEWER = 'viewer-0123456789-abc'
const MINUTE_MS = 60_000

describe.each(onSqlite)('sessions on $name', (database) => {
  const rig = adminRigForEach(database)
  beforeEach(async () => {
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: `alice:${ALICE} vera:${VIEWER}:viewer` })
  })

  const signIn = async (token: string): Promise<string> => {
    const answer = await rig.ask('POST', '/session', { token: null, body: { token } })
    expect([answer.status, answer.text]).toEqual([204, ''])
    return answer.headers.get('set-cookie') ?? ''
  }
  const cookieOf = (set: string): string => set.split(';')[0] ?? ''
  const own = () => ({ origin: rig.origin })

  it('begin with a token, show name and role, and end', async () => {
    const set = await signIn(VIEWER)
    expect(set).toMatch(/^submission_mirror_session=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/)
    const cookie = cookieOf(set)
    const who = await rig.ask('GET', '/session', { token: null, headers: { cookie } })
    const times = { ends_at: expect.stringMatching(/^20/), idle_ends_at: expect.stringMatching(/^20/) }
    expect(who.json).toEqual({ name: 'vera', role: 'viewer', may: ['viewer'], via: 'session', ...times })
    expect((await rig.ask('GET', '/accounts', { token: null, headers: { cookie } })).status).toBe(200)
    const out = await rig.ask('DELETE', '/session', { token: null, headers: { cookie, ...own() } })
    expect([out.status, out.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('Max-Age=0')])
    const over = await rig.ask('GET', '/session', { token: null, headers: { cookie } })
    expect([over.status, over.json['detail']]).toEqual([401, 'the session has ended. Sign in again'])
    expect((await rig.notes()).map(({ who, action }) => `${who} ${action}`)).toEqual(['vera session.begin', 'vera session.end'])
  })

  it('show the token if there is no session', async () => {
    const who = await rig.ask('GET', '/session')
    const all = ['viewer', 'operator', 'admin']
    expect(who.json).toEqual({ name: 'alice', role: 'admin', may: all, via: 'token', ends_at: null, idle_ends_at: null })
  })

  it('reject wrong tokens, and after ten in a minute every token', async () => {
    const statuses: number[] = []
    for (let n = 0; n < 11; n++) {
      const answer = await rig.ask('POST', '/session', { token: null, body: { token: `wrong-${n}` } })
      statuses.push(answer.status)
      expect(answer.headers.get('set-cookie')).toBeNull()
    }
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429])
    expect((await rig.ask('POST', '/session', { token: null, body: { token: ALICE } })).status).toBe(429)
    expect((await rig.ask('GET', '/accounts')).status).toBe(200)
  })

  it.each([
    ['surrounded by white space', ` ${VIEWER}\r\n`],
    ['broken over lines', `${VIEWER.slice(0, 9)}\n${VIEWER.slice(9)}`],
    ['with its name', `vera:${VIEWER}`],
    ['with its name and role, as in OPS_TOKENS', `vera:${VIEWER}:viewer\n`],
  ])('begin with a token that is pasted %s', async (_, pasted) => {
    const cookie = cookieOf(await signIn(pasted))
    expect((await rig.ask('GET', '/session', { token: null, headers: { cookie } })).json).toMatchObject({ name: 'vera' })
  })

  it('reject a token with the name of another', async () => {
    expect((await rig.ask('POST', '/session', { token: null, body: { token: `alice:${VIEWER}` } })).status).toBe(401)
  })

  it('end when another begins in the same browser', async () => {
    const cookie = cookieOf(await signIn(VIEWER))
    expect((await rig.ask('POST', '/session', { token: null, headers: { cookie, ...own() }, body: { token: ALICE } })).status).toBe(204)
    expect((await rig.ask('GET', '/session', { token: null, headers: { cookie } })).status).toBe(401)
    const actions = ['vera session.begin', 'alice session.begin', 'vera session.end']
    expect((await rig.notes()).map(({ who, action }) => `${who} ${action}`)).toEqual(actions)
  })

  it.each([
    ['loopback', 401],
    ['off', 429],
  ])('count wrong tokens by the address that a trusted proxy names (TRUST_PROXY=%s)', async (trusted, other) => {
    const behind = await closedAtEnd(AdminRig.open(database, { TRUST_PROXY: trusted }))
    const tryFrom = (address: string) =>
      behind.ask('POST', '/session', { token: null, headers: { 'x-forwarded-for': address }, body: { token: 'wrong' } })
    for (let n = 0; n < 10; n++) await tryFrom('203.0.113.7')
    expect((await tryFrom('203.0.113.7')).status).toBe(429)
    expect((await tryFrom('198.51.100.1')).status).toBe(other)
  })

  it('reject changes from a page of another server', async () => {
    const cookie = cookieOf(await signIn(ALICE))
    const asked = [undefined, 'null', 'http://evil.example', `${rig.origin}1`]
    for (const origin of asked) {
      const headers = { cookie, ...(origin !== undefined && { origin }) }
      const answer = await rig.ask('POST', '/destinations/ams/pause', { token: null, headers })
      expect([origin, answer.status]).toEqual([origin, 403])
      if (origin !== undefined)
        expect((await rig.ask('POST', '/session', { token: null, headers, body: { token: ALICE } })).status).toBe(403)
    }
    expect((await rig.ask('POST', '/destinations/ams/pause', { token: null, headers: { cookie, ...own() } })).status).toBe(200)
  })

  it('have the role of their token', async () => {
    const cookie = cookieOf(await signIn(VIEWER))
    const answer = await rig.ask('POST', '/destinations/ams/pause', { token: null, headers: { cookie, ...own() } })
    expect([answer.status, answer.json['detail']]).toEqual([403, 'requires the operator role; vera has the viewer role'])
  })

  it('follow a change of the role of their token', async () => {
    const cookie = cookieOf(await signIn(VIEWER))
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: `vera:${VIEWER}:admin` })
    await endLapsedSessions(rig.db, rig.config, silentLog)
    expect((await rig.ask('GET', '/session', { token: null, headers: { cookie } })).json).toMatchObject({ role: 'admin' })
  })

  it.each([
    ['is taken away', `alice:${ALICE}`],
    ['is another', `alice:${ALICE} vera:another-0123456789:viewer`],
  ])('end when their token %s, and stay ended when it comes back', async (_, without) => {
    const cookie = cookieOf(await signIn(VIEWER))
    const status = async () => (await rig.ask('GET', '/session', { token: null, headers: { cookie } })).status
    const before = rig.config
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: without })
    expect(await status()).toBe(401)
    await endLapsedSessions(rig.db, rig.config, silentLog)
    rig.config = before
    expect(await status()).toBe(401)
  })

  it('end after a while without requests, and after some hours in any case', async () => {
    const cookie = cookieOf(await signIn(ALICE))
    const status = async () => (await rig.ask('GET', '/session', { token: null, headers: { cookie } })).status
    await letSessionsAge(rig.db, 29 * MINUTE_MS)
    expect(await status()).toBe(200)
    await letSessionsAge(rig.db, 29 * MINUTE_MS)
    expect(await status()).toBe(200)
    await letSessionsAge(rig.db, 31 * MINUTE_MS)
    expect(await status()).toBe(401)
    const other = cookieOf(await signIn(ALICE))
    const { json } = await rig.ask('GET', '/session', { token: null, headers: { cookie: other } })
    const [endsMs, idleEndsMs] = [json['ends_at'], json['idle_ends_at']].map((time) => Date.parse(String(time)))
    expect(Number(endsMs) - Number(idleEndsMs)).toBeCloseTo((12 * 60 - 30) * MINUTE_MS, -3)
    await letSessionsAge(rig.db, 12 * 60 * MINUTE_MS + MINUTE_MS, ['began_at'])
    expect((await rig.ask('GET', '/session', { token: null, headers: { cookie: other } })).status).toBe(401)
  })

  it('are stored without their id and token', async () => {
    const id = cookieOf(await signIn(ALICE)).split('=')[1] ?? ''
    const rows = await rig.db.read.sql.selectFrom('sync_console_sessions').selectAll().execute()
    expect(rows).toHaveLength(1)
    expect(id.length).toBeGreaterThan(40)
    for (const secret of [id, ALICE]) expect(JSON.stringify(rows)).not.toContain(secret)
  })

  it.each([
    ['passes Host on', { host: 'mirror.agency.example:8443' }],
    ['passes it on without the port', { host: 'mirror.agency.example' }],
    ['passes it on in another case, with another port', { host: 'Mirror.Agency.Example:443' }],
    ["sends the upstream's name, the default of nginx", {}],
    ["sends the upstream's name and X-Forwarded-Host, as Apache does", { 'x-forwarded-host': 'mirror.agency.example:8443' }],
  ])('require HTTPS for an HTTPS address, through a proxy that %s', async (_, passedOn) => {
    const origin = 'https://mirror.agency.example:8443'
    rig.config = loadConfig({ ...rig.env, OPS_PUBLIC_URL: origin })
    const json = { 'content-type': 'application/json' }
    const begun = await askAs(`${rig.origin}/api/v1/session`, { ...json, ...passedOn, origin }, JSON.stringify({ token: ALICE }))
    const [set = ''] = begun.headers['set-cookie'] ?? []
    expect([begun.statusCode, set]).toEqual([204, expect.stringContaining('; Secure')])
    const headers = { ...passedOn, cookie: cookieOf(set), origin }
    expect((await askAs(`${rig.origin}/api/v1/destinations/ams/pause`, headers)).statusCode).toBe(200)
    expect((await askAs(`${rig.origin}/api/v1/destinations/ams/resume`, { ...headers, origin: 'https://evil.test' })).statusCode).toBe(403)
    expect(await signIn(ALICE)).not.toContain('Secure')
  })
})

function askAs(url: string, headers: Readonly<Record<string, string>>, body = ''): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { method: 'POST', headers }, (response) => resolve(response.resume()))
      .on('error', reject)
      .end(body)
  })
}
