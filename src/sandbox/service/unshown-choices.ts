/*
 * What the specification leaves open, and what the emulator does there; statuses of errors stand in `client/openapi/conditions.ts`. Each entry
 * names the row that leaves it open. `value`, or the first of `values`, is the choice; the others are what a client must expect as well.
 */

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
  assumptions_field: {
    row: 'Errors: 409 assumptions_unconfirmed, name of the list of assumptions',
    values: ['unconfirmed_assumptions', 'assumptions'],
  },
  scope_above_ceiling: {
    row: 'Authentication 5: client credentials with a scope above the ceiling of the key, refused (grant_refused) or cut to the ceiling',
    values: ['refuse', 'cut'],
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
