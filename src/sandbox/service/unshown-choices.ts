/**
 * Choices that the specification leaves open. `row` names the place in the specification. The default is `value`, or
 * the first of `values`. Clients must expect the other values too. Statuses of errors are in
 * `client/openapi/conditions.ts`. `variants.ts` applies some of these choices to answers.
 */

interface NumberChoice {
  readonly row: string
  readonly value: number
}

/** Choices of limits and times. */
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

/** Choices of field names, shapes of answers, and behavior. */
export const words = {
  create_id_field: { row: 'POST /broker/submissions: field that identifies the created submission', values: ['submission_id', 'id'] },
  thread_post_id_field: {
    row: 'POST …/thread: field of the id of the recorded message',
    values: ['message_id', 'id', 'thread_message_id'],
  },
  refresh_reuse: {
    row: 'Authentication 2: effect of a refused second use of a refresh token',
    values: ['revoke_family', 'refuse'],
  },
  device_clients: { row: 'POST /oauth/device_authorization: which client_id is accepted', values: ['any', 'registered'] },
  register_answer: { row: 'POST /oauth/register: body of the response', values: ['rfc7591', 'client_id'] },
  bind_submit_path: { row: 'Binding: path of the bind submission, below the bind request', values: ['submit', 'submission'] },
  bind_submit_status: {
    row: 'Binding, States: status of a bind request after its submission',
    values: ['drafted', 'submitted'],
  },
  conflict_fields: {
    row: 'Errors: place of the fields of a 409 (submission_id, programs, application), next to detail or in it',
    values: ['detail', 'body'],
  },
  document_upload_limit: {
    row: 'POST …/documents: whether the limit of 25 MB applies',
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
  oauth_errors: {
    row: 'Errors: body of a refused grant; authorization_pending and others as `error` (RFC 6749), or as a text in `detail`',
    values: ['rfc6749', 'detail_text'],
  },
  list_id_field: { row: 'Submissions list and insureds list: field of the id of an item', values: ['named', 'id'] },
  session_id_field: { row: 'GET …/api-quotes/sessions: field of the id of a session', values: ['session_id', 'id'] },
  sessions_list: {
    row: 'GET …/api-quotes/sessions: a bare list, a list in a field, or a list next to another list of objects',
    values: ['bare', 'sessions', 'two_lists'],
  },
  detail_id_field: {
    row: 'Submission detail read: field of the id of a bind request and of a policy',
    values: ['named', 'id'],
  },
  insured_submission_id_field: {
    row: 'GET /broker/insureds/{insured_id}: field of the id of a submission',
    values: ['submission_id', 'id'],
  },
  policy_submission_id: {
    row: 'GET /broker/policies/{policy_id} and policies of an insured: whether a policy names its submission',
    values: ['shown', 'absent'],
  },
  policy_lines_field: { row: 'GET /broker/policies/{policy_id}: field of the coverage lines', values: ['coverage_lines', 'lines'] },
  nulls: { row: 'Resources: a field without a value, null or absent', values: ['null', 'absent'] },
  null_fields: {
    row: 'Resources: null in fields whose nullability is not stated; requirements: effective_date, program and program_id of lanes; workspace: connection_id and result of applications, or facts as a whole',
    values: ['none', 'requirements', 'workspace', 'facts'],
  },
  legacy_workspace_id: { row: 'Application workspace: workspace_id of a legacy workflow', values: ['uuid', 'null'] },
  partial_view: {
    row: 'Requirements view: when rail and assessment are null; here always, for every other submission',
    values: ['whole', 'no_assessment', 'no_rail', 'neither'],
  },
  programs_of_lane: { row: 'Requirements view: how many programs in assessment and markets share a lane', values: ['one', 'two'] },
  option_values: { row: 'Outstanding requirements: values of options', values: ['plain', 'sensitive'] },
  offer_urls: {
    row: 'Requirements view: whether the document_url of a source offer stays, or is signed for each answer',
    values: ['stable', 'signed'],
  },
  delivered_times: { row: 'Webhooks 2: digits of occurred_at in deliveries', values: ['microseconds', 'milliseconds'] },
  delivered_lines: { row: 'Webhooks 2: order of market.lines in deliveries', values: ['as_in_feed', 'reversed'] },
  delivered_market_name: { row: 'Webhooks 2: name of a market that was renamed since the delivery', values: ['as_in_feed', 'former'] },
  intake_file_field: {
    row: 'POST /broker/intake: form field of the files; others are ignored',
    values: ['any', 'file', 'files', 'documents'],
  },
} as const satisfies Readonly<Record<string, WordChoice>>
