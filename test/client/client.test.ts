import { expect, test } from 'vitest'
import {
  bearer,
  type Client,
  clientCredentials,
  createClient,
  FileExists,
  Forbidden,
  RateLimited,
  ServiceError,
  StaleApplication,
  Unreachable,
  ValidationError,
} from '../../src/client/exports.ts'
import type { UnshownInput } from '../../src/sandbox/service/unshown.ts'
import { brief, world } from '../sandbox/writer.ts'
import { json, startService } from '../upstream/service.ts'

async function signedIn(unshown: UnshownInput = {}) {
  const made = await world({ unshown })
  const { clientId = '', clientSecret = '' } = made.sandbox.account('default').credentials[0] ?? {}
  const auth = clientCredentials({ clientId, clientSecret })
  const client = createClient({ baseUrl: made.sandbox.baseUrl, auth, producerEmail: made.writer.producer })
  return { ...made, client }
}

/** A server with a list of answers. @returns a client for it, and the received requests. */
async function answering(...answers: { status: number; body?: string; headers?: Record<string, string> }[]) {
  const asked: { url: string; authorization: string | undefined; key: unknown }[] = []
  const { baseUrl } = await startService((request, reply) => {
    asked.push({ url: request.url, authorization: request.headers.authorization, key: request.headers['idempotency-key'] })
    const { status, body = '', headers = {} } = answers[Math.min(asked.length, answers.length) - 1] ?? { status: 500 }
    reply.writeHead(status, headers).end(body)
  })
  return { client: createClient({ baseUrl, auth: bearer('secret'), retry: { baseMs: 1 } }), asked }
}

async function collected<T>(entries: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const entry of entries) all.push(entry)
  return all
}

const ID = '0b9f6c1e-1111-4222-8333-444455556666'

test('creates a submission, posts to its thread, and reads its feeds', async () => {
  const { client, pass } = await signedIn()
  const { submission_id: id } = (await client.submissions.create(brief('Harrow Roofing LLC'))) as { submission_id: string }
  pass(360)
  expect((await client.submissions.requirements(id)).submission_id).toBe(id)
  await client.submissions.post(id, { body: 'Please go on.' })
  const events = client.submissions.allEvents(id)
  expect((await collected(events)).length).toBeGreaterThan(0)
  expect((await collected(client.submissions.allMessages(id))).map(({ body_text }) => body_text)).toContain('Please go on.')
})

test('sends the cursor and the limit of a feed page', async () => {
  const { client, asked } = await answering(
    { status: 200, body: JSON.stringify({ events: [], next_cursor: null }) },
    { status: 200, body: JSON.stringify({ messages: [], next_cursor: null }) },
  )
  const page = { since: 'a b/+=&', limit: 7 }
  await client.submissions.events(ID, page)
  await client.submissions.thread(ID, page)
  const given = asked.map(({ url }) => Object.fromEntries(new URL(url, 'http://localhost').searchParams))
  expect(given).toEqual([
    { since: 'a b/+=&', limit: '7' },
    { since: 'a b/+=&', limit: '7' },
  ])
})

test.each(['', 'a\u2013b', ' a', 'k'.repeat(129)])('rejects an invalid idempotency key before sending: %j', async (key) => {
  const { client, asked } = await answering({ status: 200, body: '{}' })
  await expect(async () => client.submissions.post(ID, { body: 'x' }, { idempotencyKey: key })).rejects.toThrow(RangeError)
  expect(asked).toEqual([])
})

test('trap 53: the 409 of a live file names its submission', async () => {
  const { client } = await signedIn()
  const first = (await client.submissions.create(brief('Harrow Roofing LLC'))) as { submission_id: string }
  const error = await client.submissions.create(brief('Harrow Roofing LLC')).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(FileExists)
  expect(error).toMatchObject({ status: 409, code: 'service_file_exists', submissionId: first.submission_id })
})

test.each(['', '<html>no</html>', '{}', '{"detail":"no"}', '{"detail":[1]}', '[]', 'null'])(
  'trap 52: the error body %j does not throw',
  async (body) => {
    const { client } = await answering({ status: 400, body })
    const error = await client.me().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ServiceError)
    expect(error).toMatchObject({ status: 400, code: null })
  },
)

test('trap 45: the bearer follows no redirect', async () => {
  const { client, asked } = await answering({ status: 302, headers: { location: '/api/v1/elsewhere' } })
  await expect(client.me()).rejects.toMatchObject({ status: 302 })
  expect(asked).toMatchObject([{ url: '/api/v1/broker/me', authorization: 'Bearer secret' }])
})

test.each(['https://other.test/x', '//other.test/x', '/a/../x', '/a/%2e%2e/x'])('trap 76: %s is not downloaded', async (path) => {
  const { client, asked } = await answering({ status: 200 })
  await expect(client.download(path)).rejects.toThrow('leads to another address')
  expect(asked).toEqual([])
})

test.each(['/oauth/token', 'broker/appetite?q=x', '/broker/%61ppetite'])('trap 44, trap 55: %s is not downloaded', async (path) => {
  const { client, asked } = await answering({ status: 200 })
  await expect(client.download(path)).rejects.toThrow('Not a document path')
  expect(asked).toEqual([])
})

test.each<[string, (client: Client) => unknown]>([
  ['narrative', ({ submissions }) => submissions.create(brief('Harrow Roofing LLC', { narrative: ' ' }))],
  ['applicant.insured_name', ({ submissions }) => submissions.create(brief(' '))],
  ['lines_of_business', ({ submissions }) => submissions.create(brief('Harrow Roofing LLC', { lines_of_business: 'gl' }))],
  ['body', ({ submissions }) => submissions.post(ID, { body: ' \n' })],
  ['answers.0.key', ({ submissions }) => submissions.answer(ID, [{ key: 1 as never, value: 1 }])],
  ['form_keys', ({ submissions }) => submissions.formFill(ID, { form_keys: 'acord' as never })],
  ['operation_id', ({ submissions }) => submissions.checkpoint(ID, ID, { operation_id: ' ' } as never)],
  ['program_ids', ({ submissions }) => submissions.quoteProducts(ID, { program_ids: [], selected_ids: [], expected_revision: 1 })],
  ['quote_id', ({ bind }) => bind.create(ID, { quote_id: '' })],
])('a body with an invalid %s is not sent', async (field, call) => {
  const { client, asked } = await answering({ status: 200 })
  await expect(async () => call(client)).rejects.toThrow(`The specification doesn't allow this body: ${field}: `)
  expect(asked).toEqual([])
})

test('an unspecified null counts as a missing field, a specified null is kept', async () => {
  const lane = { submission_market_id: ID, program: null, program_id: null, next_step: null }
  const body = JSON.stringify({ submission_id: ID, effective_date: null, lines: null, rail: { lanes: [lane] }, assessment: null })
  const { client } = await answering({ status: 200, body })
  expect(await client.submissions.requirements(ID)).toEqual({
    submission_id: ID,
    rail: { lanes: [{ submission_market_id: ID, next_step: null }] },
    assessment: null,
  })
})

test('an answer with null in a required field throws an error with the path of the field', async () => {
  const { client } = await answering({ status: 200, body: '{"applications":[{"application_id":null}]}' })
  await expect(client.submissions.workspace(ID)).rejects.toThrow('applications.0.application_id')
})

test('metadata of the grants is read without a token', async () => {
  const { client } = await signedIn()
  expect(await client.oauthMetadata()).toMatchObject({ token_endpoint: expect.stringContaining('/oauth/token') })
  const { client: other, asked } = await answering({ status: 200, body: '{}' })
  await other.oauthMetadata()
  expect(asked).toMatchObject([{ url: '/api/v1/oauth/.well-known/oauth-authorization-server', authorization: undefined }])
})

test.each(['file', 'documents'])('intake sends its files in the configured form field: %s', async (intake_file_field) => {
  const file = { name: 'a.pdf', content: new Blob(['%PDF-']) }
  for (const given of [{ files: [file], fileField: intake_file_field }, { fields: { [intake_file_field]: file, hold: 'true' } }]) {
    const { client, sandbox } = await signedIn({ intake_file_field })
    const { submission_id } = await client.submissions.intake(given)
    expect(sandbox.submissionIds('default')).toEqual([submission_id])
    await expect(client.submissions.intake({ files: [file] })).rejects.toThrow(ValidationError)
  }
})

test.each(['submission_id', 'id'])('reads the id of a created submission from the field %s', async (create_id_field) => {
  const { client, sandbox } = await signedIn({ create_id_field })
  const { submission_id } = await client.submissions.create(brief('Harrow Roofing LLC'))
  expect(sandbox.submissionIds('default')).toContain(submission_id)
})

test('trap 78: an id that is no uuid is not sent', async () => {
  const { client, asked } = await answering({ status: 200 })
  expect(() => client.policies.get('../me')).toThrow('Not a uuid')
  expect(asked).toEqual([])
})

test('repeats reads and posts with a key, but no other writes', async () => {
  const reading = await answering({ status: 503 }, { status: 200, body: '[]' })
  expect(await reading.client.forms('acord')).toEqual([])
  const posting = await answering({ status: 503 }, { status: 200, body: '{"status":"received"}' })
  await posting.client.submissions.post(ID, { body: 'Hello' })
  expect(posting.asked[1]?.key).toBe(posting.asked[0]?.key)
  const lowercase = await answering({ status: 503 }, { status: 200, body: '[]' })
  expect(await lowercase.client.request('get', '/forms')).toEqual([])
  const { client, asked } = await answering({ status: 503 })
  const { submissions, bind } = client
  const file = { name: 'a.pdf', content: new Blob(['%PDF-']) }
  const writes = [
    () => submissions.create(brief('Harrow Roofing LLC')),
    () => submissions.intake({ text: 'Harrow Roofing LLC', files: [file] }),
    () => submissions.finalize(ID),
    () => submissions.answer(ID, []),
    () => submissions.upload(ID, { file }),
    () => submissions.formFill(ID),
    () => submissions.quoteProducts(ID, { program_ids: [ID], selected_ids: [], expected_revision: 1 }),
    () => bind.upload(ID, ID, ID, { file }),
  ]
  for (const write of writes) await expect(write()).rejects.toMatchObject({ status: 503 })
  expect(asked).toHaveLength(writes.length)
})

test('a refused connection means that nothing was sent', async () => {
  const { baseUrl, close } = await startService(() => undefined)
  await close()
  const client = createClient({ baseUrl, auth: bearer('x'), retry: { tries: 1 } })
  await expect(client.me()).rejects.toSatisfy((error) => error instanceof Unreachable && error.sent === 'no')
})

test('repeats a save while the application is busy, and a stale command returns the current application', async () => {
  const { client, pass, sandbox } = await signedIn()
  const { submission_id: id = '' } = await client.submissions.create(brief('Harrow Roofing LLC'))
  pass(300)
  const { applications = [] } = await client.submissions.workspace(id)
  const [first] = applications
  if (!first) throw new Error('there is no application')
  const command = {
    operation_id: 'op 1',
    expected_answer_revision: first.answer_revision,
    expected_schema_fingerprint: first.schema_fingerprint,
    field_changes: { prior_losses: 'more' },
  }
  sandbox.faults.set([{ kind: 'application_busy', count: 1 }])
  const receipt = await client.submissions.checkpoint(id, first.application_id, command)
  expect(receipt).toMatchObject({ operation_id: 'op 1', applied: ['prior_losses'] })
  expect(sandbox.faults.list()).toMatchObject([{ struck: 1 }])
  expect(await client.submissions.checkpoint(id, first.application_id, command)).toEqual(receipt)
  const error = await client.submissions.checkpoint(id, first.application_id, { ...command, operation_id: 'op 2' }).catch((e: unknown) => e)
  expect(error).toBeInstanceOf(StaleApplication)
  expect(error).toMatchObject({ application: receipt.application })
})

test('a machine is not allowed to select products or set market access; completed forms can be downloaded', async () => {
  const { client, pass } = await signedIn()
  const { submission_id: id = '' } = await client.submissions.create(brief('Harrow Roofing LLC', { hold: true }))
  expect(await client.submissions.finalize(id)).toMatchObject({ status: 'queued', marketing_status: 'matching' })
  const products = { program_ids: [ID], selected_ids: [], expected_revision: 1 }
  await expect(client.submissions.quoteProducts(id, products)).rejects.toBeInstanceOf(Forbidden)
  const line = { program_id: ID, lob_slug: 'general_liability', enabled: true }
  await expect(client.marketAccess.setProgramLine(line)).rejects.toBeInstanceOf(Forbidden)
  expect((await client.forms('acord_125')).map(({ form_key }) => form_key)).toEqual(['acord_125'])
  expect(await client.submissions.formFill(id, { form_keys: [] })).toMatchObject({ forms_assigned: ['acord_125'] })
  pass(180)
  const messages = await collected(client.submissions.allMessages(id))
  const path = messages.flatMap(({ attachments = [] }) => attachments.map(({ download_path }) => download_path)).at(-1)
  const { stream, contentType } = await client.download(path ?? '')
  expect(contentType).toBe('application/pdf')
  expect(await new Response(stream).text()).toMatch(/^%PDF-/)
})

test('a portal session selects products and sets market access', async () => {
  const { client, pass, sandbox } = await signedIn()
  const { submission_id: id = '' } = await client.submissions.create(brief('Harrow Roofing LLC'))
  pass(300)
  const [admin] = sandbox.account('default').users
  if (!admin) throw new Error('the brokerage has no admin')
  const portal = createClient({
    baseUrl: sandbox.baseUrl,
    auth: bearer(sandbox.access.openPortalSession(sandbox.account('default'), admin)),
  })
  const { applications = [] } = await client.submissions.workspace(id)
  const [{ market_program_id: program, selection_revision: expected_revision = 0 } = {}] = applications
  const body = { program_ids: [program ?? ''], selected_ids: [program ?? ''], expected_revision }
  expect(await portal.submissions.quoteProducts(id, body)).toMatchObject({ selected_ids: [program] })
  await expect(portal.submissions.quoteProducts(id, body)).rejects.toMatchObject({ status: 409 })
  const line = { program_id: program ?? '', lob_slug: 'general_liability', enabled: false }
  expect(await portal.marketAccess.setProgramLine(line)).toHaveProperty('programs')
  await expect(portal.marketAccess.setProgramLine({ ...line, lob_slug: 'aviation' })).rejects.toBeInstanceOf(ValidationError)
})

test('trap 55: appetite calls are never repeated, and the daily limit throws RateLimited', async () => {
  const limited = await answering({ status: 503 })
  await expect(limited.client.appetite.read({ q: 'roofing' })).rejects.toMatchObject({ status: 503 })
  await expect(limited.client.appetite.search({ query: 'roofing' })).rejects.toMatchObject({ status: 503 })
  expect(limited.asked).toHaveLength(2)
  const { client } = await signedIn({ appetite_daily_limit: 2 })
  expect(await client.appetite.read({ q: 'cyber', state: 'TX', lob: 'cyber' })).toMatchObject({ query: 'cyber', state: 'TX', lob: 'cyber' })
  expect(await client.appetite.search({ query: 'cyber', lines: ['cyber'] })).toHaveProperty('results')
  await expect(client.appetite.read({ q: 'cyber' })).rejects.toBeInstanceOf(RateLimited)
})

/** A server that records request bodies. */
async function recording() {
  const bodies: string[] = []
  const { baseUrl } = await startService(({ body }, reply) => {
    bodies.push(body)
    json(reply, { bind_request_id: ID, submission_id: ID, status: 'drafted', id: ID })
  })
  return { client: createClient({ baseUrl, auth: bearer('secret'), producerEmail: 'ann@b.example', retry: { tries: 1 } }), bodies }
}

test('every write names the producer of the client or of the call', async () => {
  const { client, bodies } = await recording()
  const { bind, submissions } = client
  const file = new Uint8Array([37])
  const producerEmail = 'ben@b.example'
  const products = { program_ids: [ID], selected_ids: [], expected_revision: 1 }
  const calls: ((other: { producerEmail?: string }) => Promise<unknown>)[] = [
    (other) => submissions.finalize(ID, other),
    (other) => submissions.answer(ID, [], other),
    (other) => submissions.upload(ID, { file, ...other }),
    (other) => submissions.formFill(ID, {}, other),
    (other) => submissions.intake({ text: 'x', ...other }),
    (other) => bind.upload(ID, ID, ID, { file, ...other }),
    ({ producerEmail: of }) => submissions.quoteProducts(ID, { ...products, ...(of !== undefined && { producer_email: of }) }),
    ({ producerEmail: of }) => client.request('post', '/x', { body: of === undefined ? {} : { producer_email: of } }),
    ({ producerEmail: of }) => client.request('PATCH', '/x', { body: of === undefined ? {} : { producer_email: of } }),
  ]
  for (const call of calls) {
    // Some answers lack required fields, which doesn't matter here.
    await call({}).catch(() => undefined)
    expect(bodies.pop()).toMatch(/ann@b\.example/)
    await call({ producerEmail }).catch(() => undefined)
    expect(bodies.at(-1)).not.toMatch(/ann@/)
    expect(bodies.pop()).toMatch(/ben@b\.example/)
  }
  await client.request('POST', '/x', { body: [1] })
  await client.request('POST', '/x')
  await client.request('DELETE', '/x', { body: {} })
  expect(bodies).toEqual(['[1]', '', '{}'])
})

test('an invalid base URL throws immediately', () => {
  for (const baseUrl of ['', 'api.example/api/v1', 'ftp://api.example', 'https://api.example/api/v1?key=1'])
    expect(() => createClient({ baseUrl, auth: bearer('secret') })).toThrow(/^baseUrl must be an http or https URL like .*, not "/)
})

test('an answer without required fields throws a readable error', async () => {
  const { client } = await answering({ status: 200, body: '{"events":[{"id":"1"}]}' })
  await expect(client.submissions.events(ID)).rejects.toThrow(
    /^GET \/broker\/submissions\/\S+ was answered 200 with a body that violates the specification: events\.0\.type: [^{[]*; next_cursor: [^{[]*$/,
  )
})

test('a request to a blocked port counts as not sent', async () => {
  const client = createClient({ baseUrl: 'http://127.0.0.1:6000/api/v1', auth: bearer('secret'), retry: { tries: 1 } })
  await expect(client.me()).rejects.toMatchObject({ name: 'Unreachable', sent: 'no' })
})
