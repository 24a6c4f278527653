import { timeFromMs } from '../../model/time.ts'
import { uuidOf } from '../world/ids.ts'
import type { Assumption, BindRecord, Contingency } from '../world/records.ts'
import type { Lane, Submission } from '../world/submission.ts'

/*
 * Binding, and what comes of it. It is made from the lanes: about half of the quotes are about to be bound, and a bound lane has a policy. The
 * service lists no bind requests; the sandbox names them in the markets of the requirements view, as a field that the specification does not
 * show.
 */

type Answer = Readonly<Record<string, unknown>>

/** @returns the id of a lane's newest bind request; null when it has none. Nobody asked for those of a generated submission. */
export function bindRequestIdOf(submission: Submission, lane: Lane): string | null {
  const { binds, brief } = submission.records
  const asked = binds.findLast(({ laneId }) => laneId === lane.rail.submission_market_id)
  return asked?.id ?? (brief === null ? generatedId(lane) : null)
}

function generatedId({ rail }: Lane): string | null {
  const id = uuidOf(`bind ${rail.submission_market_id}`)
  const isRequested = rail.bound || (rail.quotes.length > 0 && Number.parseInt(id.slice(0, 1), 16) < 8)
  return isRequested ? id : null
}

/** @returns the bind requests of the lanes that are shown. */
export function bindRequestsOf(submission: Submission): Answer[] {
  return shownLanes(submission).flatMap((lane) => {
    const asked = submission.records.binds.filter(({ laneId }) => laneId === lane.rail.submission_market_id)
    if (asked.length > 0) return asked.map((bind) => bindRecordView(submission, bind))
    const id = bindRequestIdOf(submission, lane)
    return id === null ? [] : [bindRequest(submission, lane, id)]
  })
}

/** Makes a record of the bind request that a generated lane has, so that it can change. */
export function materialBind(submission: Submission, lane: Lane): void {
  const laneId = lane.rail.submission_market_id
  const id = bindRequestIdOf(submission, lane)
  if (id === null || submission.records.binds.some((one) => one.laneId === laneId)) return
  const view = bindRequest(submission, lane, id)
  submission.records.binds.push({
    id,
    laneId,
    quoteId: view.quote_id ?? '',
    status: view.status,
    paymentOption: view.payment_option,
    requestedAtMs: Date.parse(view.requested_at),
    requestedBy: view.requested_by,
    unconfirmed: [...view.unconfirmed_assumptions],
    contingencies: view.contingencies.map(({ id: of, label, required, esign_status, kind, status }) => ({
      id: of,
      label,
      required,
      esignStatus: esign_status,
      files: [],
      kind: kind as Contingency['kind'],
      status: status as Contingency['status'],
    })),
  })
}

const statusLabels: Readonly<Record<string, string>> = {
  drafted: 'Draft',
  submitted: 'Submitted',
  sent: 'Sent',
  binder_received: 'Binder received',
  bound: 'Bound',
  bind_failed: 'Bind failed',
  cancelled: 'Cancelled',
  declined: 'Declined',
  expired: 'Expired',
}

/** @returns a bind request that somebody asked for ("BindRequest"). */
export function bindRecordView(submission: Submission, bind: BindRecord): Answer {
  const isOpen = bind.status === 'drafted'
  const path = `/broker/submissions/${submission.id}/bind-requests/${bind.id}/contingencies`
  const open = bind.contingencies.filter(({ status, required }) => status === 'pending' && required)
  const lane = submission.lanes.get(bind.laneId)
  return {
    bind_request_id: bind.id,
    submission_id: submission.id,
    status: bind.status,
    status_label: statusLabels[bind.status] ?? bind.status,
    quote_id: bind.quoteId,
    payment_option: bind.paymentOption,
    requested_at: timeFromMs(bind.requestedAtMs),
    requested_by: bind.requestedBy,
    effective_date: submission.facts.effective_date,
    policy_id: bind.status === 'bound' && lane ? policyIdOf(lane) : null,
    unconfirmed_assumptions: bind.unconfirmed,
    contingencies: bind.contingencies.map(({ id, kind, label, status, required, esignStatus }) => ({
      id,
      kind,
      label,
      status,
      required,
      esign_status: esignStatus,
      upload_path: isOpen ? `${path}/${id}/document` : null,
    })),
    next_steps:
      isOpen && !bind.isSubmitted
        ? [...(bind.unconfirmed.length > 0 ? ['Confirm the assumptions'] : []), ...open.map(({ label }) => `Upload: ${label}`), 'Submit']
        : [],
  }
}

function bindRequest(submission: Submission, lane: Lane, id: string) {
  const { rail } = lane
  const isOpen = rail.chip === 'quoted'
  const [status, label] = rail.bound ? ['bound', 'Bound'] : isOpen ? ['drafted', 'Draft'] : ['declined', 'Declined']
  const assumptions: Assumption[] = [
    { key: 'years_in_business', label: 'Years in business', value: 12 },
    { key: 'prior_losses', label: 'Losses in the last five years', value: null },
    { key: 'inspected', label: 'The premises were inspected' },
  ]
  const item = { required: true, esign_status: null }
  return {
    bind_request_id: id,
    submission_id: submission.id,
    status,
    status_label: label,
    quote_id: rail.quotes.at(-1)?.quote_id ?? null,
    payment_option: rail.bound ? 'annual' : null,
    requested_at: '2026-01-05T12:00:00Z',
    requested_by: 'producer@brokerage.example',
    effective_date: submission.facts.effective_date,
    policy_id: rail.bound ? policyIdOf(lane) : null,
    unconfirmed_assumptions: isOpen ? assumptions : [],
    contingencies: [
      {
        ...item,
        id: uuidOf(`signed ${id}`),
        kind: 'signed_form',
        label: 'Signed application',
        status: isOpen ? 'pending' : 'satisfied',
        upload_path: isOpen
          ? `/broker/submissions/${submission.id}/bind-requests/${id}/contingencies/${uuidOf(`signed ${id}`)}/document`
          : null,
        ...(isOpen && { esign_status: 'sent' }),
      },
      { ...item, id: uuidOf(`runs ${id}`), kind: 'loss_runs', label: 'Loss runs', status: 'waived', required: false, upload_path: null },
    ],
    next_steps: isOpen ? ['Confirm the assumptions', 'Upload the signed application', 'Submit'] : [],
  }
}

/** @returns the id of the policy of a lane, which it has once it is bound. */
export function policyIdOf({ rail }: Lane): string {
  return uuidOf(`policy ${rail.submission_market_id}`)
}

/** @returns the lanes that the requirements view shows. */
export function shownLanes(submission: Submission): Lane[] {
  return [...submission.lanes.values()].filter((lane) => lane.visible)
}
