/*
 * What the specification leaves open, and what the emulator does there. Each entry names the row that leaves it open. `value`, or the first
 * of `values`, is the choice; the others are what a client must expect as well.
 */

interface StatusChoice {
  readonly row: string
  readonly value: number
  readonly others: readonly number[]
}

/** Statuses of errors that are listed without a number. Any status from 400 to 599 can take their place. */
export const statuses = {
  missing_token: { row: 'Errors: unauthenticated (missing or weak token)', value: 401, others: [403] },
  missing_scope: { row: 'Errors: write without broker_submit scope', value: 403, others: [401] },
  missing_role: { row: 'Errors: market-access toggle, not an admin', value: 403, others: [401, 422] },
  portal_session_only: {
    row: 'Authentication 8: keys and webhook endpoints are managed in a portal session only',
    value: 403,
    others: [401],
  },
  inactive_credential: { row: 'Errors: GET /broker/me for an inactive account or credential', value: 403, others: [401, 410] },
  invalid_cursor: { row: 'Errors: events or thread, invalid since cursor', value: 400, others: [422] },
  bad_limit: { row: 'Limits: events and thread, a limit that is no whole number', value: 422, others: [400] },
  blank_body: { row: 'Errors: thread reply, blank body', value: 422, others: [400] },
  file_too_large: {
    row: 'Errors: contingency upload, file over 25 MB; document uploads are held to the same limit',
    value: 413,
    others: [400, 422],
  },
  empty_file: { row: 'Errors: contingency upload, empty file; document uploads likewise', value: 422, others: [400] },
  daily_limit: { row: 'Errors: appetite, daily limit reached', value: 429, others: [403, 402] },
  application_busy: { row: 'Errors: checkpoint, save busy (application_busy)', value: 409, others: [423, 429, 503] },
  command_rejected: { row: 'Errors: checkpoint, command rejected (application_command_rejected)', value: 422, others: [400, 409] },
  stale_selection: { row: 'Errors: quote-products, stale selection revision', value: 409, others: [412] },
  not_bindable: { row: 'Errors: bind, superseded quote or lane already binding', value: 409, others: [422] },
  line_not_listed: { row: 'Errors: market-access toggle, line not listed by the program', value: 422, others: [400, 404] },
  pdf_unavailable: { row: 'Errors: finalized document PDF, stored file cannot be retrieved', value: 502, others: [500, 503] },
  grant_refused: { row: 'POST /oauth/token: status of authorization_pending, invalid_grant and the like', value: 400, others: [401, 403] },
  registration_limit: { row: 'Limits: registration per-IP rate limit', value: 429, others: [403, 503] },
  key_limit: { row: 'Limits: active API keys per brokerage, the eleventh', value: 409, others: [403, 422, 429] },
} as const satisfies Readonly<Record<string, StatusChoice>>

interface NumberChoice {
  readonly row: string
  readonly value: number
}

/** Limits and times. */
export const numbers = {
  refresh_lifetime_s: { row: 'Authentication 2: refresh token lifetime', value: 2_592_000 },
  code_lifetime_s: { row: 'Authentication 5: lifetime of an authorization code', value: 600 },
  device_lifetime_s: { row: 'POST /oauth/device_authorization: expires_in', value: 900 },
  device_interval_s: { row: 'POST /oauth/device_authorization: interval', value: 5 },
  registrations_per_hour: { row: 'Limits: registration per-IP rate limit value', value: 60 },
  appetite_daily_limit: { row: 'Limits: appetite daily limit value', value: 1_000 },
  default_effective_days: { row: 'SubmissionCreate: effective_date when left out, days after the creation', value: 30 },
  busy_retry_after_s: { row: 'Errors: checkpoint, Retry-After of application_busy', value: 1 },
} as const satisfies Readonly<Record<string, NumberChoice>>

interface WordChoice {
  readonly row: string
  readonly values: readonly [string, ...string[]]
}

/** Names of fields, forms of answers and ways to behave. */
export const words = {
  create_id_field: { row: 'POST /broker/submissions: field that identifies the created submission', values: ['submission_id', 'id'] },
  thread_post_id_field: {
    row: 'POST …/thread: field of the id of the recorded message',
    values: ['message_id', 'id', 'thread_message_id'],
  },
  refresh_reuse: {
    row: 'Authentication 2: what a second use of a refresh token does beside being refused',
    values: ['revoke_family', 'refuse'],
  },
  device_clients: { row: 'POST /oauth/device_authorization: which client_id is taken', values: ['any', 'registered'] },
  register_answer: { row: 'POST /oauth/register: body of the response', values: ['rfc7591', 'client_id'] },
  bind_submit_path: { row: 'Binding: path of the bind submission, below the bind request', values: ['submit', 'submission'] },
  bind_submit_status: {
    row: 'Binding, States: status of a bind request after its submission',
    values: ['drafted', 'submitted'],
  },
  conflict_fields: {
    row: 'Errors: where the fields of a 409 stand (submission_id, programs, application), beside detail or in it',
    values: ['detail', 'body'],
  },
  document_upload_limit: {
    row: 'POST …/documents: whether 25 MB is the limit there, too',
    values: ['25_mb', 'none'],
  },
  expires_in: { row: 'POST /oauth/token: expires_in of the response', values: ['number', 'text', 'absent'] },
  announce_late: { row: 'Events 4: whether events that appear behind a cursor are delivered', values: ['no', 'yes'] },
  forms_assigned: {
    row: 'POST …/form-fill-session: whether forms_assigned lists the forms or counts them',
    values: ['list', 'count'],
  },
  unlisted_attribution: {
    row: 'Endpoints, Authentication 7: in which writes whose row lists no producer_email a machine credential names it: none, those with a body (documents, form-fill-session, checkpoint), or every one (finalize, too)',
    values: ['none', 'with_body', 'every'],
  },
  me_scope: { row: 'GET /broker/me: form of the granted scopes of an api_client', values: ['text', 'list'] },
} as const satisfies Readonly<Record<string, WordChoice>>
