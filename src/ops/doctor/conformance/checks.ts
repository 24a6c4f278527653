import type { rows } from '../../../client/openapi/rows.ts'
import { accessChecks } from './access-checks.ts'
import type { Desk } from './desk.ts'
import { feedChecks } from './feed-checks.ts'
import { readingChecks } from './reading-checks.ts'
import type { Verdict } from './verdict.ts'

/** How a row is told by reading; a text: why it cannot be. */
export type Check = string | ((desk: Desk) => Promise<Verdict>)

const WRITE = 'it needs a write'
const PERSON = "it needs a person's sign-in"
const PORTAL = 'it needs a portal session'
const METERED = 'it would count against the daily limit of the brokerage'
const DELIVERY = 'it needs a webhook delivery'

/** Rows that no read can tell, but for those that need a write. */
const others: Readonly<Record<string, string>> = {
  'endpoint.authorize': PERSON,
  'endpoint.authorizeDevice': 'it needs a POST, and a person who approves',
  'endpoint.registerClient': 'it needs a POST that registers a client',
  // "Same daily limit": it is shared by all users of the brokerage, who need it more.
  'endpoint.getAppetite': METERED,
  'endpoint.searchAppetite': METERED,
  'error.daily_limit': 'it would use up the daily limit of the brokerage',
  'error.pdf': 'it needs a stored file that cannot be retrieved',
  'error.inactive': 'it needs an inactive account or credential',
  'limit.keys': PORTAL,
  'limit.acknowledgement': DELIVERY,
  'limit.delivery': DELIVERY,
  'authentication.code': PERSON,
  'authentication.device': PERSON,
  'authentication.registration': 'it needs a POST that registers a client',
  'authentication.keys': PORTAL,
  'authentication.portal': PORTAL,
  'authentication.admin': 'it needs a write by a user without the admin role',
}

/** Rows that only a write shows. */
const written = [
  'intake',
  'createSubmission',
  'finalizeSubmission',
  'postAnswers',
  'postThread',
  'uploadDocument',
  'openFormFillSession',
  'saveCheckpoint',
  'selectProducts',
  'createBindRequest',
  'uploadContingency',
  'setProgramLine',
].map((name) => `endpoint.${name}`)
const writtenElsewhere = [
  'producer',
  'state',
  'insured',
  'rater',
  'file_exists',
  'foreign_document',
  'blank_body',
  'checkpoint_stale',
  'checkpoint_rejected',
  'checkpoint_busy',
  'unconfirmed',
  'indication',
  'not_bindable',
  'card_payment',
  'not_drafted',
  'file_size',
  'market_access',
  'selection',
  'scope',
].map((name) => `error.${name}`)
const writtenLimits = [
  'locations',
  'programs',
  'products',
  'upload',
  'idempotency_key',
  'insured_name',
  'applicant',
  'description',
  'answer',
  'matching',
].map((name) => `limit.${name}`)
const writtenStates = ['draft', 'draft_kept', 'draft_upload', 'contingency', 'matching'].map((name) => `state.${name}`)
const writtenAccess = ['write_scope', 'attribution'].map((name) => `authentication.${name}`)

const byWriting = [...written, ...writtenElsewhere, ...writtenLimits, ...writtenStates, ...writtenAccess]

/** Every row by its id. */
export const checks: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(byWriting.map((id) => [id, WRITE])),
  ...others,
  ...accessChecks,
  ...feedChecks,
  ...readingChecks,
}

/** A row that was added to the specification since says so itself. */
export function checkOf(row: (typeof rows)[number]): Check {
  return checks[row.id] ?? 'this release has no check for it'
}
