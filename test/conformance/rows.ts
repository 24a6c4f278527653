import { operations } from '../../src/client/openapi/operations.ts'

interface Row {
  readonly id: string
  readonly section: string
  readonly text: string
}

function section(name: string, rows: Readonly<Record<string, string>>): Row[] {
  return Object.entries(rows).map(([id, text]) => ({ id: `${name.toLowerCase()}.${id}`, section: name, text }))
}

const endpoints = operations.map(({ method, path, operationId }) => ({
  id: `endpoint.${operationId}`,
  section: 'Endpoint',
  text: `${method} ${path}`,
}))

const errors = section('Error', {
  validation: 'Validation failure on token, device-authorization and document upload: 422 with a list',
  producer: 'Machine credential with missing or unknown producer_email: 422',
  state: 'primary_state conflicts with the mailing address: 422 with what to fix',
  insured: 'Unknown or foreign insured_id: 404',
  rater: 'mode rater by a token that is no partner’s: 403',
  file_exists: 'Live file for the same insured: 409 service_file_exists with submission_id',
  foreign_document: 'Thread reply with a document of another submission: 400',
  blank_body: 'Thread reply with a blank body: error',
  not_found: 'Resource missing or of another brokerage: 404',
  checkpoint_stale: 'Stale checkpoint: 409 with a code and the current application',
  checkpoint_rejected: 'Checkpoint rejected: application_command_rejected',
  checkpoint_busy: 'Checkpoint busy: application_busy with Retry-After',
  unconfirmed: 'Unconfirmed assumptions: 409 assumptions_unconfirmed with the kept draft',
  indication: 'Bind create of an indication: 422',
  not_bindable: 'Superseded quote, lane already binding: error',
  card_payment: 'Bind submit for a lane that collects card payment: 422 with the reason',
  not_drafted: 'Contingency upload when no longer drafted: 409',
  file_size: 'Contingency file over 25 MB, or empty: error',
  cursor: 'Invalid since cursor: error',
  daily_limit: 'Appetite daily limit reached: error',
  market_access: 'Market-access toggle by no admin, or of a line not listed: error',
  selection: 'Quote-products: stale revision; non-portal session 403',
  pdf: 'Stored PDF cannot be retrieved: error',
  scope: 'Write without broker_submit: error',
  inactive: 'GET /broker/me for an inactive account or credential: error',
})

const limits = section('Limit', {
  token: 'Access token lifetime: 60 minutes',
  keys: 'Active API keys per brokerage: 10',
  events: 'Events page: default 50, clamped to 1..100',
  thread: 'Thread page: default 50, clamped to 1..200',
  locations: 'Locations per submission: 250',
  programs: 'partner_program_ids: 1..40, unique',
  products: 'quote-products: program_ids 1..100, selected_ids max 100',
  upload: 'Contingency upload: 25 MB',
  idempotency_key: 'Idempotency-Key: up to 128 characters',
  forms: 'Forms search: capped at 50',
  insured_name: 'insured_name: max 256 characters',
  applicant: 'contact_title, sic, gl_code: max 128, 64, 64 characters',
  description: 'description_of_operations: max 10000 characters',
  acknowledgement: 'Webhook acknowledged by 2xx within 10 seconds',
  delivery: 'Webhook about 1 minute after becoming visible',
  answer: 'Thread answered in a couple of minutes',
  matching: 'Matching takes about 300 seconds',
})

const states = section('State', {
  draft: 'Bind: create of a released firm quote gives drafted; the same quote again gives the same draft',
  draft_kept: 'Bind: unconfirmed assumptions keep the draft',
  draft_upload: 'Bind: an upload leaves the request drafted',
  contingency: 'Contingency: pending to satisfied by an upload',
  matching: 'Marketing: not_started to matching by creation without hold, or finalize',
  matched: 'Marketing: matching to matched when lanes attach',
  bound: 'Feed: bound follows a completed placement',
  readiness: 'Application: needs_information until all required questions are answered, then ready_for_quote',
})

const authentication = section('Authentication', {
  bearer: 'Every request carries a bearer token',
  lifetime: 'Refresh tokens rotate; machine credentials get none',
  read_scope: 'broker_mcp reads; broker_submit also suffices',
  write_scope: 'broker_submit writes',
  code: 'Authorization code with PKCE',
  device: 'Device authorization: authorization_pending until approved',
  registration: 'Dynamic registration issues public client ids without a secret',
  machine: 'Client credentials: bac_ and bas_; the scopes of the key are a ceiling',
  keys: 'Revoking a key blocks new tokens immediately',
  attribution: 'Machine writes name producer_email',
  portal: 'Machine credentials manage no keys; product selection is portal-session only',
  admin: 'Market-access changes need the admin role',
})

/** Each line of the specification's tables, in order, for `npm run conformance`. */
export const rows: readonly Row[] = [...endpoints, ...errors, ...limits, ...states, ...authentication]
