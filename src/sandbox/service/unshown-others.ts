import { eventsPayloads, RETRY_SCHEDULE_MS, type SandboxOptions } from './options.ts'
import type { Choice } from './unshown.ts'

const fixed: Readonly<Record<string, readonly [row: string, choice: string]>> = {
  submission_detail_fields: [
    'Submission detail read: path and shape',
    'GET /broker/submissions/{id}: submission_id, insured_name, insured_id, applicant.fein (as it was sent), bind_requests, policies',
  ],
  markets_groups: [
    'Markets read of a submission: path and shape',
    'GET /broker/submissions/{id}/markets: engaged, declined (lanes that ended), available (programs without a lane), each with its category',
  ],
  bind_request_id_field: ['Requirements view, markets[]: nothing lists bind requests', 'bind_request_id of the newest one of the lane'],
  default_lines: ['SubmissionCreate: lines_of_business when left out', 'general_liability'],
  default_state: [
    'SubmissionCreate: primary_state without a state in the mailing address',
    'the state of the first location, else an empty text',
  ],
  created_fields: ['POST /broker/submissions: response beyond the id', 'marketing_status'],
  held_outstanding: ['Outstanding items of a held submission', 'what the programs that would take it ask for; none while it is matched'],
  intake_fields: ['POST /broker/intake: form fields but producer_email', 'text, any files, and hold (true)'],
  appetite_search_fields: [
    'POST /broker/appetite/search: shape',
    'query, state, lines, results[]: rank, market_id, name, category, category_label, programs[] (program_id, name, lines)',
  ],
  market_access_fields: [
    'PUT /broker/market-access/program-line: shape of the table',
    'programs[]: program_id, market_id, market_name, program, program_category, enabled, lines[] (lob_slug, enabled)',
  ],
  quote_products_fields: [
    'PUT …/quote-products: shape of the selection, and place of its first revision',
    'selection_revision, program_ids, selected_ids',
  ],
  sessions_fields: ['GET …/api-quotes/sessions: shape', 'a list of session_id, status, missing_required_questions_json'],
  missing_questions_fields: ['carrier_api_sessions[].missing_questions: shape of items', 'key, label'],
  question_schema_fields: ['ApplicationSection schema: shape', 'fields[], required_field_keys[] and the identity of the program'],
  policy_fields: [
    'GET /broker/policies/{policy_id}: names of fields',
    'policy_number, coverage_lines, term, carrier, underwriting_paper, premium, commission, payment_terms, documents[]; amounts in cents',
  ],
  insured_fields: [
    'GET /broker/insureds/{insured_id}: names of fields',
    'those of the applicant, name, contacts[] (first_name, last_name, title, phone, email, active), submissions[], policies[]',
  ],
  error_body: ['Errors: body of errors beyond a detail', 'detail alone: a text, a list of problems, or an object with code and message'],
  status_values: ['States: status values of submissions and lanes', 'submitted, in_review, quoted, bound, declined, withdrawn, blocked'],
  bind_moves: ['States: moves between bind request statuses', 'POST /_sandbox/bind: forward alone; bound may fail or be cancelled'],
  bind_after_failure: [
    'States: whether a lane can be bound again after a failed bind',
    'a new draft may be made; the failed request stays under review',
  ],
  svix_timestamp: ['Webhooks 4: the time in svix-timestamp', 'that of the machine, with --clock step and fast, too'],
  webhook_management: [
    'Webhooks 1: management of endpoints',
    'POST /_sandbox/target: one endpoint of an account, with event_types; an empty list is everything',
  ],
}

export function fixedChoices(): Choice[] {
  return Object.entries(fixed).map(([name, [row, choice]]) => ({
    name,
    row,
    choice,
    option: 'none: it cannot be varied',
    alternatives: ['anything else'],
  }))
}

/** Parameters of an authorization request. The route `authorize-as` also accepts them, and redirects with the code. */
const AUTHORIZATION_PARAMETERS = 'response_type=code, client_id, redirect_uri, state, scope'

/** @returns the choices that have their own options instead of `--variants`. */
export function optionChoices(options: SandboxOptions): Choice[] {
  const choice = (row: string, option: string, value: Choice['choice'], alternatives: Choice['alternatives']): Choice => {
    const name = option
      .replace(/^(--|.*\/)/, '')
      .replace(/\?.*$/, '')
      .replaceAll('-', '_')
    return { name, row, choice: value, option, alternatives: alternatives.filter((other) => other !== value) }
  }
  return [
    choice('Webhooks 2: payload of a submission.events delivery', '--events-payload', options.eventsPayload ?? 'events', eventsPayloads),
    choice('Webhooks 4: signature header names other than svix-id', '--signature-headers', options.signatureHeaders ?? 'svix', [
      'svix',
      'webhook',
    ]),
    choice('Webhooks 4: retry schedule (ms)', '--retry-schedule', options.retryScheduleMs ?? RETRY_SCHEDULE_MS, ['any waits']),
    choice(
      'Authentication 5: authorization request parameters beyond PKCE',
      'GET /_sandbox/authorize-as?email=…',
      AUTHORIZATION_PARAMETERS,
      ['without them: the latest request at /oauth/authorize'],
    ),
    choice('Submissions list and insureds list: path and shape', '--lists', options.lists ?? false, [true, false]),
    choice('Errors: how often, and when, a valid cursor is refused', '--faults', 'never', ['[{"kind":"invalid_cursor"}]']),
  ]
}
