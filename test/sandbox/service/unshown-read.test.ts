import { expect, test } from 'vitest'
import { chosenConditions as statuses } from '../../../src/client/openapi/conditions.ts'
import type { UnshownInput } from '../../../src/sandbox/service/unshown.ts'
import { numbers, words } from '../../../src/sandbox/service/unshown-choices.ts'
import { Endpoint, postForm, type Reply, register as registerClient } from '../support.ts'
import { brief, create, Writer, world } from '../writer.ts'
import { variantProbes } from './variant-probes.ts'

type Made = Awaited<ReturnType<typeof world>>
type Probe = (made: Made) => unknown

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const REDIRECT = 'http://127.0.0.1:4711/callback'
const VERIFIER = 'v'.repeat(43)

const oauth = ({ sandbox }: Made, path: string, form: Record<string, string>) => postForm(sandbox, `/oauth/${path}`, form)

function exchange(made: Made, which: 'own' | 'readOnly', more: Record<string, string> = {}): Promise<Reply> {
  const { credentials, readOnly } = made.sandbox.account('default')
  const { clientId: client_id = '', clientSecret: client_secret = '' } = (which === 'own' ? credentials[0] : readOnly) ?? {}
  return oauth(made, 'token', { grant_type: 'client_credentials', client_id, client_secret, ...more })
}

const statusOf = async (asked: Promise<{ status: number }>) => (await asked).status

const register = ({ sandbox }: Made) => registerClient(sandbox, { client_name: 'desk', redirect_uris: [REDIRECT] })
const device = (made: Made) => oauth(made, 'device_authorization', { client_id: 'cli', scope: 'broker_mcp' })

async function connected(made: Made): Promise<string> {
  const { body } = await device(made)
  await made.writer.admin('/approve', { user_code: body.user_code, email: made.writer.producer })
  const pair = await oauth(made, 'token', { grant_type: DEVICE_GRANT, device_code: body.device_code, client_id: 'cli' })
  return pair.body.refresh_token
}

const refresh = (made: Made, refresh_token: string) =>
  oauth(made, 'token', { grant_type: 'refresh_token', refresh_token, client_id: 'cli' })

async function matched(made: Made) {
  const id = await create(made.writer, 'Harrow Roofing LLC')
  made.pass(360)
  const path = `/broker/submissions/${id}`
  const [application] = (await made.writer.get(`${path}/application-workspace`)).body.applications
  const lanes: { market_name: string; submission_market_id: string; quotes: { quote_id: string }[] }[] = (
    await made.writer.get(`${path}/requirements`)
  ).body.rail.lanes
  return { id, path, application, lane: lanes.find(({ quotes }) => quotes.length > 0) }
}

async function drafted(made: Made, more: object) {
  const { path, lane } = await matched(made)
  return { path, ...(await made.writer.post(`${path}/bind-requests`, { quote_id: lane?.quotes[0]?.quote_id, ...more })) }
}

async function checkpoint(made: Made, more: object): Promise<Reply> {
  const { path, application } = await matched(made)
  const { application_id, answer_revision, schema_fingerprint } = application
  const tokens = { operation_id: 'x', expected_answer_revision: answer_revision, expected_schema_fingerprint: schema_fingerprint }
  return made.writer.post(`${path}/applications/${application_id}/checkpoint`, { ...tokens, ...more })
}

async function upload(made: Made, size: number): Promise<number> {
  const path = `/broker/submissions/${await create(made.writer, 'Harrow Roofing LLC', { hold: true })}/documents`
  return (await made.writer.upload(path, {}, { name: 'a.pdf', bytes: new Uint8Array(size) })).status
}

const appetite = ({ writer }: Made) => statusOf(writer.get('/broker/appetite?q=roofing'))
const programLine = (as: Writer, lob_slug: string, program_id: string) =>
  statusOf(as.send('PUT', '/broker/market-access/program-line', { program_id, lob_slug, enabled: true }))
const someProgram = async ({ writer }: Made): Promise<string> =>
  (await writer.send('POST', '/broker/appetite/search', { query: '' })).body.results[0].programs[0].program_id

const statusProbes: Record<keyof typeof statuses, Probe> = {
  malformed_request: ({ sandbox }) => statusOf(fetch(`${sandbox.baseUrl}/broker/policies/%zz`)),
  head_too_large: ({ sandbox }) => statusOf(fetch(`${sandbox.baseUrl}/broker/me?${'x'.repeat(20_000)}`)),
  body_too_large: ({ sandbox }) =>
    statusOf(fetch(`${sandbox.baseUrl}/oauth/register`, { method: 'POST', body: new Uint8Array(9 * 1024 * 1024) })),
  invalid_id: ({ writer }) => statusOf(writer.get('/broker/policies/seven')),
  invalid_input: ({ writer }) => statusOf(writer.get('/broker/appetite')),
  client_refused: (made) => statusOf(exchange(made, 'own', { client_secret: 'wrong' })),
  open_contingency: async (made) => {
    const { path, body } = await drafted(made, { attest_assumptions: true })
    return statusOf(made.writer.post(`${path}/bind-requests/${body.bind_request_id}/submit`))
  },
  missing_token: ({ sandbox }) => statusOf(fetch(`${sandbox.baseUrl}/broker/me`)),
  missing_scope: async ({ sandbox }) => statusOf((await new Writer(sandbox).login('readOnly')).post('/broker/submissions', {})),
  missing_role: ({ sandbox }) => programLine(new Writer(sandbox).signIn('producer'), 'general_liability', ''),
  portal_session_only: async (made) => {
    const { body } = await exchange(made, 'readOnly')
    const headers = { authorization: `Bearer ${body.access_token}` }
    return statusOf(fetch(`${made.sandbox.origin}/_sandbox/keys`, { headers }))
  },
  inactive_credential: ({ sandbox, writer }) => {
    sandbox.access.revokeKey(sandbox.account('default'), sandbox.account('default').credentials[0]?.clientId ?? '')
    return statusOf(writer.get('/broker/me'))
  },
  invalid_cursor: ({ sandbox, writer }) => statusOf(writer.get(`/broker/submissions/${sandbox.addSubmission('default')}/events?since=x`)),
  bad_limit: ({ sandbox, writer }) => statusOf(writer.get(`/broker/submissions/${sandbox.addSubmission('default')}/events?limit=x`)),
  blank_body: ({ sandbox, writer }) =>
    statusOf(writer.post(`/broker/submissions/${sandbox.addSubmission('default')}/thread`, { body: ' ' })),
  file_too_large: (made) => upload(made, 25 * 1024 * 1024 + 1),
  empty_file: (made) => upload(made, 0),
  daily_limit: async (made) => {
    for (let n = 0; n < FEW; n++) await appetite(made)
    return appetite(made)
  },
  application_busy: async (made) => {
    made.sandbox.faults.set([{ kind: 'application_busy' }])
    return (await checkpoint(made, {})).status
  },
  command_rejected: async (made) => (await checkpoint(made, { field_changes: { classification: 'pirate' } })).status,
  stale_selection: async (made) => {
    const { path, application } = await matched(made)
    const body = { program_ids: [application.market_program_id], selected_ids: [], expected_revision: 0 }
    return statusOf(new Writer(made.sandbox).signIn('producer').send('PUT', `${path}/application-workspace/quote-products`, body))
  },
  not_bindable: async (made) => {
    const { id, path, lane } = await matched(made)
    await made.writer.admin('/quotes', { submission_id: id, lane_id: lane?.submission_market_id, firm: true })
    return statusOf(made.writer.post(`${path}/bind-requests`, { quote_id: lane?.quotes[0]?.quote_id }))
  },
  line_not_listed: async (made) => programLine(new Writer(made.sandbox).signIn('admin'), 'aviation', await someProgram(made)),
  pdf_unavailable: async (made) => {
    const path = `/broker/submissions/${await create(made.writer, 'Harrow Roofing LLC', { hold: true })}/documents`
    const { body } = await made.writer.upload(path, {}, { name: 'a.pdf', bytes: new Uint8Array([37]) })
    made.sandbox.faults.set([{ kind: 'pdf_unavailable' }])
    return statusOf(made.writer.raw(body.download_path))
  },
  grant_refused: (made) => statusOf(refresh(made, 'unknown')),
  registration_limit: async (made) => {
    for (let n = 0; n < FEW; n++) await register(made)
    return statusOf(register(made))
  },
  key_limit: async ({ writer }) => {
    for (let n = 0; n < 8; n++) await writer.admin('/keys', { label: `key ${n}` })
    return statusOf(writer.admin('/keys', { label: 'eleventh' }))
  },
}

const numberProbes: Record<keyof typeof numbers, Probe> = {
  refresh_lifetime_s: async (made) => {
    const token = await connected(made)
    made.pass(60)
    return (await refresh(made, token)).status
  },
  code_lifetime_s: async (made) => {
    const client_id = (await register(made)).body.client_id
    const challenge = Buffer.from(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(VERIFIER))).toString('base64url')
    const asked = { response_type: 'code', client_id, redirect_uri: REDIRECT, code_challenge: challenge, code_challenge_method: 'S256' }
    const query = new URLSearchParams({ ...asked, email: made.writer.producer })
    const sent = await fetch(`${made.sandbox.origin}/_sandbox/authorize-as?${query}`, { redirect: 'manual' })
    const code = new URL(sent.headers.get('location') ?? '').searchParams.get('code') ?? ''
    made.pass(60)
    const grant = { grant_type: 'authorization_code', code, code_verifier: VERIFIER, redirect_uri: REDIRECT, client_id }
    return (await oauth(made, 'token', grant)).status
  },
  device_lifetime_s: async (made) => (await device(made)).body.expires_in,
  device_interval_s: async (made) => (await device(made)).body.interval,
  registrations_per_hour: async (made) => [(await register(made)).status, (await register(made)).status, (await register(made)).status],
  appetite_daily_limit: async (made) => [await appetite(made), await appetite(made), await appetite(made)],
  default_effective_days: async ({ writer }) => {
    const id = await create(writer, 'Harrow Roofing LLC')
    return (await writer.get(`/broker/submissions/${id}/requirements`)).body.effective_date
  },
  busy_retry_after_s: async (made) => {
    made.sandbox.faults.set([{ kind: 'application_busy' }])
    return (await checkpoint(made, {})).headers.get('retry-after')
  },
}

const fields = async (asked: Promise<Reply>) => Object.keys((await asked).body).sort()

const wordProbes: Record<keyof typeof words, Probe> = {
  create_id_field: ({ writer }) => fields(writer.post('/broker/submissions', brief('Harrow Roofing LLC'))),
  thread_post_id_field: ({ sandbox, writer }) =>
    fields(writer.post(`/broker/submissions/${sandbox.addSubmission('default')}/thread`, { body: 'x' })),
  refresh_reuse: async (made) => {
    const first = await connected(made)
    const second = (await refresh(made, first)).body.refresh_token
    await refresh(made, first)
    return (await refresh(made, second)).status
  },
  device_clients: (made) => statusOf(device(made)),
  register_answer: (made) => fields(register(made)),
  bind_submit_path: async (made) => {
    const { path, body } = await drafted(made, { attest_assumptions: true })
    return statusOf(made.writer.post(`${path}/bind-requests/${body.bind_request_id}/submit`))
  },
  bind_submit_status: async (made) => {
    const { path, body } = await drafted(made, { attest_assumptions: true })
    for (const { upload_path } of body.contingencies)
      await made.writer.upload(upload_path, {}, { name: 'a.pdf', bytes: new TextEncoder().encode('%PDF-1.7') })
    return (await made.writer.post(`${path}/bind-requests/${body.bind_request_id}/submit`)).body.status
  },
  conflict_fields: async ({ writer }) => {
    await create(writer, 'Harrow Roofing LLC')
    return fields(writer.post('/broker/submissions', brief('Harrow Roofing LLC')))
  },
  document_upload_limit: (made) => upload(made, 25 * 1024 * 1024 + 1),
  assumptions_field: async (made) => Object.keys((await drafted(made, {})).body.detail).sort(),
  scope_above_ceiling: async (made) => (await exchange(made, 'readOnly', { scope: 'broker_mcp broker_submit' })).status,
  expires_in: async (made) => typeof (await exchange(made, 'own')).body.expires_in,
  announce_late: async ({ sandbox }) => {
    const endpoint = await Endpoint.open()
    sandbox.account('default').target = endpoint.url
    const id = sandbox.addSubmission('default')
    const lane = sandbox.addLane('default', id, { hidden: true }).rail.submission_market_id
    sandbox.addEvent('default', id, { type: 'market_attached', lane_id: lane })
    sandbox.revealLane('default', id, lane)
    await sandbox.deliveries.idle()
    return endpoint.contents.length
  },
  forms_assigned: async ({ sandbox, writer }) =>
    (await writer.post(`/broker/submissions/${sandbox.addSubmission('default')}/form-fill-session`)).body.forms_assigned,
  unlisted_attribution: async ({ sandbox, writer }) => {
    const path = `/broker/submissions/${sandbox.addSubmission('default')}`
    const held = await create(writer, 'Harrow Roofing LLC', { hold: true })
    const unnamed = (url: string) => statusOf(writer.send('POST', url, {}))
    return [await unnamed(`${path}/form-fill-session`), await unnamed(`/broker/submissions/${held}/finalize`)]
  },
  me_scope: async ({ writer }) => (await writer.get('/broker/me')).body.scope,
  ...variantProbes,
}

function varied(name: string): readonly (string | number)[] {
  if (name in statuses) return [418]
  if (name in numbers) return [2]
  return words[name as keyof typeof words].values.slice(1)
}

const FEW = 2
const LIMITS: Readonly<Record<string, UnshownInput>> = {
  daily_limit: { appetite_daily_limit: FEW },
  registration_limit: { registrations_per_hour: FEW },
}

const probes: [string, Probe][] = Object.entries({ ...statusProbes, ...numberProbes, ...wordProbes })

test('each choice that can be varied has a probe', () => {
  expect(probes.map(([name]) => name).sort()).toEqual(Object.keys({ ...statuses, ...numbers, ...words }).sort())
})

/** The document describes default choices, so answers of variants aren't compared with it. */
const options = (name: string) => (name in variantProbes ? { submissions: 12, lists: true, observeAnswer: () => {} } : {})

test.each(probes)('%s is read: each of its values changes an answer', async (name, probe) => {
  const base = LIMITS[name] ?? {}
  const seen = [await probe(await world({ ...options(name), unshown: base }))]
  for (const value of varied(name)) seen.push(await probe(await world({ ...options(name), unshown: { ...base, [name]: value } })))
  for (const [at, answer] of seen.entries()) for (const other of seen.slice(at + 1)) expect(other).not.toEqual(answer)
  if (name in statuses) expect(seen).toEqual([statuses[name as keyof typeof statuses].status, 418])
})
