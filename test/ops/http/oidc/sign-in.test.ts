import { appendFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../../src/config/config.ts'
import { onSqlite } from '../../../tools/databases.ts'
import { AdminRig } from '../rig.ts'
import { CLIENT_ID, CLIENT_SECRET, Issuer, Visitor } from './issuer.ts'

const SESSION = 'submission_mirror_session'
const PENDING = 'submission_mirror_oidc'

describe.each(onSqlite)('signing in by OpenID Connect on $name', (database) => {
  let rig: AdminRig
  let issuer: Issuer
  beforeEach(async () => {
    rig = await AdminRig.open(database, { OPS_TOKENS: '', OIDC_SECRET: CLIENT_SECRET })
    issuer = await Issuer.start(`${rig.origin}/api/v1/session/oidc/callback`)
    const oidc = `issuer: "${issuer.url}", client_id: ${CLIENT_ID}, client_secret: "\${OIDC_SECRET}", name: Agency login, claim: groups`
    const roles = 'roles: { mirror-viewers: viewer, mirror-operators: operator }'
    appendFileSync(rig.env['CONFIG_FILE'] ?? '', `ops: { oidc: { ${oidc}, ${roles} } }\n`)
    rig.config = loadConfig(rig.env)
  })
  afterEach(async () => {
    await issuer.close()
    await rig.close()
  })

  const start = () => `${rig.origin}/api/v1/session/oidc`
  const isCallback = (url: string) => url.startsWith(`${rig.origin}/api/v1/session/oidc/callback`)
  const isConsole = (url: string) => url === `${rig.origin}/console/`
  const whoIs = (cookie: string) => rig.ask('GET', '/session', { token: null, headers: { cookie: `${SESSION}=${cookie}` } })
  const sessionOf = (visitor: Visitor) => visitor.cookie(rig.origin, SESSION)

  async function signIn(visitor = new Visitor()): Promise<string> {
    const { url } = await visitor.follow(start(), isConsole)
    expect(url).toBe(`${rig.origin}/console/`)
    return sessionOf(visitor) ?? ''
  }

  async function refusalAt(response: Response | null): Promise<string> {
    const headers = ['content-type', 'cache-control'].map((name) => response?.headers.get(name))
    expect(headers).toEqual(['text/html; charset=utf-8', 'no-store'])
    return /<p role="alert">(.*?)<\/p>/.exec((await response?.text()) ?? '')?.[1] ?? ''
  }

  it('needs no token, is listed as a method, and gives the role of the claim', async () => {
    const methods = await rig.ask('GET', '/session/methods', { token: null })
    const oidc = { name: 'Agency login', path: '/api/v1/session/oidc' }
    expect([methods.status, methods.json]).toEqual([200, { token: false, link: false, oidc }])
    expect((await rig.ask('GET', '/session', { token: null })).status).toBe(401)
    const visitor = new Visitor()
    const cookie = await signIn(visitor)
    expect(visitor.cookie(rig.origin, PENDING)).toBeUndefined()
    const authorization = new URL(visitor.visited.find((url) => url.startsWith(`${issuer.url}/auth`)) ?? '')
    const { searchParams } = authorization
    const asked = { code_challenge_method: 'S256', response_type: 'code', scope: 'openid profile email' }
    expect(Object.fromEntries(searchParams)).toMatchObject(asked)
    for (const name of ['state', 'nonce', 'code_challenge']) expect(searchParams.get(name)?.length).toBeGreaterThanOrEqual(43)
    const jane = { name: 'oidc:jane (unconfirmed, u-1)', role: 'operator', may: ['viewer', 'operator'], via: 'session' }
    expect((await whoIs(cookie)).json).toMatchObject(jane)
    const inSession = { token: null, headers: { cookie: `${SESSION}=${cookie}`, origin: rig.origin } }
    expect((await rig.ask('POST', '/destinations/ams/pause', inSession)).status).toBe(200)
    expect((await rig.ask('POST', '/reload', inSession)).status).toBe(403)
    const out = await rig.ask('DELETE', '/session', inSession)
    expect([out.status, (await whoIs(cookie)).status]).toEqual([204, 401])
    expect((await rig.notes()).map(({ who, action, detail }) => [who, action, detail['subject']])).toEqual([
      ['oidc:jane (unconfirmed, u-1)', 'session.begin', 'u-1'],
      ['oidc:jane (unconfirmed, u-1)', 'destination.pause', undefined],
      ['oidc:jane (unconfirmed, u-1)', 'session.end', undefined],
    ])
  })

  it.each([
    ['passes Host on without the port', { host: 'mirror.agency.example' }],
    ['sends its own name for the upstream, with the address from the page', {}],
    ['sends X-Forwarded-Host', { 'x-forwarded-host': 'mirror.agency.example' }],
  ])('redirects with OPS_PUBLIC_URL through a proxy that %s', async (_, passedOn) => {
    const publicUrl = 'https://mirror.agency.example:8443'
    const callback = `${publicUrl}/api/v1/session/oidc/callback`
    await issuer.close()
    issuer = await Issuer.start(callback)
    const { oidc } = rig.config.ops
    if (oidc) rig.config = { ...rig.config, ops: { ...rig.config.ops, publicUrl, oidc: { ...oidc, issuer: issuer.url } } }
    const through = (path: string, cookie = '') => getAs(`${rig.origin}${path}`, { ...passedOn, ...(cookie !== '' && { cookie }) })
    const from = Object.keys(passedOn).length === 0 ? `?from=${encodeURIComponent(publicUrl)}` : ''
    const begun = await through(`/api/v1/session/oidc${from}`)
    const [pending = ''] = begun.headers['set-cookie'] ?? []
    expect(pending).toContain('; Secure')
    const there = new URL(begun.headers.location ?? '')
    expect(there.searchParams.get('redirect_uri')).toBe(callback)
    const { url: back } = await new Visitor().follow(there.href, (url) => url.startsWith(callback))
    const ended = await through(back.slice(publicUrl.length), pending.split(';')[0])
    expect([ended.statusCode, ended.headers.location]).toEqual([302, `${publicUrl}/console/`])
    const session = ended.headers['set-cookie']?.find((set) => set.startsWith(`${SESSION}=`)) ?? ''
    expect(session).toContain('; Secure')
    const who = await whoIs(session.slice(SESSION.length + 1).split(';')[0] ?? '')
    expect(who.json).toMatchObject({ name: 'oidc:jane (unconfirmed, u-1)' })
  })

  it('redirects to the address of a tunnel despite OPS_PUBLIC_URL', async () => {
    rig.config = { ...rig.config, ops: { ...rig.config.ops, publicUrl: 'https://mirror.agency.example' } }
    for (const from of ['', `?from=${encodeURIComponent(rig.origin)}`, '?from=https%3A%2F%2Fevil.test', '?from=a&from=b']) {
      const visitor = new Visitor()
      expect((await visitor.follow(`${start()}${from}`, isConsole)).url).toBe(`${rig.origin}/console/`)
      expect((await whoIs(sessionOf(visitor) ?? '')).status).toBe(200)
    }
  })

  it('gives the highest of several roles, and rejects people without one', async () => {
    issuer.person = { ...issuer.person, groups: ['others', 'mirror-operators', 'mirror-viewers'] }
    expect((await whoIs(await signIn())).json).toMatchObject({ role: 'operator' })
    issuer.person = { ...issuer.person, sub: 'u-2', groups: 'mirror-viewers' }
    expect((await whoIs(await signIn())).json).toMatchObject({ role: 'viewer' })
    for (const groups of [['others'], [], undefined, 7, ['__proto__', 'constructor'], [{ a: 1 }]]) {
      issuer.person = { ...issuer.person, groups }
      const visitor = new Visitor()
      const { response } = await visitor.follow(start())
      expect([groups, response?.status]).toEqual([groups, 403])
      expect(await refusalAt(response)).toBe('You signed in at Agency login, but have no role here. Ask your administrator for one.')
      expect(sessionOf(visitor)).toBeUndefined()
    }
  })

  it('rejects another state, nonce or verifier, and a sign-in of another browser', async () => {
    const change = (visitor: Visitor, name: string) => {
      const kept = JSON.parse(Buffer.from(visitor.cookie(rig.origin, PENDING) ?? '', 'base64url').toString()) as Record<string, string>
      const other = { ...kept, [name]: `${kept[name]?.slice(0, -2)}zz` }
      visitor.keep(rig.origin, PENDING, Buffer.from(JSON.stringify(other)).toString('base64url'))
    }
    for (const name of ['state', 'nonce', 'verifier']) {
      const visitor = new Visitor()
      const { url } = await visitor.follow(start(), isCallback)
      change(visitor, name)
      const response = await visitor.get(url)
      expect([name, response.status]).toEqual([name, 400])
      expect(await refusalAt(response)).toMatch(/^Agency login did not confirm this sign-in \(.*\)\. Sign in again\.$/)
      expect(sessionOf(visitor)).toBeUndefined()
    }
    const { url } = await new Visitor().follow(start(), isCallback)
    const stranger = await new Visitor().get(url)
    expect(stranger.status).toBe(400)
    expect(await refusalAt(stranger)).toBe('This sign-in did not begin in this browser, or took too long. Sign in again.')
    expect(await rig.notes()).toEqual([])
  })

  it('accepts a code once', async () => {
    const visitor = new Visitor()
    const { url } = await visitor.follow(start(), isCallback)
    const pending = visitor.cookie(rig.origin, PENDING) ?? ''
    expect((await visitor.get(url)).status).toBe(302)
    const thief = new Visitor()
    thief.keep(rig.origin, PENDING, pending)
    const again = await thief.get(url)
    expect([again.status, sessionOf(thief)]).toEqual([400, undefined])
  })

  it('reports a rejection by the provider, and limits the attempts', async () => {
    const visitor = new Visitor()
    const { url } = await visitor.follow(start(), isCallback)
    const kept = visitor.cookie(rig.origin, PENDING) ?? ''
    const refused = new URL(url)
    refused.search = `?error=access_denied&error_description=<b>no</b>&state=${refused.searchParams.get('state')}&iss=${encodeURIComponent(issuer.url)}`
    const response = await visitor.get(refused.href)
    const text = await response.text()
    expect([response.status, text.includes('<b>')]).toEqual([400, false])
    const statuses: number[] = []
    for (let n = 0; n < 10; n++) {
      visitor.keep(rig.origin, PENDING, kept)
      statuses.push((await visitor.get(refused.href)).status)
    }
    expect(statuses).toEqual([...Array.from({ length: 9 }, () => 400), 429])
  })

  it('does not count unexpected callbacks as attempts', async () => {
    const visitor = new Visitor()
    const { url } = await visitor.follow(start(), isCallback)
    const kept = visitor.cookie(rig.origin, PENDING) ?? ''
    for (let n = 0; n < 20; n++) {
      expect((await new Visitor().get(`${start()}/callback?code=x&state=y`)).status).toBe(400)
      const lured = new Visitor()
      lured.keep(rig.origin, PENDING, kept)
      expect((await lured.get(`${start()}/callback?code=x&state=y`)).status).toBe(400)
      // A foreign page opened the callback; the person can still sign in.
      expect(lured.cookie(rig.origin, PENDING)).toBe(kept)
    }
    expect((await visitor.get(url)).status).toBe(302)
  })

  it('begins only from its own page, and not for signed-in people', async () => {
    const begin = async (headers: Readonly<Record<string, string>>) => (await getAs(start(), headers)).headers.location ?? ''
    for (const site of ['same-origin', 'none']) expect(await begin({ 'sec-fetch-site': site })).toContain(issuer.url)
    for (const site of ['cross-site', 'same-site']) expect(await begin({ 'sec-fetch-site': site })).toBe(`${rig.origin}/console/`)
    const cookie = `${SESSION}=${await signIn()}`
    expect(await begin({ cookie })).toBe(`${rig.origin}/console/`)
  })

  it.each([
    [{ email: 'jane@agency.example', email_verified: true }, 'oidc:jane@agency.example'],
    [{ email: 'jane@agency.example', email_verified: false, preferred_username: 'jane' }, 'oidc:jane (unconfirmed, u-1)'],
    [{ preferred_username: 'boss@agency.example' }, 'oidc:boss@agency.example (unconfirmed, u-1)'],
    [{ preferred_username: undefined }, 'oidc:u-1'],
  ])('names the person of %o', async (claims, name) => {
    issuer.person = { ...issuer.person, ...claims }
    expect((await whoIs(await signIn())).json).toMatchObject({ name })
  })

  it('reports that the provider does not answer, and works when it is back', async () => {
    const { url } = await new Visitor().follow(start(), isCallback)
    expect(url).toContain('code=')
    await issuer.close()
    rig.config = loadConfig(rig.env)
    const response = await new Visitor().get(start())
    expect(response.status).toBe(503)
    expect(await refusalAt(response)).toMatch(/^Agency login does not answer correctly \(.*\)\. Try again/)
    issuer = await Issuer.start(`${rig.origin}/api/v1/session/oidc/callback`)
    const { oidc } = rig.config.ops
    if (oidc) rig.config = { ...rig.config, ops: { ...rig.config.ops, oidc: { ...oidc, issuer: issuer.url } } }
    expect((await whoIs(await signIn())).status).toBe(200)
  })

  it('ends if provider, claim or role are removed from the settings, and follows role changes', async () => {
    const cookie = await signIn()
    const { ops } = rig.config
    const { oidc } = ops
    if (!oidc) throw new Error('no provider')
    const { tokens } = loadConfig({ ...rig.env, OPS_TOKENS: 'x:x-0123456789-abcdefgh' }).ops
    const withOidc = async (changed: typeof oidc | undefined) => {
      rig.config = { ...rig.config, ops: { ...ops, tokens, oidc: changed as typeof oidc } }
      return (await whoIs(cookie)).json
    }
    expect(await withOidc({ ...oidc, roles: { 'mirror-operators': 'admin' } })).toMatchObject({ role: 'admin' })
    expect(await withOidc({ ...oidc, name: 'Another name' })).toMatchObject({ role: 'operator' })
    const ended = { status: 401, detail: 'the session has ended. Sign in again' }
    expect(await withOidc({ ...oidc, roles: { others: 'admin' } })).toMatchObject(ended)
    expect(await withOidc({ ...oidc, claim: 'roles' })).toMatchObject(ended)
    expect(await withOidc({ ...oidc, issuer: 'https://other.example' })).toMatchObject(ended)
    expect(await withOidc(undefined)).toMatchObject(ended)
    expect((await rig.ask('GET', '/session/methods', { token: null })).json).toEqual({ token: true, link: false, oidc: null })
    expect((await new Visitor().get(start())).status).toBe(404)
  })
})

function getAs(url: string, headers: Readonly<Record<string, string>>): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, (response) => resolve(response.resume()))
      .on('error', reject)
      .end()
  })
}
