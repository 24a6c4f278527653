import { createHash, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { SandboxOptions } from '../../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { ask, me, postForm, type Reply, register, sandboxFor } from '../support.ts'

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const REDIRECT = 'http://127.0.0.1:4711/callback'

/** A connected app, without a secret. */
class App {
  readonly sandbox: Sandbox
  readonly clock: ManualClock
  readonly verifier = randomBytes(32).toString('base64url')
  clientId = ''

  private constructor(sandbox: Sandbox, clock: ManualClock) {
    this.sandbox = sandbox
    this.clock = clock
  }

  static async open(options: SandboxOptions = {}, redirectUris: readonly string[] = [REDIRECT]): Promise<App> {
    const clock = new ManualClock()
    const app = new App(await sandboxFor({ clock, ...options }), clock)
    const { body } = await app.register({ client_name: 'desk', redirect_uris: redirectUris })
    app.clientId = String(body['client_id'])
    return app
  }

  get email(): string {
    return this.sandbox.account('default').users[1]?.email ?? ''
  }

  register(body: object): Promise<Reply> {
    return register(this.sandbox, body)
  }

  query(fields: Record<string, string | null> = {}): URLSearchParams {
    const challenge = createHash('sha256').update(this.verifier).digest('base64url')
    const all = {
      response_type: 'code',
      client_id: this.clientId,
      redirect_uri: REDIRECT,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      state: 'st&te',
      ...fields,
    }
    return new URLSearchParams(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null))
  }

  /** Approves an authorization request. @returns the redirect. */
  async approve(query: URLSearchParams = this.query(), email = this.email): Promise<URL> {
    query.set('email', email)
    const answer = await fetch(`${this.sandbox.origin}/_sandbox/authorize-as?${query}`, { redirect: 'manual' })
    expect(answer.status).toBe(302)
    return new URL(answer.headers.get('location') ?? '')
  }

  token(form: Record<string, string>): Promise<Reply> {
    return postForm(this.sandbox, '/oauth/token', form)
  }

  redeem(code: string | null, fields: Record<string, string> = {}): Promise<Reply> {
    return this.token({
      grant_type: 'authorization_code',
      code: code ?? '',
      code_verifier: this.verifier,
      redirect_uri: REDIRECT,
      client_id: this.clientId,
      ...fields,
    })
  }

  refresh(token: unknown, fields: Record<string, string> = {}): Promise<Reply> {
    return this.token({ grant_type: 'refresh_token', refresh_token: String(token), client_id: this.clientId, ...fields })
  }

  device(form: Record<string, string> = { client_id: 'cli', scope: 'broker_mcp' }): Promise<Reply> {
    return postForm(this.sandbox, '/oauth/device_authorization', form)
  }

  poll(device: Reply, clientId = 'cli'): Promise<Reply> {
    return this.token({ grant_type: DEVICE_GRANT, device_code: String(device.body['device_code']), client_id: clientId })
  }

  decide(body: object): Promise<Reply> {
    return ask(this.sandbox, '/approve', body)
  }

  me(token: unknown): Promise<Reply> {
    return me(this.sandbox, token)
  }
}

test('the metadata lists all endpoints, grants and scopes, and only S256 for PKCE', async () => {
  const { sandbox } = await App.open()
  const answer = await fetch(`${sandbox.baseUrl}/oauth/.well-known/oauth-authorization-server`)
  expect(await answer.json()).toMatchObject({
    token_endpoint: `${sandbox.baseUrl}/oauth/token`,
    authorization_endpoint: `${sandbox.baseUrl}/oauth/authorize`,
    device_authorization_endpoint: `${sandbox.baseUrl}/oauth/device_authorization`,
    registration_endpoint: `${sandbox.baseUrl}/oauth/register`,
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials', DEVICE_GRANT],
    code_challenge_methods_supported: ['S256'],
    scopes_supported: ['broker_mcp', 'broker_submit'],
  })
  expect((await fetch(`${sandbox.origin}/.well-known/oauth-authorization-server`)).status).toBe(404)
})

test('an approved request returns a code, and the code a token pair of that user', async () => {
  const app = await App.open()
  const target = await app.approve()
  expect(target.href.startsWith(`${REDIRECT}?`)).toBe(true)
  expect(target.searchParams.get('state')).toBe('st&te')
  const { status, body } = await app.redeem(target.searchParams.get('code'))
  expect([status, body]).toEqual([
    200,
    {
      access_token: expect.any(String),
      refresh_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'broker_mcp broker_submit',
    },
  ])
  expect((await app.me(body['access_token'])).body).toMatchObject({ kind: 'user', email: app.email, role: 'broker' })
  app.clock.advance(3_600_000)
  expect((await app.me(body['access_token'])).status).toBe(401)
})

test('a code is valid once, for its client, redirect URI and verifier, for a short time', async () => {
  const app = await App.open()
  const code = async () => (await app.approve()).searchParams.get('code')
  const refused = { status: 400, body: { error: 'invalid_grant' } }
  expect(await app.redeem(await code(), { code_verifier: 'x'.repeat(43) })).toMatchObject(refused)
  expect(await app.redeem(await code(), { redirect_uri: 'http://127.0.0.1:4712/callback' })).toMatchObject(refused)
  expect(await app.redeem(await code(), { client_id: 'another' })).toMatchObject(refused)
  expect(await app.redeem('oac_unknown')).toMatchObject(refused)
  const late = await code()
  app.clock.advance(600_000)
  expect(await app.redeem(late)).toMatchObject(refused)

  const twice = await code()
  const first = await app.redeem(twice)
  expect(first.status).toBe(200)
  expect(await app.redeem(twice)).toMatchObject(refused)
  expect((await app.me(first.body['access_token'])).status).toBe(401)
  expect(await app.refresh(first.body['refresh_token'])).toMatchObject(refused)
})

test('problems are reported by redirect, unless client or redirect URI are wrong', async () => {
  const app = await App.open()
  const wrong = [
    [{ code_challenge_method: 'plain' }, 'invalid_request'],
    [{ code_challenge_method: null }, 'invalid_request'],
    [{ code_challenge: null }, 'invalid_request'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ scope: 'everything' }, 'invalid_scope'],
  ] as const
  for (const [fields, error] of wrong) {
    const query = app.query(fields)
    const answer = await fetch(`${app.sandbox.baseUrl}/oauth/authorize?${query}`, { redirect: 'manual' })
    expect(answer.status).toBe(302)
    expect(new URL(answer.headers.get('location') ?? '').searchParams.get('error'), error).toBe(error)
    expect((await app.approve(query)).searchParams.get('error')).toBe(error)
  }
  for (const fields of [
    { client_id: 'dyn_made.up' },
    { client_id: null },
    { redirect_uri: 'https://evil.example/' },
    { redirect_uri: null },
  ]) {
    expect((await fetch(`${app.sandbox.baseUrl}/oauth/authorize?${app.query(fields)}`, { redirect: 'manual' })).status).toBe(400)
    expect((await fetch(`${app.sandbox.origin}/_sandbox/authorize-as?email=${app.email}&${app.query(fields)}`)).status).toBe(400)
  }
})

test('the approval page offers the users and denial, and the latest request needs no query', async () => {
  const app = await App.open()
  expect((await fetch(`${app.sandbox.origin}/_sandbox/authorize-as?email=${app.email}`)).status).toBe(400)
  const page = await fetch(`${app.sandbox.baseUrl}/oauth/authorize?${app.query({ scope: 'broker_mcp' })}`)
  expect(page.headers.get('content-type')).toContain('text/html')
  const html = await page.text()
  const links = [...html.matchAll(/href="([^"]+)"/g)].map(([, href]) => (href ?? '').replaceAll('&#38;', '&'))
  expect(links).toHaveLength(3)
  const denied = await fetch(links[2] ?? '', { redirect: 'manual' })
  expect(new URL(denied.headers.get('location') ?? '').searchParams.get('error')).toBe('access_denied')
  const byLink = await fetch(links[1] ?? '', { redirect: 'manual' })
  expect(new URL(byLink.headers.get('location') ?? '').searchParams.get('code')).toMatch(/^oac_/)

  await fetch(`${app.sandbox.baseUrl}/oauth/authorize?${app.query({ scope: 'broker_mcp' })}`)
  const code = (await app.approve(new URLSearchParams())).searchParams.get('code')
  expect((await app.redeem(code)).body).toMatchObject({ scope: 'broker_mcp' })
})

test('refresh tokens rotate on every use; a second use ends the session, or is only refused', async () => {
  for (const [unshown, after] of [
    [{}, 401],
    [{ refresh_reuse: 'refuse' }, 200],
  ] as const) {
    const app = await App.open({ unshown })
    const first = (await app.redeem((await app.approve()).searchParams.get('code'))).body
    const second = await app.refresh(first['refresh_token'])
    expect(second).toMatchObject({ status: 200, body: { scope: 'broker_mcp broker_submit' } })
    expect(second.body['refresh_token']).not.toBe(first['refresh_token'])
    const narrow = await app.refresh(second.body['refresh_token'], { scope: 'broker_mcp' })
    expect(narrow.body).toMatchObject({ scope: 'broker_mcp' })
    expect((await app.refresh(narrow.body['refresh_token'], { scope: 'broker_submit' })).body).toMatchObject({ error: 'invalid_scope' })
    expect((await app.refresh(narrow.body['refresh_token'], { client_id: 'another' })).body).toMatchObject({ error: 'invalid_grant' })
    expect(await app.refresh(first['refresh_token'])).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect((await app.me(narrow.body['access_token'])).status).toBe(after)
  }
})

test('refresh tokens end with their lifetime and with their user', async () => {
  const app = await App.open({ unshown: { refresh_lifetime_s: 7_200 } })
  const pair = async () => (await app.redeem((await app.approve()).searchParams.get('code'))).body
  const old = await pair()
  app.clock.advance(7_200_000)
  expect((await app.refresh(old['refresh_token'])).status).toBe(400)
  const live = await pair()
  for (const user of app.sandbox.account('default').users) user.active = false
  expect((await app.refresh(live['refresh_token'])).status).toBe(400)
  expect((await app.me(live['access_token'])).status).toBe(403)
})

test('programmatic-access controls cap the scope', async () => {
  const app = await App.open()
  const controls = (scopes: string[]) => ask(app.sandbox, '/programmatic-access', { account: 'default', scopes })
  const before = (await app.redeem((await app.approve()).searchParams.get('code'))).body
  expect((await controls(['broker_mcp'])).status).toBe(200)
  expect((await app.redeem((await app.approve()).searchParams.get('code'))).body).toMatchObject({ scope: 'broker_mcp' })
  expect((await app.refresh(before['refresh_token'])).body).toMatchObject({ scope: 'broker_mcp' })
  expect((await app.approve(app.query({ scope: 'broker_submit' }))).searchParams.get('error')).toBe('invalid_scope')
})

test('registration issues signed client ids with their redirect URIs', async () => {
  const app = await App.open()
  const uris = ['https://app.example/back', 'com.example.app:/back', 'http://127.0.0.1/callback']
  const { status, body } = await app.register({ client_name: 'many', redirect_uris: uris })
  expect(status).toBe(201)
  expect(body).toMatchObject({ client_name: 'many', redirect_uris: uris, token_endpoint_auth_method: 'none' })
  expect(body).not.toHaveProperty('client_secret')
  app.clientId = String(body['client_id'])
  // On loopback any port is allowed (RFC 8252).
  expect((await app.approve()).searchParams.get('code')).toMatch(/^oac_/)
  for (const redirect_uri of ['http://127.0.0.1:1/other', 'http://127.0.0.1.evil.example/callback', 'https://app.example:444/back']) {
    expect((await fetch(`${app.sandbox.baseUrl}/oauth/authorize?${app.query({ redirect_uri })}`)).status, redirect_uri).toBe(400)
  }
  const forged = `${app.clientId.slice(0, -2)}xx`
  expect((await fetch(`${app.sandbox.baseUrl}/oauth/authorize?${app.query({ client_id: forged })}`)).status).toBe(400)
  for (const redirect_uris of [['http://app.example/'], ['javascript:alert(1)'], ['https://app.example/#x'], ['no address']]) {
    expect(await app.register({ client_name: 'x', redirect_uris })).toMatchObject({ status: 400, body: { error: 'invalid_redirect_uri' } })
  }
  for (const wrong of [{}, { redirect_uris: [] }, { redirect_uris: 'x' }, []]) {
    const refused = await app.register(wrong)
    expect(refused).toMatchObject({
      status: 422,
      body: { detail: [{ loc: expect.any(Array), msg: expect.any(String), type: expect.any(String) }] },
    })
  }
})

test('registrations are limited per hour and address', async () => {
  const app = await App.open({ unshown: { registrations_per_hour: 2 } })
  const register = () => app.register({ client_name: 'x', redirect_uris: [REDIRECT] })
  expect((await register()).status).toBe(201)
  expect((await register()).status).toBe(429)
  app.clock.advance(3_600_000)
  expect((await register()).status).toBe(201)
})

test('a device gets its tokens after the approval', async () => {
  const app = await App.open()
  const device = await app.device()
  expect(device.body).toMatchObject({ device_code: expect.any(String), interval: 5, expires_in: 900 })
  const userCode = String(device.body['user_code'])
  expect(device.body['verification_uri_complete']).toBe(`${device.body['verification_uri']}?user_code=${userCode}`)
  expect(await app.poll(device)).toMatchObject({ status: 400, body: { error: 'authorization_pending' } })
  expect((await app.poll(device)).body).toMatchObject({ error: 'slow_down' })
  app.clock.advance(9_999)
  expect((await app.poll(device)).body).toMatchObject({ error: 'slow_down' })
  app.clock.advance(15_000)
  expect((await app.poll(device)).body).toMatchObject({ error: 'authorization_pending' })
  expect((await app.decide({ user_code: 'WRNG-CDXX', email: app.email })).status).toBe(400)
  expect((await app.decide({ user_code: userCode, email: 'nobody@x.invalid' })).status).toBe(400)
  expect((await app.decide({ user_code: userCode.toLowerCase().replace('-', ' '), email: app.email })).status).toBe(200)
  expect((await app.poll(device, 'another')).body).toMatchObject({ error: 'invalid_grant' })
  const pair = await app.poll(device)
  expect(pair).toMatchObject({ status: 200, body: { refresh_token: expect.any(String), scope: 'broker_mcp' } })
  expect((await app.me(pair.body['access_token'])).body).toMatchObject({ kind: 'user', email: app.email })
  expect((await app.poll(device)).body).toMatchObject({ error: 'invalid_grant' })
  expect((await app.refresh(pair.body['refresh_token'], { client_id: 'cli' })).status).toBe(200)
})

test('a device is refused after denial and expiry', async () => {
  const app = await App.open({ unshown: { device_lifetime_s: 60 } })
  const [denied, late] = [await app.device(), await app.device()]
  expect((await app.decide({ user_code: denied.body['user_code'], email: app.email, deny: true })).status).toBe(200)
  expect((await app.poll(denied)).body).toMatchObject({ error: 'access_denied' })
  app.clock.advance(60_000)
  expect((await app.poll(late)).body).toMatchObject({ error: 'expired_token' })
  expect((await app.decide({ user_code: late.body['user_code'], email: app.email })).status).toBe(400)
})

test('missing token and device fields get 422, an unknown grant is refused', async () => {
  const app = await App.open({ unshown: { device_clients: 'registered' } })
  const missing = (...names: string[]) => ({
    status: 422,
    body: { detail: names.map((name) => ({ loc: ['body', name], msg: expect.any(String), type: 'missing' })) },
  })
  expect(await app.token({})).toMatchObject(missing('grant_type'))
  expect(await app.token({ grant_type: 'authorization_code' })).toMatchObject(missing('code', 'redirect_uri', 'client_id', 'code_verifier'))
  expect(await app.token({ grant_type: 'refresh_token' })).toMatchObject(missing('refresh_token'))
  expect(await app.token({ grant_type: DEVICE_GRANT, client_id: 'x' })).toMatchObject(missing('device_code'))
  expect(await app.device({})).toMatchObject(missing('client_id'))
  expect(await app.token({ grant_type: 'password' })).toMatchObject({ status: 400, body: { error: 'unsupported_grant_type' } })
  expect((await app.device({ client_id: 'cli' })).body).toMatchObject({ error: 'invalid_client' })
  expect((await app.device({ client_id: app.clientId, scope: 'x' })).body).toMatchObject({ error: 'invalid_scope' })
  expect((await app.device({ client_id: app.clientId })).status).toBe(200)
})

test('an admin lists the connected apps of the brokerage and ends their sessions', async () => {
  const app = await App.open()
  const pair = (await app.redeem((await app.approve()).searchParams.get('code'))).body
  await app.refresh(pair['refresh_token'])
  const admin = async (method: string, path: string, email?: string) => {
    const token = email === undefined ? '' : (await ask(app.sandbox, '/portal-session', { email })).body.access_token
    return ask(app.sandbox, path, undefined, { method, headers: token ? { authorization: `Bearer ${token}` } : {} })
  }
  const [first, broker] = app.sandbox.account('default').users.map(({ email }) => email)
  expect((await admin('GET', '/apps', broker)).status).toBe(403)
  const { apps } = (await admin('GET', '/apps', first)).body as { apps: { id: string }[] }
  expect(apps).toEqual([
    { id: expect.any(String), client_id: app.clientId, client_name: 'desk', scope: 'broker_mcp broker_submit', email: app.email },
  ])
  expect((await admin('DELETE', `/apps/${apps[0]?.id}`, broker)).status).toBe(403)
  expect((await admin('DELETE', `/apps/${apps[0]?.id}`)).status).toBe(200)
  expect((await app.me(pair['access_token'])).status).toBe(401)
  expect((await admin('GET', '/apps')).body).toMatchObject({ apps: [] })
  expect((await admin('DELETE', `/apps/${apps[0]?.id}`)).status).toBe(400)
})
