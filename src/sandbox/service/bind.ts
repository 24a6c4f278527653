import { bindRequestCreateSchema } from '../../client/schemas/binding.ts'
import { programOf } from '../world/catalogue.ts'
import type { BindRecord } from '../world/records.ts'
import type { Lane, Submission } from '../world/submission.ts'
import type { World } from '../world/world.ts'
import type { User } from './accounts.ts'
import { bindRecordView, materialBind, newContingency } from './binding.ts'
import { pdfOf } from './files.ts'
import { policyDocuments } from './policies.ts'
import { parseBody, Refusal } from './refusal.ts'
import type { Unshown } from './unshown.ts'
import { checkFile, checkPdf, storeDocument, type UploadedFile } from './uploads.ts'

const { attest_assumptions } = bindRequestCreateSchema.shape
const bindBody = bindRequestCreateSchema.extend({ attest_assumptions: attest_assumptions.unwrap().default(false) })
const bindSubmitBody = bindBody.omit({ quote_id: true, payment_option: true })

export const bindStatuses = [
  'drafted',
  'submitted',
  'sent',
  'binder_received',
  'bound',
  'bind_failed',
  'cancelled',
  'declined',
  'expired',
] as const
export type BindStatus = (typeof bindStatuses)[number]
/** Statuses of a bind request after which its lane can be bound again. */
const ENDED: readonly string[] = ['bind_failed', 'cancelled', 'declined', 'expired']

/**
 * Creates a draft of a bind request, or updates the lane's draft. Confirms the attested assumptions.
 * @throws Refusal in these cases:
 * - the quote is unknown (404) or an indication (422)
 * - the quote is superseded, or the lane is unavailable or already being bound (`not_bindable`)
 * - assumptions are unconfirmed (409 `assumptions_unconfirmed`); the draft is kept
 */
export function createBind(submission: Submission, input: unknown, user: User, unshown: Unshown, atMs: number) {
  const body = parseBody(bindBody, input)
  const lane = submission.shownLanes.find(({ rail }) => rail.quotes.some((one) => one.quote_id === body.quote_id))
  if (!lane) throw new Refusal('not_found', 'Quote not found')
  const quote = submission.records.quotes[body.quote_id]
  if (quote ? !quote.firm : lane.rail.source_offers.some(({ kind }) => kind === 'indication'))
    throw new Refusal('indication', 'This quote is an indication; only a released firm quote can be bound')
  if (lane.rail.quotes.at(-1)?.quote_id !== body.quote_id) throw new Refusal('not_bindable', 'This quote is superseded')
  materialBind(submission, lane)
  const laneId = lane.rail.submission_market_id
  const current = submission.records.binds.findLast((one) => one.laneId === laneId && !ENDED.includes(one.status))
  if (
    lane.rail.bound ||
    lane.rail.chip === 'not_available' ||
    (current && (current.status !== 'drafted' || current.quoteId !== body.quote_id))
  )
    throw new Refusal('not_bindable', 'This lane is binding already, or not available')
  const draft = current ?? newDraft(submission, lane, body.quote_id, user, atMs)
  if (body.payment_option !== undefined) draft.paymentOption = body.payment_option
  confirmAssumptions(draft, body.attest_assumptions, unshown)
  return bindRecordView(submission, draft)
}

function newDraft(submission: Submission, lane: Lane, quoteId: string, user: User, atMs: number): BindRecord {
  const draft: BindRecord = {
    id: submission.newId(),
    laneId: lane.rail.submission_market_id,
    quoteId,
    status: 'drafted',
    paymentOption: null,
    requestedAtMs: atMs,
    requestedBy: user.email,
    unconfirmed: [...(submission.records.quotes[quoteId]?.assumptions ?? [])],
    contingencies: [
      newContingency(submission.newId(), 'signed_form', 'Signed application', true),
      newContingency(submission.newId(), 'loss_runs', 'Currently valued loss runs', false),
    ],
  }
  submission.records.binds.push(draft)
  return draft
}

/** @throws Refusal (404) if the id is unknown. */
export function bindOf(submission: Submission, id: string): BindRecord {
  for (const lane of submission.lanes.values()) materialBind(submission, lane)
  const bind = submission.records.binds.find((one) => one.id === id)
  if (!bind) throw new Refusal('not_found', 'Bind request not found')
  return bind
}

/**
 * Submits a draft. The draft's status changes only if the variant `bind_submit_status` is `submitted`. Otherwise, only
 * the admin route changes the status.
 * @throws Refusal in these cases:
 * - the bind request is unknown (404)
 * - the carrier collects card payment in the portal (422)
 * - assumptions are unconfirmed (409 `assumptions_unconfirmed`); the draft is kept
 * - the status isn't `drafted`, or a required contingency is open
 */
export function submitBind(submission: Submission, id: string, input: unknown, unshown: Unshown) {
  const body = parseBody(bindSubmitBody, input)
  const bind = bindOf(submission, id)
  if (bind.status !== 'drafted') throw new Refusal('not_bindable', 'This bind request is no longer drafted')
  if (programOf(submission.lane(bind.laneId).rail.program_id)?.collectsCard)
    throw new Refusal('card_payment', {
      code: 'card_payment_in_portal',
      message: 'This carrier bills directly and collects card payment in the portal; submit the bind request there',
    })
  confirmAssumptions(bind, body.attest_assumptions, unshown)
  const open = bind.contingencies.filter(({ required, status }) => required && status === 'pending')
  if (open.length > 0)
    throw new Refusal('open_contingency', `This bind request still needs: ${open.map(({ label }) => label).join(', ')}; the draft is kept`)
  bind.isSubmitted = true
  if (unshown.word('bind_submit_status') === 'submitted') bind.status = 'submitted'
  return bindRecordView(submission, bind)
}

/**
 * Confirms the attested assumptions of a draft.
 * @throws Refusal (409) if unconfirmed assumptions remain.
 */
function confirmAssumptions(draft: BindRecord, attested: boolean | readonly string[], unshown: Unshown): void {
  const isConfirmed = (key: string) => attested === true || (Array.isArray(attested) && attested.includes(key))
  draft.unconfirmed = draft.unconfirmed.filter(({ key }) => !isConfirmed(key))
  if (draft.unconfirmed.length > 0)
    throw new Refusal('assumptions_unconfirmed', {
      code: 'assumptions_unconfirmed',
      message: 'Confirm the assumptions of this quote; the draft is kept',
      bind_request_id: draft.id,
      [unshown.word('assumptions_field')]: draft.unconfirmed,
    })
}

/**
 * Satisfies a contingency with a file.
 * @throws Refusal if the bind request or contingency is unknown (404), the bind request isn't `drafted` (409), or
 * the file is invalid.
 */
export function uploadContingency(
  submission: Submission,
  ids: { readonly bindRequestId: string; readonly contingencyId: string },
  upload: { readonly file: UploadedFile; readonly notes: string | null },
  atMs: number,
) {
  const bind = bindOf(submission, ids.bindRequestId)
  const contingency = bind.contingencies.find((one) => one.id === ids.contingencyId)
  if (!contingency) throw new Refusal('not_found', 'Contingency not found')
  if (bind.status !== 'drafted') throw new Refusal('not_drafted', 'This bind request is no longer drafted')
  checkFile(upload.file)
  checkPdf(upload.file)
  const kind = contingency.kind === 'signed_form' ? 'signed_form' : contingency.kind === 'loss_runs' ? 'loss_runs' : 'other'
  const document = storeDocument(submission, upload.file, { source: 'bind', kind }, atMs)
  contingency.files.push({ documentId: document.id, notes: upload.notes })
  contingency.status = 'satisfied'
  if (contingency.esignStatus !== null) contingency.esignStatus = 'completed'
  return bindRecordView(submission, bind)
}

const progress: readonly string[] = ['drafted', 'submitted', 'sent', 'binder_received', 'bound']
/**
 * Statuses of a bind request that never change. `bind_failed` may still change, because the service calls a failed
 * bind request "under review".
 */
const FINAL: readonly string[] = ['cancelled', 'declined', 'expired']

function checkMove({ id, status }: BindRecord, to: BindStatus): void {
  const isBack = progress.includes(to) && progress.indexOf(to) < progress.indexOf(status)
  const isUndone = status === 'bound' && to !== 'bind_failed' && to !== 'cancelled'
  if (to !== status && (FINAL.includes(status) || isBack || isUndone || to === 'drafted'))
    throw new RangeError(`bind request ${id} is ${status}, and cannot become ${to} from there`)
}

/**
 * Changes the status of a bind request. The specification doesn't say when the service changes a status. The status
 * `bound` adds an event and creates a policy.
 * @throws RangeError if the status is final, would move backwards, or can't follow the current status.
 */
export function moveBind(world: World, submission: Submission, bind: BindRecord, to: BindStatus, atMs: number) {
  checkMove(bind, to)
  const wasBound = bind.status === 'bound'
  bind.status = to
  const lane = submission.lane(bind.laneId)
  if (to === 'bound' && !wasBound) {
    const rail = { status: 'bound', status_label: 'Bound', bound: true, chip: 'bound', next_step: null } as const
    const program = programOf(lane.rail.program_id)?.market.name ?? lane.rail.market_name
    // If the lane was bound before, its documents are already stored.
    const stored = new Set(submission.records.documents.map(({ id }) => id))
    for (const { document_id: id, name } of policyDocuments(lane)) {
      const file = { name, contentType: 'application/pdf', bytes: pdfOf(`${name} of ${program}`) }
      if (!stored.has(id)) storeDocument(submission, file, { id, source: 'carrier', kind: 'policy' }, atMs)
    }
    world.play(
      submission.account,
      submission.id,
      [
        { do: 'patch_lane', laneId: bind.laneId, patch: { rail } },
        { do: 'event', event: { id: submission.newId(), type: 'bound', lane_id: bind.laneId } },
      ],
      atMs,
    )
  }
  if (to !== 'bound' && wasBound) {
    const rail = { status: 'quoted', status_label: 'Quoted', bound: false, chip: 'quoted' } as const
    world.play(submission.account, submission.id, [{ do: 'patch_lane', laneId: bind.laneId, patch: { rail } }], atMs)
  }
  return bindRecordView(submission, bind)
}
