import { msFromTime, parseTime, timeFromMs } from '../../model/time.ts'
import { uuidOf } from '../world/ids.ts'
import type { Assumption, BindRecord, Contingency } from '../world/records.ts'
import type { Lane, Submission } from '../world/submission.ts'

type Answer = Readonly<Record<string, unknown>>

/** @returns the id of a lane's newest bind request; null if there is none. */
export function bindRequestIdOf(submission: Submission, lane: Lane): string | null {
  const { binds, brief } = submission.records
  const asked = binds.findLast(({ laneId }) => laneId === lane.rail.submission_market_id)
  return asked?.id ?? (brief === null ? generatedId(lane) : null)
}

/** About half of the quoted lanes have a bind request. Every bound lane has one. */
function generatedId({ rail }: Lane): string | null {
  const id = uuidOf(`bind ${rail.submission_market_id}`)
  const isRequested = rail.bound || (rail.quotes.length > 0 && Number.parseInt(id.slice(0, 1), 16) < 8)
  return isRequested ? id : null
}

/** @returns the bind requests of all lanes that the service shows. */
export function bindRequestsOf(submission: Submission): Answer[] {
  return submission.shownLanes.flatMap((lane) => bindsOf(submission, lane).map((bind) => bindRecordView(submission, bind)))
}

function bindsOf(submission: Submission, lane: Lane): BindRecord[] {
  const asked = submission.records.binds.filter(({ laneId }) => laneId === lane.rail.submission_market_id)
  const id = asked.length > 0 ? null : bindRequestIdOf(submission, lane)
  return id === null ? asked : [generatedBind(submission, lane, id)]
}

/** Stores the derived bind request of a generated lane. Only a stored bind request can change. */
export function materialBind(submission: Submission, lane: Lane): void {
  const { binds } = submission.records
  binds.push(...bindsOf(submission, lane).filter((bind) => !binds.includes(bind)))
}

function statusLabelOf(status: string): string {
  const words = status === 'drafted' ? 'draft' : status.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** @returns a bind request in the shape of the specification's "BindRequest". */
export function bindRecordView(submission: Submission, bind: BindRecord): Answer {
  const isOpen = bind.status === 'drafted'
  const path = `/broker/submissions/${submission.id}/bind-requests/${bind.id}/contingencies`
  const open = bind.contingencies.filter(({ status, required }) => status === 'pending' && required)
  const lane = submission.lanes.get(bind.laneId)
  return {
    bind_request_id: bind.id,
    submission_id: submission.id,
    status: bind.status,
    status_label: statusLabelOf(bind.status),
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

/**
 * @returns the time of a generated bind request: the time of the lane's newest quote event. If the lane has no visible
 * quote event, the time of the lane's assessment.
 */
function requestedAtMsOf({ events }: Submission, { rail, assessment }: Lane): number {
  const quoted = events.visible().findLast((event) => event.type === 'quote_received' && event.market.lane_id === rail.submission_market_id)
  return msFromTime(parseTime(quoted?.occurred_at ?? assessment.evaluated_at) ?? timeFromMs(0))
}

function generatedBind(submission: Submission, lane: Lane, id: string): BindRecord {
  const { rail } = lane
  const isOpen = rail.chip === 'quoted'
  const assumptions: Assumption[] = [
    { key: 'years_in_business', label: 'Years in business', value: 12 },
    { key: 'prior_losses', label: 'Losses in the last five years', value: null },
    { key: 'inspected', label: 'The premises were inspected' },
  ]
  return {
    id,
    laneId: rail.submission_market_id,
    quoteId: rail.quotes.at(-1)?.quote_id ?? null,
    status: rail.bound ? 'bound' : isOpen ? 'drafted' : 'declined',
    paymentOption: rail.bound ? 'annual' : null,
    requestedAtMs: requestedAtMsOf(submission, lane),
    requestedBy: 'producer@brokerage.example',
    unconfirmed: isOpen ? assumptions : [],
    contingencies: [
      {
        ...newContingency(uuidOf(`signed ${id}`), 'signed_form', 'Signed application', true),
        status: isOpen ? 'pending' : 'satisfied',
        esignStatus: isOpen ? 'sent' : null,
      },
      { ...newContingency(uuidOf(`runs ${id}`), 'loss_runs', 'Loss runs', false), status: 'waived' },
    ],
  }
}

export function newContingency(id: string, kind: Contingency['kind'], label: string, required: boolean): Contingency {
  return { id, kind, label, required, status: 'pending', esignStatus: null, files: [] }
}

/** @returns the id of a lane's policy. The policy exists only after the lane is bound. */
export function policyIdOf({ rail }: Lane): string {
  return uuidOf(`policy ${rail.submission_market_id}`)
}
