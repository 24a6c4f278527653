import { expect, test } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { ask as askWith, Client, me, sandboxFor } from '../support.ts'

type Body = Record<string, unknown>

const ask = (sandbox: Sandbox, method: string, path: string, body?: object, token?: string) =>
  askWith(sandbox, path, body, { method, headers: token ? { authorization: `Bearer ${token}` } : {} })

const tokenOf = async (answer: Response) => ((await answer.json()) as { access_token: string }).access_token

test('a brokerage has at most ten active keys; revoking one blocks new tokens and frees its place', async () => {
  const sandbox = await sandboxFor({ accounts: [{ name: 'acme' }, { name: 'zenith' }] })
  const client = new Client(sandbox, 'acme')
  const made: Body[] = []
  for (let n = 3; n <= 10; n++) made.push((await ask(sandbox, 'POST', '/keys', { account: 'acme', label: `key ${n}` })).body)
  const listed = (await ask(sandbox, 'GET', '/keys?account=acme')).body['keys'] as Body[]
  expect(listed.filter((key) => key['active'])).toHaveLength(10)
  expect(JSON.stringify(listed)).not.toContain('bas_')
  expect(await ask(sandbox, 'POST', '/keys', { account: 'acme' })).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining('10') },
  })
  expect((await ask(sandbox, 'POST', '/keys', { account: 'zenith' })).status).toBe(200)

  const [{ client_id, client_secret }] = made as [{ client_id: string; client_secret: string }]
  const token = await tokenOf(await client.exchange({ client_id, client_secret }))
  expect(await ask(sandbox, 'DELETE', `/keys?account=acme&client_id=${client_id}`)).toMatchObject({ status: 200, body: { active: false } })
  expect((await client.exchange({ client_id, client_secret })).status).toBe(401)
  const headers = { authorization: `Bearer ${token}` }
  expect((await fetch(`${sandbox.baseUrl}/broker/submissions/${crypto.randomUUID()}/events`, { headers })).status).toBe(404)
  expect((await fetch(`${sandbox.baseUrl}/broker/me`, { headers })).status).toBe(403)
  expect((await ask(sandbox, 'POST', '/keys', { account: 'acme' })).status).toBe(200)
  expect((await ask(sandbox, 'DELETE', '/keys', { account: 'acme', client_id: 'bac_unknown' })).status).toBe(400)
})

test("a broker creates read-only keys, an admin others too; a key's scopes cap its tokens", async () => {
  const sandbox = await sandboxFor()
  const client = new Client(sandbox)
  const [admin, broker] = sandbox.account('default').users.map(({ email }) => email)
  expect((await ask(sandbox, 'POST', '/keys', { email: broker, scope: 'broker_mcp broker_submit' })).status).toBe(403)
  expect((await ask(sandbox, 'POST', '/keys', { email: admin, scopes: ['broker_submit'] })).body).toMatchObject({ scope: 'broker_submit' })
  const { body } = await ask(sandbox, 'POST', '/keys', { email: broker, scope: 'broker_mcp' })
  const key = body as { client_id: string; client_secret: string }
  expect((await client.exchange({ ...key, scope: 'broker_submit' })).status).toBe(400)
  expect((await client.exchange({ ...key, scope: 'broker_mcp' })).status).toBe(200)
  for (const wrong of [{ scope: 'broker_everything' }, { scope: '' }, { email: 'nobody@x.invalid' }, { account: 'nobody' }, { odd: 1 }]) {
    expect((await ask(sandbox, 'POST', '/keys', wrong)).status, JSON.stringify(wrong)).toBe(400)
  }
})

test('a machine token cannot manage keys or webhook endpoints, a portal session can', async () => {
  const sandbox = await sandboxFor()
  const [, broker] = sandbox.account('default').users.map(({ email }) => email)
  const machine = await tokenOf(await new Client(sandbox).exchange())
  const portal = (await ask(sandbox, 'POST', '/portal-session', { email: broker })).body['access_token'] as string
  for (const [method, path, body] of [
    ['GET', '/keys', undefined],
    ['POST', '/keys', { scope: 'broker_mcp' }],
    ['DELETE', '/keys/bac_any', undefined],
    ['POST', '/target', { account: 'default', target: null }],
  ] as const) {
    expect((await ask(sandbox, method, path, body, machine)).status, path).toBe(403)
    expect((await ask(sandbox, method, path, body, 'unknown')).status, path).toBe(401)
  }
  expect((await ask(sandbox, 'POST', '/keys', { scope: 'broker_mcp' }, portal)).status).toBe(200)
  expect((await ask(sandbox, 'POST', '/keys', {}, portal)).status).toBe(403)
})

test('the identity of a user has its own shape, and is refused for an inactive one', async () => {
  const sandbox = await sandboxFor({ accounts: [{ name: 'default', brokerage: { id: 'b-1', name: 'Summit' } }] })
  const added = { email: 'Ana@Summit.invalid', role: 'admin', full_name: 'Ana Admin' }
  expect((await ask(sandbox, 'POST', '/users', added)).body).toMatchObject({ email: 'ana@summit.invalid', role: 'admin', active: true })
  const session = await ask(sandbox, 'POST', '/portal-session', { email: 'ana@summit.invalid' })
  const whoami = () => me(sandbox, session.body.access_token)
  expect((await whoami()).body).toEqual({
    kind: 'user',
    id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    email: 'ana@summit.invalid',
    full_name: 'Ana Admin',
    role: 'admin',
    brokerage: { id: 'b-1', name: 'Summit' },
    active_states: null,
  })
  await ask(sandbox, 'POST', '/users', { email: 'ana@summit.invalid', role: 'broker', active: false })
  expect((await whoami()).status).toBe(403)
  expect((await ask(sandbox, 'POST', '/portal-session', { email: 'ana@summit.invalid' })).status).toBe(400)
  const users = (await ask(sandbox, 'GET', '/users')).body['users'] as Body[]
  expect(users.map(({ email, role }) => [email, role])).toEqual([
    ['admin@summit.invalid', 'admin'],
    ['producer@summit.invalid', 'broker'],
    ['ana@summit.invalid', 'broker'],
  ])
  expect((await ask(sandbox, 'POST', '/users', { email: 'no address', role: 'admin' })).status).toBe(400)
})
