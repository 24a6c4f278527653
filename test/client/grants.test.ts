import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  type Auth,
  type ClientOptions,
  clientCredentials,
  createClient,
  deviceLogin,
  LoginNeeded,
  loopbackLogin,
  type StoredTokens,
  tokens,
} from '../../src/client/exports.ts'
import type { UnshownInput } from '../../src/sandbox/service/unshown.ts'
import { sandboxFor } from '../sandbox/support.ts'
import { newFolder } from '../tools/new-folder.ts'
import { json, startService } from '../upstream/service.ts'

const ROOT = join(import.meta.dirname, '../..')

/** A token endpoint that records its forms and gives the listed answers; a number is the status of a failure. */
async function tokenServer(...answers: (object | number)[]) {
  const forms: Record<string, string>[] = []
  const seen: (string | undefined)[] = []
  const { baseUrl } = await startService((request, reply) => {
    if (request.url.endsWith('/oauth/token')) {
      forms.push(Object.fromEntries(new URLSearchParams(request.body)))
      const answer = answers[forms.length - 1]
      if (answer === 0) return reply.socket?.destroy()
      const status = typeof answer === 'number' ? answer : answer ? 200 : 400
      return json(reply, answer === undefined ? { error: 'invalid_grant' } : answer, status)
    }
    seen.push(request.headers.authorization)
    const isOld = request.headers.authorization === 'Bearer old'
    json(reply, isOld ? {} : [], isOld ? 401 : 200)
  })
  return { baseUrl, forms, seen }
}

const machine = () => clientCredentials({ clientId: 'bac_1', clientSecret: 'bas_1', scope: 'broker_mcp' })
const clientOf = (baseUrl: string, auth: Auth, more: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl, auth, retry: { tries: 1 }, ...more })

test('trap 40, trap 41: concurrent calls share one exchange by form, without a refresh token', async () => {
  const { baseUrl, forms } = await tokenServer({ access_token: 'a', expires_in: '3600' })
  const client = clientOf(baseUrl, machine())
  await Promise.all([client.forms(), client.forms(), client.forms()])
  expect(forms).toEqual([{ grant_type: 'client_credentials', client_id: 'bac_1', client_secret: 'bas_1', scope: 'broker_mcp' }])
})

test.each([
  ['a number', { expires_in: 60 }, 31],
  ['a text', { expires_in: '60' }, 31],
  ['nothing', {}, 3_301],
  ['more than an hour', { expires_in: 99_999 }, 3_301],
])('trap 38: a token with a lifetime of %s is renewed before its expiry', async (_, lifetime, seconds) => {
  const { baseUrl, forms } = await tokenServer({ access_token: 'a', ...lifetime }, { access_token: 'b', ...lifetime })
  let now = Date.now()
  const clock = { now: () => now, sleep: () => Promise.resolve() }
  const client = clientOf(baseUrl, machine(), { clock })
  await client.forms()
  now += (seconds - 2) * 1000
  await client.forms()
  expect(forms).toHaveLength(1)
  now += 2_000
  await client.forms()
  expect(forms).toHaveLength(2)
})

test('trap 39: a rejected token is exchanged once, and the request is repeated', async () => {
  const { baseUrl, forms, seen } = await tokenServer({ access_token: 'old' }, { access_token: 'new' })
  expect(await clientOf(baseUrl, machine()).forms()).toEqual([])
  expect(forms).toHaveLength(2)
  expect(seen).toEqual(['Bearer old', 'Bearer new'])
})

test('the token request is repeated for every call, because nothing was sent without a token', async () => {
  const { baseUrl, forms, seen } = await tokenServer(503, 429, 0, { access_token: 'a' })
  const client = clientOf(baseUrl, machine(), { retry: { tries: 4, baseMs: 1 } })
  await client.request('POST', '/broker/anything', { body: {} })
  expect(forms).toHaveLength(4)
  expect(seen).toEqual(['Bearer a'])
})

test('accepts any value in unspecified fields of a token answer', async () => {
  const { baseUrl, seen } = await tokenServer({ access_token: 'a', refresh_token: null, token_type: null, scope: ['broker_mcp'] })
  await clientOf(baseUrl, machine()).forms()
  expect(seen).toEqual(['Bearer a'])
})

test('uses the tokens of another process that has used the refresh token', async () => {
  const { baseUrl, forms, seen } = await tokenServer()
  const pairs: StoredTokens[] = [
    { accessToken: 'x', refreshToken: 'one', renewAtMs: 0 },
    { accessToken: 'a', refreshToken: 'two', renewAtMs: Date.now() + 3_000_000 },
  ]
  const load = async () => pairs.shift() ?? null
  await clientOf(baseUrl, tokens({ load, store: async () => {}, clientId: 'app' })).forms()
  expect(forms.map((form) => form['refresh_token'])).toEqual(['one'])
  expect(seen).toEqual(['Bearer a'])
})

test('stores a rotated pair before using it, and stores it first after a failed store', async () => {
  const { baseUrl, forms } = await tokenServer({ access_token: 'a', refresh_token: 'two' })
  const stored: StoredTokens[] = [{ accessToken: 'x', refreshToken: 'one', renewAtMs: 0 }]
  let fails = true
  const store = async (next: StoredTokens) => {
    if (fails) throw new Error('the disk is full')
    stored.push(next)
  }
  const client = clientOf(baseUrl, tokens({ load: async () => stored.at(-1) ?? null, store, clientId: 'app' }))
  await expect(client.forms()).rejects.toThrow('the disk is full')
  fails = false
  expect(await client.forms()).toEqual([])
  expect(forms).toEqual([{ grant_type: 'refresh_token', refresh_token: 'one', client_id: 'app' }])
  expect(stored.at(-1)).toMatchObject({ accessToken: 'a', refreshToken: 'two' })
})

test('after a kill before the store, tries the old pair, and throws LoginNeeded if it is used up', async () => {
  const { baseUrl, forms } = await tokenServer({ access_token: 'a', refresh_token: 'two' })
  const folder = newFolder()
  const file = join(folder, 'tokens.json')
  const child = spawn(process.execPath, [join(ROOT, 'test/client/token-child.ts'), baseUrl, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child, 'exit')
  expect(child.signalCode).toBe('SIGKILL')
  const kept = JSON.parse(readFileSync(file, 'utf8')) as StoredTokens
  expect(kept.refreshToken).toBe('one')
  const client = clientOf(baseUrl, tokens({ load: async () => kept, store: async () => {}, clientId: 'app' }))
  await expect(client.forms()).rejects.toThrow(LoginNeeded)
  expect(forms.map((form) => form['refresh_token'])).toEqual(['one', 'one', 'one'])
})

/** An app registered with a sandbox, and functions to approve its device codes. */
async function deskApp(unshown: UnshownInput = {}) {
  const sandbox = await sandboxFor({ unshown })
  const email = sandbox.account('default').users[1]?.email ?? ''
  const post = async (url: string, body: object) => {
    const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
    expect(answer.ok).toBe(true)
    return answer
  }
  const app = { client_name: 'desk', redirect_uris: ['http://127.0.0.1/callback'] }
  const registered = await post(`${sandbox.baseUrl}/oauth/register`, app)
  const { client_id: clientId } = (await registered.json()) as { client_id: string }
  const prompts: string[] = []
  const approve = async (user_code: string | undefined) => void (await post(`${sandbox.origin}/_sandbox/approve`, { user_code, email }))
  const prompt = async ({ user_code }: { user_code: string }) => {
    prompts.push(user_code)
    await approve(user_code)
  }
  const clock = { now: () => Date.now(), sleep: () => Promise.resolve() }
  const endSessions = () => {
    for (const id of [...sandbox.grants.sessions.list('default').keys()]) sandbox.grants.sessions.end(id)
  }
  return { sandbox, email, clock, prompts, approve, endSessions, login: { clientId, scope: 'broker_mcp', prompt } }
}

test('logs in with a device code', async () => {
  const { sandbox, email, clock, login } = await deskApp()
  const client = clientOf(sandbox.baseUrl, deviceLogin(login), { clock })
  expect(await client.me()).toMatchObject({ kind: 'user', email })
})

test.each(['rfc6749', 'detail_text'])(
  'errors as %s: polls until the device is approved, and logs in again after the grant has expired',
  async (form) => {
    const { sandbox, email, prompts, approve, endSessions, login } = await deskApp({ oauth_errors: form })
    let waits = 0
    // Approved after the first poll.
    const sleep = async () => {
      if (++waits % 2 === 0) await approve(prompts.at(-1))
    }
    const prompt = ({ user_code }: { user_code: string }) => void prompts.push(user_code)
    const client = clientOf(sandbox.baseUrl, deviceLogin({ ...login, prompt }), { clock: { now: () => Date.now(), sleep } })
    for (const logins of [1, 2]) {
      expect(await client.me()).toMatchObject({ kind: 'user', email })
      expect([prompts.length, waits]).toEqual([logins, 2 * logins])
      endSessions()
    }
  },
)

const pair = { accessToken: 'a', refreshToken: 'one', renewAtMs: 0 }
test.each([
  { of: 'a machine', auth: machine, answers: [{ access_token: 'a', expires_in: 60 }, 503, 0] },
  { of: 'a user', auth: () => tokens({ load: async () => pair, store: async () => {}, clientId: 'app' }), answers: [503, 0, 503] },
])('the token of $of is used until it is rejected if the renewal fails', async ({ auth, answers }) => {
  const { baseUrl, forms, seen } = await tokenServer(...answers)
  let now = Date.now()
  const client = clientOf(baseUrl, auth(), { clock: { now: () => now, sleep: () => Promise.resolve() } })
  for (let call = 0; call < 3; call++) {
    await client.forms()
    now += 40_000
  }
  expect(forms).toHaveLength(3)
  expect(seen).toEqual(['Bearer a', 'Bearer a', 'Bearer a'])
})

test('repeats a failed poll for the same device code', async () => {
  const { sandbox, email, clock, prompts, login } = await deskApp()
  let polls = 0
  const flaky: typeof fetch = async (url, init) => {
    if (String(init?.body).includes('device_code=')) polls++
    if (polls === 1) throw new TypeError('fetch failed')
    return polls === 2 ? new Response('', { status: 503 }) : await fetch(url, init)
  }
  const client = clientOf(sandbox.baseUrl, deviceLogin(login), { clock, fetch: flaky, retry: { tries: 4, baseMs: 1 } })
  expect(await client.me()).toMatchObject({ kind: 'user', email })
  expect(polls).toBe(3)
  expect(prompts).toHaveLength(1)
})

test('logs in again after the grant has expired, with stored tokens and in memory', async () => {
  const { sandbox, email, clock, prompts, endSessions, login } = await deskApp()
  let stored: StoredTokens | null = { accessToken: 'gone', refreshToken: 'gone', renewAtMs: 0 }
  const kept = {
    load: async () => stored,
    store: async (next: StoredTokens) => {
      stored = next
    },
  }
  const client = clientOf(sandbox.baseUrl, deviceLogin({ ...login, tokens: kept }), { clock })
  expect(await client.me()).toMatchObject({ kind: 'user', email })
  expect(prompts).toHaveLength(1)
  expect(stored).not.toMatchObject({ refreshToken: 'gone' })
  const inMemory = clientOf(sandbox.baseUrl, deviceLogin(login), { clock })
  await inMemory.me()
  expect(prompts).toHaveLength(2)
  endSessions()
  expect(await inMemory.me()).toMatchObject({ kind: 'user', email })
  expect(prompts).toHaveLength(3)
})

test('logs in through a browser, with a self-registered client', async () => {
  const sandbox = await sandboxFor()
  const email = sandbox.account('default').users[1]?.email ?? ''
  const open = async (url: string) => {
    const approval = new URL(`${sandbox.origin}/_sandbox/authorize-as`)
    approval.search = new URL(url).search
    approval.searchParams.set('email', email)
    const answer = await fetch(approval, { redirect: 'follow' })
    expect(answer.ok).toBe(true)
  }
  const client = clientOf(sandbox.baseUrl, loopbackLogin({ scope: 'broker_mcp', open }))
  expect(await client.me()).toMatchObject({ kind: 'user', email })
})

test('rejects the redirect of another login, and reports a rejected login', async () => {
  const sandbox = await sandboxFor()
  const pages: (readonly [number, string])[] = []
  const open = async (url: string) => {
    const { searchParams } = new URL(url)
    const back = searchParams.get('redirect_uri')
    for (const state of ['another', searchParams.get('state')]) {
      const page = await fetch(`${back}?error=access_denied&state=${state}`)
      pages.push([page.status, await page.text()])
    }
  }
  const client = clientOf(sandbox.baseUrl, loopbackLogin({ open }))
  await expect(client.me()).rejects.toThrow('The login was rejected (access_denied)')
  expect(pages).toEqual([
    [400, 'This redirect belongs to another login.'],
    [200, 'The login was rejected. You can close this page.'],
  ])
})
