import { z } from 'zod'
import { programOf } from '../world/catalogue.ts'
import type { BindRecord } from '../world/records.ts'
import type { Lane, Submission } from '../world/submission.ts'
import type { World } from '../world/world.ts'
import type { User } from './accounts.ts'
import { bindRecordView, materialBind } from './binding.ts'
import { pdfOf } from './files.ts'
import { parseBody } from './parse.ts'
import { policyDocuments } from './policies.ts'
import { Refusal } from './refusal.ts'
import type { Unshown } from './unshown.ts'
import { checkFile, checkPdf, storeDocument, type UploadedFile } from './uploads.ts'

export const bindBody = z.object({
  quote_id: z.uuid(),
  payment_option: z.string().optional(),
  attest_assumptions: z.union([z.boolean(), z.array(z.string())]).default(false),
  producer_email: z.string().optional(),
})

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
/** After these the lane can be bound anew. */
const ENDED: readonly string[] = ['bind_failed', 'cancelled', 'declined', 'expired']

/**
 * Drafts a bind request, or returns the draft of the lane with newly attested assumptions.
 * @throws Refusal 404 for a quote that is not on the submission, 422 for an indication, not bindable for a superseded quote or a lane that
 *   is binding, 409 `assumptions_unconfirmed` with the kept draft.
 */
export function createBind(submission: Submission, input: unknown, user: User, unshown: Unshown, atMs: number) {
  const body = parseBody(bindBody, input)
  const lane = [...submission.lanes.values()].find(
    ({ rail, visible }) => visible && rail.quotes.some((one) => one.quote_id === body.quote_id),
  )
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
  const contingency = { status: 'pending', files: [] } as const
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
      {
        ...contingency,
        id: submission.newId(),
        kind: 'signed_form',
        label: 'Signed application',
        required: true,
        esignStatus: null,
        files: [],
      },
      {
        ...contingency,
        id: submission.newId(),
        kind: 'loss_runs',
        label: 'Currently valued loss runs',
        required: false,
        esignStatus: null,
        files: [],
      },
    ],
  }
  submission.records.binds.push(draft)
  return draft
}

/** @returns a bind request of the submission. @throws Refusal 404. */
export function bindOf(submission: Submission, id: string): BindRecord {
  for (const lane of submission.lanes.values()) materialBind(submission, lane)
  const bind = submission.records.binds.find((one) => one.id === id)
  if (!bind) throw new Refusal('not_found', 'Bind request not found')
  return bind
}

export const bindSubmitBody = z.object({
  attest_assumptions: z.union([z.boolean(), z.array(z.string())]).default(false),
  producer_email: z.string().optional(),
})

/**
 * Submits a draft. Its status stays until the admin route moves it, unless `bind_submit_status` says another.
 * @throws Refusal 404; 422 for a lane that collects card payment in the portal; 409 `assumptions_unconfirmed` with the kept draft; not
 *   bindable when it is no draft any more, or a required contingency is open.
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

/** @throws Refusal 409 when assumptions remain; what was attested is kept. */
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

/** Adds a file to a contingency, which is then satisfied. @throws Refusal 404, 409 when the request is no draft, or for the file. */
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

/** In the order in which a bind goes on. */
const progress: readonly string[] = ['drafted', 'submitted', 'sent', 'binder_received', 'bound']
/** Nothing follows these; a bind that failed is only "under review". */
const FINAL: readonly string[] = ['cancelled', 'declined', 'expired']

/** @throws RangeError for a move that makes no sense: back to an earlier status, or on from an end. */
function checkMove({ id, status }: BindRecord, to: BindStatus): void {
  const isBack = progress.includes(to) && progress.indexOf(to) < progress.indexOf(status)
  const isUndone = status === 'bound' && to !== 'bind_failed' && to !== 'cancelled'
  if (to !== status && (FINAL.includes(status) || isBack || isUndone || to === 'drafted'))
    throw new RangeError(`bind request ${id} is ${status}, and cannot become ${to} from there`)
}

/**
 * Moves a bind request as the service does: the spec shows no other moves. `bound` emits its event and makes a policy.
 * @throws RangeError for a move that makes no sense.
 */
export function moveBind(world: World, account: string, submission: Submission, bind: BindRecord, to: BindStatus, atMs: number) {
  checkMove(bind, to)
  const wasBound = bind.status === 'bound'
  bind.status = to
  const lane = submission.lane(bind.laneId)
  if (to === 'bound' && !wasBound) {
    const rail = { status: 'bound', status_label: 'Bound', bound: true, chip: 'bound', next_step: null } as const
    const program = programOf(lane.rail.program_id)?.market.name ?? lane.rail.market_name
    // A lane that is bound anew has them already.
    const stored = new Set(submission.records.documents.map(({ id }) => id))
    for (const { document_id: id, name } of policyDocuments(lane)) {
      const file = { name, contentType: 'application/pdf', bytes: pdfOf(`${name} of ${program}`) }
      if (!stored.has(id)) storeDocument(submission, file, { id, source: 'carrier', kind: 'policy' }, atMs)
    }
    world.play(
      account,
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
    world.play(account, submission.id, [{ do: 'patch_lane', laneId: bind.laneId, patch: { rail } }], atMs)
  }
  return bindRecordView(submission, bind)
}
