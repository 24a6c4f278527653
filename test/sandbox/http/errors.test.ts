import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { openApiDocument } from '../../../src/client/openapi/document.ts'
import { conditionsOf, type Operation } from '../../../src/client/openapi/operation.ts'
import { operations } from '../../../src/client/openapi/operations.ts'
import { programs } from '../../../src/sandbox/world/catalogue.ts'
import { Described } from '../../tools/described.ts'
import { type PlainRequest, plainRequest } from '../../tools/plain-request.ts'
import { Contract, listedErrors } from '../contract.ts'
import { sandboxFor } from '../support.ts'
import { brief, create, passTime, Writer } from '../writer.ts'

const NOBODYS = '00000000-0000-4000-8000-000000000000'
const PDF = new TextEncoder().encode('%PDF-1.7')
const TOO_LARGE = 25 * 1024 * 1024 + 1

const bodies: Readonly<Record<string, object>> = {
  createSubmission: brief('Harrow Roofing LLC'),
  postAnswers: { answers: [] },
  postThread: { body: 'Any news?' },
  saveCheckpoint: { operation_id: 'x', expected_answer_revision: -1, expected_schema_fingerprint: '' },
  selectProducts: { program_ids: [NOBODYS], selected_ids: [], expected_revision: -1 },
  createBindRequest: { quote_id: NOBODYS },
  setProgramLine: { program_id: NOBODYS, lob_slug: 'general_liability', enabled: true },
}

async function open() {
  const contract = new Contract()
  const clock = new ManualClock()
  const unshown = { appetite_daily_limit: 2, registrations_per_hour: 2, device_clients: 'registered' }
  const sandbox = await sandboxFor({ clock, unshown, observeAnswer: contract.observe })
  const as = (writer: Writer) => ({
    writer,
    /** A valid call except for its ids and `more`. */
    call: ({ method, path, operationId, body }: Operation, id: string, more: object = {}) => {
      const at = path.replace(/\{\w+\}/g, id)
      const sent = { ...bodies[operationId], ...more }
      if (method === 'GET') return writer.get(at)
      if (method === 'PUT') return writer.send('PUT', at, sent)
      return body?.type === 'multipart/form-data' ? writer.upload(at, { ...sent }, { name: 'a.pdf', bytes: PDF }) : writer.post(at, sent)
    },
  })
  const login = async (scopes: ('broker_mcp' | 'broker_submit')[]) => {
    const { clientId, clientSecret } = sandbox.access.createKey(sandbox.account('default'), { label: undefined, scopes, by: undefined })
    return { clientId, ...as(await new Writer(sandbox).loginWith(clientId, clientSecret)) }
  }
  return {
    contract,
    sandbox,
    login,
    own: await login(['broker_mcp', 'broker_submit']),
    producer: as(new Writer(sandbox).signIn('producer')),
    admin: as(new Writer(sandbox).signIn('admin')),
    pass: (seconds: number) => passTime(clock, sandbox.schedule, seconds * 1000),
    plain: (request: PlainRequest) => plainRequest(sandbox.baseUrl, request),
  }
}

test('every listed error is returned, with its status and shape', async () => {
  const { contract, sandbox, login, own, producer, admin, pass, plain } = await open()
  const described = new Described(openApiDocument())

  // Refusals before routing are visible only to the client.
  const garbled = async (operation: Operation, condition: 'malformed_request' | 'head_too_large', request: Partial<PlainRequest>) => {
    const { method, path } = operation
    const answer = await plain({ method, path, ...request })
    const found = described.find(method, path)
    expect([condition, found && described.problems(found, answer)]).toEqual([condition, []])
    expect(answer.status).toBe(condition === 'malformed_request' ? 400 : 431)
    contract.seen.add(`${operation.operationId} ${condition}`)
  }
  for (const operation of operations) {
    const { path } = operation
    const unreadable = path.includes('{') ? { path: path.replace(/\{\w+\}/, '%zz') } : { headers: { 'content-length': 'many' } }
    await garbled(operation, 'malformed_request', unreadable)
    await garbled(operation, 'head_too_large', { path: `${path.replace(/\{\w+\}/g, NOBODYS)}?${'x'.repeat(20_000)}` })
  }

  const id = await create(own.writer, 'Harrow Roofing LLC')
  pass(360)
  const powerless = await login([])
  for (const operation of operations) {
    const { method, path } = operation
    const at = path.replace(/\{\w+\}/g, NOBODYS)
    const some = operation.role ? admin : operation.isPortalSessionOnly ? producer : own
    const lists = (name: ReturnType<typeof conditionsOf>[number]) => conditionsOf(operation).includes(name)
    if (lists('missing_token')) await plain({ method, path: at })
    if (lists('missing_scope')) await powerless.call(operation, NOBODYS)
    if (lists('body_too_large')) await plain({ method, path: at, headers: { 'content-length': 41 * 1024 * 1024 } })
    if (lists('invalid_id')) await some.call(operation, 'a'.repeat(300))
    if (lists('not_found')) await some.call(operation, NOBODYS)
    if (lists('no_producer')) await own.call(operation, id, { text: 'Elsewhere LLC', producer_email: 'nobody@example.com' })
    if (lists('invalid_cursor')) await own.writer.get(`${at.replace(NOBODYS, id)}?since=nonsense`)
    if (lists('bad_limit')) await own.writer.get(`${at.replace(NOBODYS, id)}?limit=many`)
    if (lists('file_exists')) await own.call(operation, id, { text: 'Harrow Roofing LLC' })
    if (lists('daily_limit')) await own.writer.get('/broker/appetite?q=x')
    // A form instead of JSON, and JSON instead of a form.
    const isForm = operation.body?.type === 'multipart/form-data'
    if (method === 'GET') await own.writer.get(at)
    else if (isForm) await some.writer.send(method, at.replaceAll(NOBODYS, id), {})
    else await plain({ method, path: at.replaceAll(NOBODYS, id), headers: some.writer.headers, body: '{' })
  }
  await own.writer.get('/broker/appetite?q=x')
  await own.writer.post('/broker/appetite/search')

  const form = (path: string, fields: Record<string, string>) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    return plain({ method: 'POST', path, headers, body: new URLSearchParams(fields).toString() })
  }
  const register = (uri: string) => own.writer.send('POST', '/oauth/register', { redirect_uris: [uri] })
  await plain({ method: 'GET', path: '/oauth/authorize?client_id=nobody' })
  await form('/oauth/token', {})
  await form('/oauth/token', { grant_type: 'refresh_token', refresh_token: 'nonsense' })
  await form('/oauth/token', { grant_type: 'client_credentials', client_id: 'nobody' })
  await form('/oauth/device_authorization', {})
  await form('/oauth/device_authorization', { client_id: 'nobody', scope: 'nonsense' })
  await form('/oauth/device_authorization', { client_id: 'nobody' })
  await register('nonsense')
  await register('https://app.example/callback')
  await register('https://app.example/callback')
  const revoked = await login(['broker_mcp'])
  sandbox.access.revokeKey(sandbox.account('default'), revoked.clientId)
  await revoked.writer.get('/broker/me')

  const mailing_address = { line1: '1 Main St', city: 'Reno', state: 'NV', zip: '89501' }
  await own.writer.post('/broker/submissions', brief('One LLC', { mode: 'rater' }))
  await own.writer.post('/broker/submissions', brief('One LLC', { insured_id: NOBODYS }))
  await own.writer.post('/broker/submissions', brief('One LLC', { applicant: { insured_name: 'One LLC', mailing_address } }))

  const at = `/broker/submissions/${id}`
  await own.writer.post(`${at}/thread`, { body: ' ' })
  await own.writer.post(`${at}/thread`, { body: 'See this', document_ids: [NOBODYS] })
  const upload = (path: string, size: number) => {
    const bytes = new Uint8Array(size)
    bytes.set(PDF.slice(0, size))
    return own.writer.upload(path, {}, { name: 'a.pdf', bytes })
  }
  await upload(`${at}/documents`, 0)
  await upload(`${at}/documents`, TOO_LARGE)
  const { body: document } = await upload(`${at}/documents`, PDF.length)
  sandbox.faults.set([{ kind: 'pdf_unavailable' }, { kind: 'application_busy', count: 1 }])
  await own.writer.get(document.download_path)

  const [application] = (await own.writer.get(`${at}/application-workspace`)).body.applications
  const checkpoint = (answer_revision: number) =>
    own.writer.post(`${at}/applications/${application.application_id}/checkpoint`, {
      operation_id: 'x',
      expected_answer_revision: answer_revision,
      field_changes: { classification: 'pirate' },
      expected_schema_fingerprint: application.schema_fingerprint,
    })
  await checkpoint(application.answer_revision)
  await checkpoint(application.answer_revision)
  await checkpoint(-1)
  const selection = { ...bodies['selectProducts'] }
  await own.writer.send('PUT', `${at}/application-workspace/quote-products`, selection)
  await producer.writer.send('PUT', `${at}/application-workspace/quote-products`, selection)
  await producer.writer.send('PUT', '/broker/market-access/program-line', {})
  const line = { program_id: programs[0]?.programId, lob_slug: 'aviation', enabled: true }
  await admin.writer.send('PUT', '/broker/market-access/program-line', line)

  const laneOf = async () =>
    (await own.writer.get(`${at}/requirements`)).body.rail.lanes.find(({ quotes }: { quotes: object[] }) => quotes.length > 0)
  const { submission_market_id: lane_id, quotes } = await laneOf()
  const bind = (quote_id: string, more: object = {}) => own.writer.post(`${at}/bind-requests`, { quote_id, ...more })
  await bind(quotes[0].quote_id)
  const { body: draft } = await bind(quotes[0].quote_id, { attest_assumptions: true })
  const item = `${at}/bind-requests/${draft.bind_request_id}/contingencies/${draft.contingencies[0].id}/document`
  await upload(item, 0)
  await upload(item, TOO_LARGE)
  await own.writer.admin('/bind', { bind_request_id: draft.bind_request_id, to: 'sent' })
  await upload(item, PDF.length)
  await own.writer.admin('/quotes', { submission_id: id, lane_id, firm: false })
  await bind(quotes[0].quote_id)
  await bind((await laneOf()).quotes.at(-1).quote_id)

  expect(contract.problems).toEqual([])
  expect([...listedErrors].filter((listed) => !contract.seen.has(listed))).toEqual([])
})
