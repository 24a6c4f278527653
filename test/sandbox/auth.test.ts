import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { Client, sandboxFor } from './support.ts'

test('a form-encoded client-credentials exchange gives a bearer token', async () => {
  const sandbox = await sandboxFor()
  const answer = await new Client(sandbox).exchange({ scope: 'broker_mcp' })
  expect(answer.status).toBe(200)
  expect(await answer.json()).toMatchObject({
    access_token: expect.any(String),
    token_type: 'Bearer',
    expires_in: 3600,
    scope: 'broker_mcp',
  })
  expect(sandbox.stats().tokensMinted).toBe(1)
})

test('a token answer may contain only the token, or expires_in as text', async () => {
  const without = await sandboxFor({ unshown: { expires_in: 'absent' } })
  expect(await (await new Client(without).exchange()).json()).toEqual({ access_token: expect.any(String) })
  const asText = await sandboxFor({ unshown: { expires_in: 'text' } })
  expect(await (await new Client(asText).exchange()).json()).toHaveProperty('expires_in', '3600')
})

test('an exchange without grant_type, or as JSON, is answered 422 with a list of problems', async () => {
  const sandbox = await sandboxFor()
  const { clientId, clientSecret } = sandbox.account('default').credentials[0] ?? { clientId: '', clientSecret: '' }
  const bodies: RequestInit[] = [
    { body: new URLSearchParams({ client_id: clientId }) },
    {
      body: JSON.stringify({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
      headers: { 'content-type': 'application/json' },
    },
  ]
  for (const init of bodies) {
    const answer = await fetch(`${sandbox.baseUrl}/oauth/token`, { method: 'POST', ...init })
    expect(answer.status).toBe(422)
    expect(await answer.json()).toEqual({ detail: [{ loc: ['body', 'grant_type'], msg: expect.any(String), type: 'missing' }] })
  }
})

test("a wrong secret, an unknown scope and one above the key's ceiling are refused; the default is all scopes of the key", async () => {
  const sandbox = await sandboxFor()
  const client = new Client(sandbox)
  const { clientId: client_id, clientSecret: client_secret } = sandbox.account('default').readOnly
  const scopeOf = async (answer: Response) => ((await answer.json()) as { scope?: string }).scope
  expect((await client.exchange({ client_secret: 'bas_wrong' })).status).toBe(401)
  expect(await scopeOf(await client.exchange())).toBe('broker_mcp broker_submit')
  expect(await scopeOf(await client.exchange({ scope: 'broker_submit' }))).toBe('broker_submit')
  expect(await scopeOf(await client.exchange({ client_id, client_secret }))).toBe('broker_mcp')
  for (const scope of ['broker_submit', 'broker_mcp broker_submit', 'everything', '']) {
    expect((await client.exchange({ client_id, client_secret, scope })).status, scope).toBe(400)
  }
})

test('a fault can expire a token early', async () => {
  const clock = new ManualClock()
  const sandbox = await sandboxFor({ clock, faults: [{ kind: 'token_dies_early', ms: 500, count: 1 }] })
  const client = await new Client(sandbox).login()
  clock.advance(500)
  expect((await client.get('/broker/me')).status).toBe(401)
  await client.login()
  clock.advance(500)
  expect((await client.get('/broker/me')).status).toBe(200)
})

test('a revoked credential gets no new token; its token still reads, but its identity is refused', async () => {
  const sandbox = await sandboxFor()
  const submissionId = sandbox.addSubmission('default')
  const client = await new Client(sandbox).login()
  const second = sandbox.access.createKey(sandbox.account('default'))
  sandbox.access.revokeKey(sandbox.account('default'), sandbox.account('default').credentials[0]?.clientId ?? '')
  expect((await client.exchange()).status).toBe(401)
  expect((await client.page('events', submissionId)).status).toBe(200)
  expect((await client.get('/broker/me')).status).toBe(403)
  expect((await client.exchange({ client_id: second.clientId, client_secret: second.clientSecret })).status).toBe(200)
  sandbox.tokens.expireAll('default')
  expect((await client.page('events', submissionId)).status).toBe(401)
})

test('the identity contains the machine credential and its brokerage', async () => {
  const sandbox = await sandboxFor({ accounts: [{ name: 'default', brokerage: { id: 'b-1', name: 'Summit' } }] })
  const client = await new Client(sandbox).login()
  const { clientId } = sandbox.account('default').credentials[0] ?? { clientId: '' }
  expect(clientId).toMatch(/^bac_/)
  expect(await (await client.get('/broker/me')).json()).toEqual({
    kind: 'api_client',
    client_id: clientId,
    label: expect.any(String),
    scope: 'broker_mcp broker_submit',
    brokerage: { id: 'b-1', name: 'Summit' },
    active_states: null,
  })
  sandbox.account('default').brokerage = { id: 'b-2', name: 'Other' }
  expect(await (await client.get('/broker/me')).json()).toMatchObject({ brokerage: { id: 'b-2' } })
})

test('refusals before routing have a detail too', async () => {
  const { baseUrl } = await sandboxFor()
  const misspelt = await fetch(`${baseUrl}/broker/submissions/%zz/events`)
  const untyped = await fetch(`${baseUrl}/broker/intake`, { method: 'POST', headers: { 'content-type': 'nonsense' }, body: 'x' })
  expect([misspelt.status, untyped.status]).toEqual([400, 400])
  for (const answer of [misspelt, untyped]) expect(await answer.json()).toEqual({ detail: expect.any(String) })
})

test('every write is refused without its scope, and recorded', async () => {
  const sandbox = await sandboxFor({ submissions: 1 })
  const client = await new Client(sandbox).login({ scope: 'broker_mcp' })
  const [id] = sandbox.submissionIds('default')
  const writes = [
    ['POST', '/broker/submissions'],
    ['POST', `/broker/submissions/${id}/thread`],
    ['PUT', '/broker/market-access/program-line'],
  ] as const
  for (const [method, path] of writes) {
    const answer = await client.get(path, { method, body: JSON.stringify({ body: 'hello' }) })
    expect(answer.status).toBe(403)
    expect(await answer.json()).toHaveProperty('detail')
  }
  expect(sandbox.activity.writes.map(({ method, url }) => [method, url])).toEqual(
    writes.map(([method, path]) => [method, `/api/v1${path}`]),
  )
  expect((await fetch(`${sandbox.baseUrl}/broker/submissions`, { method: 'POST' })).status).toBe(401)
  expect(sandbox.activity.writes).toHaveLength(writes.length + 1)
})
