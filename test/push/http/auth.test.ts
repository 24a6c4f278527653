import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { AuthConfig } from '../../../src/config/config.ts'
import { type Handler, json, type Service } from '../../upstream/service.ts'
import { destinationTo, itemOf, loginAuth, openKind, passwordAuth, secret, sendOne, serve } from './support.ts'

type Oauth2 = Extract<AuthConfig, { type: 'oauth2' }>

const oauth2 = (tokenUrl: string, own: Partial<Oauth2> = {}): Oauth2 => ({
  type: 'oauth2',
  tokenUrl,
  clientId: 'key',
  clientSecret: secret('the-secret'),
  scope: 'notes:write',
  audience: 'api/ams',
  fields: {},
  send: 'basic',
  refresh: false,
  ...own,
})

/** A target that accepts only the newest of its tokens. */
async function tokenService(tokenAnswer: Handler | null = null): Promise<Service & { revoke(): void }> {
  let given = 0
  let newest = ''
  const service = await serve((request, response) => {
    if (request.url.endsWith('/token')) {
      if (tokenAnswer !== null) return tokenAnswer(request, response)
      given += 1
      newest = `t${given}`
      return json(response, { access_token: newest, expires_in: 1000, token_type: 'Bearer' })
    }
    return json(response, {}, request.headers.authorization === `Bearer ${newest}` ? 200 : 401)
  })
  return { ...service, revoke: () => (newest = 'none') }
}

const withAuth = (service: Service, auth: AuthConfig, own = {}) => destinationTo(service.baseUrl, { auth, ...own })

describe('client credentials', () => {
  it('are exchanged once for many, with the id and the secret in the header', async () => {
    const target = await tokenService()
    const kind = openKind(withAuth(target, oauth2(`${target.baseUrl}/token`)))
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => sendOne(kind)))

    expect(outcomes.map(({ type }) => type)).toEqual(Array(4).fill('delivered'))
    const exchanges = target.to('/token')
    expect(exchanges).toHaveLength(1)
    expect(exchanges[0]?.headers).toMatchObject({
      authorization: `Basic ${Buffer.from('key:the-secret').toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    })
    expect(Object.fromEntries(new URLSearchParams(exchanges[0]?.body))).toEqual({
      grant_type: 'client_credentials',
      scope: 'notes:write',
      audience: 'api/ams',
    })
  })

  it('get a token that is shown nowhere, even if the target repeats it', async () => {
    const token = '0b9a1f5c-52f4-4d0e-9c43-0c8d7a1e5b21'
    const target = await serve((request, response) => {
      if (request.url.endsWith('/token')) return json(response, { access_token: token, token_type: 'Bearer' })
      return json(response, { error: `no scope for token ${request.headers.authorization?.replace('Bearer ', '')}` }, 422)
    })
    const outcome = await sendOne(openKind(withAuth(target, oauth2(`${target.baseUrl}/token`))))
    expect(outcome).toMatchObject({ type: 'failed', status: 422, error: 'answered 422 (no scope for token […])' })
  })

  it('get a token that is left where it may be a part of an id by chance, when it is short', async () => {
    const target = await serve((_, response) => json(response, { access_token: 't1', id: 'part1' }))
    const kind = openKind(withAuth(target, oauth2(`${target.baseUrl}/token`), { remoteId: 'body.id' }))
    expect(await sendOne(kind)).toMatchObject({ type: 'delivered', remoteId: 'part1' })
  })

  it('go into the form where the target wants them there', async () => {
    const target = await tokenService()
    await sendOne(openKind(withAuth(target, oauth2(`${target.baseUrl}/token`, { send: 'body', scope: null, audience: null }))))
    expect(target.to('/token')[0]?.headers).not.toHaveProperty('authorization')
    expect(Object.fromEntries(new URLSearchParams(target.to('/token')[0]?.body))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'key',
      client_secret: 'the-secret',
    })
  })

  it('are exchanged again before a token ends, and once when it is rejected', async () => {
    const clock = new ManualClock()
    const target = await tokenService()
    const kind = openKind(withAuth(target, oauth2(`${target.baseUrl}/token`)), clock)
    await sendOne(kind)
    clock.advance(800_000)
    await sendOne(kind)
    expect(target.to('/token')).toHaveLength(1)
    clock.advance(60_000)
    await sendOne(kind)
    expect(target.to('/token')).toHaveLength(2)

    target.revoke()
    const outcomes = await Promise.all([1, 2, 3].map(() => sendOne(kind)))
    expect(outcomes.map(({ type }) => type)).toEqual(['delivered', 'delivered', 'delivered'])
    expect(target.to('/token')).toHaveLength(3)
  })

  it('whose new token is rejected too suspend the destination, after one more attempt', async () => {
    const target = await serve((request, response) =>
      request.url.endsWith('/token') ? json(response, { access_token: 'x', expires_in: 60 }) : json(response, {}, 401),
    )
    const auth = oauth2(`${target.baseUrl}/token`)
    expect(await sendOne(openKind(withAuth(target, auth)))).toMatchObject({ type: 'suspend', retry: 'soon', status: 401 })
    expect(target.to('/notes')).toHaveLength(2)
  })

  it.each([
    [401, {}, 'suspend'],
    [400, { error: 'invalid_client' }, 'suspend'],
    [400, { error: 'invalid_scope' }, 'failed'],
    [500, {}, 'failed'],
    [200, { token_type: 'Bearer' }, 'failed'],
    [200, { access_token: 'a\r\nb' }, 'failed'],
  ])('answered %i %j', async (status, body, type) => {
    const target = await tokenService((_, response) => json(response, body, status))
    const outcome = await sendOne(openKind(withAuth(target, oauth2(`${target.baseUrl}/token`))))
    expect(outcome).toMatchObject(type === 'suspend' ? { type } : { type, permanent: false })
    expect(JSON.stringify(outcome)).not.toContain('the-secret')
    expect(target.to('/notes')).toEqual([])
  })

  it('that are rejected are reported by a probe, with or without a test request', async () => {
    const target = await tokenService((_, response) => json(response, {}, 401))
    const { ok, text } = await openKind(withAuth(target, oauth2(`${target.baseUrl}/token`))).probe(new AbortController().signal)
    expect([ok, text]).toEqual([false, expect.stringContaining('the credentials were rejected')])
  })

  it('that get no answer leave nothing unknown: no message was sent', async () => {
    const target = await tokenService(() => {})
    const outcome = await sendOne(openKind(withAuth(target, oauth2(`${target.baseUrl}/token`), { timeoutMs: 100 })))
    expect(outcome).toMatchObject({ type: 'failed', permanent: false, alive: false })
  })

  it.each([
    [3_000, { type: 'unknown', error: 'no complete answer within 2000 ms' }],
    [4_900, { type: 'failed', permanent: false, error: 'earlier steps, such as getting a token, left too little time of `timeout`' }],
  ])(
    'are exchanged within the time of the attempt, and nothing is sent with too little of it left: after %d of 5000 ms',
    async (tookMs, outcome) => {
      const clock = new ManualClock()
      const target = await serve((request, response) => {
        // The message is never answered.
        if (!request.url.endsWith('/token')) return clock.advance(2_000)
        clock.advance(tookMs)
        json(response, { access_token: 't' })
      })
      const kind = openKind(withAuth(target, oauth2(`${target.baseUrl}/token`), { timeoutMs: 5_000 }), clock)
      expect(await sendOne(kind)).toMatchObject(outcome)
    },
  )

  it('do not delay a canceled send', async () => {
    const target = await tokenService(() => {})
    const kind = openKind(withAuth(target, oauth2(`${target.baseUrl}/token`)))
    const stop = new AbortController()
    const sending = kind.send([itemOf()], stop.signal)
    stop.abort()
    expect(await sending).toMatchObject([
      { type: 'failed', permanent: false, alive: null, error: 'sending was stopped before this request' },
    ])
  })
})

describe('other credentials', () => {
  it('are a password for a token', async () => {
    const target = await tokenService()
    const auth = passwordAuth(`${target.baseUrl}/token`, { clientId: 'app' })
    expect(await sendOne(openKind(withAuth(target, auth)))).toMatchObject({ type: 'delivered' })
    expect(Object.fromEntries(new URLSearchParams(target.to('/token')[0]?.body))).toEqual({
      grant_type: 'password',
      username: 'ann',
      password: 'pass word',
      client_id: 'app',
    })
  })

  it.each([
    [{ type: 'basic', username: 'ann', password: secret('pä:ss') }, 'authorization', `Basic ${btoa('ann:pÃ¤:ss')}`],
    [{ type: 'bearer', token: secret('abc') }, 'authorization', 'Bearer abc'],
    [{ type: 'header', name: 'X-Api-Key', value: secret('k1') }, 'x-api-key', 'k1'],
  ] as const)('are in a header: %j', async (auth, header, value) => {
    const target = await serve()
    await sendOne(openKind(withAuth(target, auth)))
    expect(target.arrived[0]?.headers[header]).toBe(value)
  })
})

describe('a login', () => {
  const { request } = loginAuth
  const login = (own: Partial<Extract<AuthConfig, { type: 'login' }>> = {}): AuthConfig => ({ ...loginAuth, ...own })

  /** A target that issues a token for each login, and accepts only the newest. */
  async function target(header = 'authorization', scheme = 'Bearer ') {
    let given = 0
    let taken = ''
    const service = await serve((asked, response) => {
      if (!asked.url.endsWith('/login')) return json(response, {}, asked.headers[header] === taken ? 200 : 401)
      if (!asked.body.includes('the-password')) return json(response, { message: `no user with ${asked.body}` }, 401)
      given += 1
      taken = `${scheme}token-${given}`
      return json(response, { jwt: `token-${given}`, seconds: '1000' })
    })
    return { ...service, revoke: () => (taken = 'none') }
  }

  it('brings a token for many requests, which holds until a 401, and then another one', async () => {
    const service = await target()
    const kind = openKind(withAuth(service, login()))
    for (const outcome of await Promise.all([1, 2, 3].map(() => sendOne(kind)))) expect(outcome).toMatchObject({ type: 'delivered' })
    expect(service.to('/auth/login').map(({ body }) => JSON.parse(body))).toEqual([{ username: 'amy', password: 'the-password' }])
    service.revoke()
    expect(await sendOne(kind)).toMatchObject({ type: 'delivered' })
    expect(service.to('/auth/login')).toHaveLength(2)
  })

  it('is repeated when the time in the answer has nearly passed', async () => {
    const service = await target()
    const clock = new ManualClock(0, () => 0)
    const kind = openKind(withAuth(service, login({ expiresIn: 'body.seconds' })), clock)
    await sendOne(kind)
    clock.advance(899_000)
    await sendOne(kind)
    expect(service.to('/auth/login')).toHaveLength(1)
    clock.advance(2_000)
    expect(await sendOne(kind)).toMatchObject({ type: 'delivered' })
    expect(service.to('/auth/login')).toHaveLength(2)
  })

  it('may send its token in another header, bare, and itself authorize as it likes', async () => {
    const service = await target('x-session', '')
    const headers = { Authorization: '"Basic " & $base64encode(credentials.username & ":" & credentials.password)' }
    const own = {
      header: 'X-Session',
      scheme: '',
      request: { ...request, format: 'form' as const, headers, body: '{"grant": "the-password"}' },
    }
    expect(await sendOne(openKind(withAuth(service, login(own))))).toMatchObject({ type: 'delivered' })
    const [asked] = service.to('/auth/login')
    expect(asked?.headers.authorization).toBe(`Basic ${Buffer.from('amy:the-password').toString('base64')}`)
    expect(asked?.body).toBe('grant=the-password')
  })

  it('that is refused suspends the destination, and what fails on the way sends nothing', async () => {
    const service = await target()
    const wrong = login({ credentials: { username: secret('amy'), password: secret('wrong-password') } })
    expect(await sendOne(openKind(withAuth(service, wrong)))).toMatchObject({ type: 'suspend', status: 401 })
    const tokenless = await sendOne(openKind(withAuth(service, login({ token: 'body.none' }))))
    const error = 'no token: the login answered 200, but auth.token finds no token in the answer'
    expect(tokenless).toMatchObject({ type: 'failed', permanent: false, error })
    const broken = await sendOne(openKind(withAuth(service, login({ request: { ...request, body: '$error("no branch")' } }))))
    expect(broken).toMatchObject({ type: 'failed', permanent: false, error: expect.stringContaining('no branch') })
    expect(service.to('/notes/')).toEqual([])
  })

  it('shows its credentials to no expression but its own', async () => {
    const service = await target()
    const body = '{"id": message_id, "found": [credentials, $$.credentials]}'
    const kind = openKind(withAuth(service, login(), { request: { ...destinationTo('').request, body } }))
    expect(await sendOne(kind)).toMatchObject({ type: 'delivered' })
    expect(JSON.stringify(service.to('/notes/').map((asked) => asked.body))).not.toMatch(/password|amy/)
  })
})
