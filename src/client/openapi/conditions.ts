import type { z } from 'zod'
import {
  assumptionsUnconfirmedSchema,
  checkpointConflictSchema,
  errorSchema,
  fileExistsSchema,
  oauthErrorSchema,
  validationErrorSchema,
} from '../schemas/errors.ts'

interface Shown {
  readonly status: number
  readonly when: string
  readonly schema?: z.ZodType
}

interface Chosen extends Shown {
  /** Part of the specification that leaves the status open. */
  readonly row: string
  /** Other statuses that a client must expect. */
  readonly others: readonly number[]
}

/** Errors whose status the specification states. */
const shown = {
  not_found: { status: 404, when: 'Missing, or of another brokerage' },
  no_producer: { status: 422, when: 'Machine credential with missing or unknown `producer_email`' },
  validation_failure: { status: 422, when: 'Validation failure', schema: validationErrorSchema },
  state_conflict: { status: 422, when: '`primary_state` conflicts with the state of the mailing address; the message says what to fix' },
  unknown_insured: { status: 404, when: 'Unknown or foreign `insured_id`' },
  no_partner: { status: 403, when: '`mode` rater by a token that is not a partner’s' },
  file_exists: { status: 409, when: 'A live submission for the same insured exists', schema: fileExistsSchema },
  foreign_document: { status: 400, when: 'A `document_ids` entry is not on this submission' },
  stale_application: {
    status: 409,
    when: 'Stale `expected_answer_revision` or `expected_schema_fingerprint`',
    schema: checkpointConflictSchema,
  },
  no_portal_session: { status: 403, when: 'A connected app or a machine token' },
  assumptions_unconfirmed: { status: 409, when: 'Unconfirmed assumptions', schema: assumptionsUnconfirmedSchema },
  indication: { status: 422, when: 'The quote is an indication' },
  card_payment: { status: 422, when: 'The lane collects card payment in the portal' },
  not_drafted: { status: 409, when: 'The bind request is no longer `drafted`' },
} as const satisfies Readonly<Record<string, Shown>>

/**
 * Errors whose status the specification leaves open. The emulator answers `status`, unless a setting replaces it with
 * another status from 400 to 599.
 */
export const chosenConditions = {
  malformed_request: {
    status: 400,
    others: [404, 415, 422],
    when: 'The path, the head or the body cannot be read',
    row: 'Errors: a request that cannot be read',
  },
  head_too_large: { status: 431, others: [400, 414], when: 'Path and headers are too long', row: 'Limits: size of path and headers' },
  body_too_large: { status: 413, others: [400, 422], when: 'The body is too large', row: 'Limits: size of a body' },
  invalid_id: {
    status: 422,
    others: [400, 404],
    when: 'An id in the path is not a uuid',
    row: 'Endpoints: "all path ids are uuids", one that is none',
  },
  invalid_input: {
    status: 422,
    others: [400],
    when: 'Validation failure',
    schema: validationErrorSchema,
    row: 'Errors: validation failure at other endpoints than token, device authorization and document upload',
  },
  missing_token: {
    status: 401,
    others: [403],
    when: 'No token, or one that is not valid',
    row: 'Errors: unauthenticated (missing or weak token)',
  },
  missing_scope: {
    status: 403,
    others: [401],
    when: 'The token does not grant the scope',
    row: 'Errors: write without broker_submit scope',
  },
  missing_role: { status: 403, others: [401, 422], when: 'The caller is not an admin', row: 'Errors: market-access toggle, not an admin' },
  portal_session_only: {
    status: 403,
    others: [401],
    when: 'The caller has no portal session',
    row: 'Authentication 8: keys and webhook endpoints are managed in a portal session only',
  },
  inactive_credential: {
    status: 403,
    others: [401, 410],
    when: 'The account or credential is no longer active',
    row: 'Errors: GET /broker/me for an inactive account or credential',
  },
  invalid_cursor: { status: 400, others: [404, 410, 422], when: 'Invalid cursor', row: 'Errors: events or thread, invalid since cursor' },
  bad_limit: {
    status: 422,
    others: [400],
    when: '`limit` is not an integer',
    schema: validationErrorSchema,
    row: 'Limits: events and thread, a limit that is no whole number',
  },
  blank_body: { status: 422, others: [400], when: 'Blank `body`', row: 'Errors: thread reply, blank body' },
  file_too_large: {
    status: 413,
    others: [400, 422],
    when: 'The file is over 25 MB',
    row: 'Errors: contingency upload, file over 25 MB; document uploads are held to the same limit',
  },
  empty_file: {
    status: 422,
    others: [400],
    when: 'The file is empty',
    schema: validationErrorSchema,
    row: 'Errors: contingency upload, empty file; document uploads likewise',
  },
  daily_limit: {
    status: 429,
    others: [403, 402],
    when: 'The daily limit of both appetite operations is reached',
    row: 'Errors: appetite, daily limit reached',
  },
  application_busy: {
    status: 409,
    others: [423, 429, 503],
    when: 'The save is busy: retry the same operation after the `Retry-After` header',
    schema: checkpointConflictSchema,
    row: 'Errors: checkpoint, save busy (application_busy)',
  },
  command_rejected: {
    status: 422,
    others: [400, 409],
    when: 'The command is rejected, for example an invalid classification',
    schema: checkpointConflictSchema,
    row: 'Errors: checkpoint, command rejected (application_command_rejected)',
  },
  stale_selection: {
    status: 409,
    others: [412],
    when: 'Stale selection revision',
    row: 'Errors: quote-products, stale selection revision',
  },
  not_bindable: {
    status: 409,
    others: [422],
    when: 'Not bindable: the quote is superseded, or the lane is already binding',
    row: 'Errors: bind, superseded quote or lane already binding',
  },
  open_contingency: {
    status: 409,
    others: [400, 422],
    when: 'A required contingency is open',
    row: 'Binding: bind submission while a required contingency is open',
  },
  line_not_listed: {
    status: 422,
    others: [400, 404],
    when: 'The program does not list the line',
    row: 'Errors: market-access toggle, line not listed by the program',
  },
  pdf_unavailable: {
    status: 502,
    others: [500, 503],
    when: 'The stored document cannot be retrieved',
    row: 'Errors: finalized document PDF, stored file cannot be retrieved',
  },
  grant_refused: {
    status: 400,
    others: [401, 403],
    when: 'The request or the grant is refused; `authorization_pending` until a device is approved',
    schema: oauthErrorSchema,
    row: 'Authentication endpoints: status of authorization_pending, invalid_grant, invalid_scope and the like',
  },
  client_refused: {
    status: 401,
    others: [400, 403],
    when: 'The client or credential is unknown, wrong or revoked',
    schema: oauthErrorSchema,
    row: 'POST /oauth/token and /oauth/device_authorization: status of invalid_client',
  },
  registration_limit: {
    status: 429,
    others: [403, 503],
    when: 'Too many registrations from one address',
    row: 'Limits: registration per-IP rate limit',
  },
  key_limit: {
    status: 409,
    others: [403, 422, 429],
    when: 'The brokerage holds as many active keys as it may',
    row: 'Limits: active API keys per brokerage, the eleventh',
  },
} as const satisfies Readonly<Record<string, Chosen>>

type ChosenName = keyof typeof chosenConditions
export type ConditionName = keyof typeof shown | ChosenName

interface Condition {
  readonly status: number
  readonly when: string
  readonly schema: z.ZodType
  /** Whether the specification states the status. */
  readonly isShown: boolean
}

export function conditionOf(name: ConditionName): Condition {
  const found: Shown = { ...shown, ...chosenConditions }[name]
  return { schema: errorSchema, ...found, isShown: name in shown }
}
