import { createHash } from 'node:crypto'
import type { Lane, Submission } from '../world/submission.ts'

/*
 * Binding, and what comes of it. It is made from the lanes: about half of the quotes are about to be bound, and a bound lane has a policy. The
 * service lists no bind requests; the sandbox names them in the markets of the requirements view, as a field that the specification does not
 * show.
 */

type Answer = Readonly<Record<string, unknown>>

/** @returns the id of a lane's bind request; null when it has none. */
export function bindRequestIdOf({ rail }: Lane): string | null {
  const id = idFor(`bind ${rail.submission_market_id}`)
  const isRequested = rail.bound || (rail.quotes.length > 0 && Number.parseInt(id.slice(0, 1), 16) < 8)
  return isRequested ? id : null
}

/** @returns the bind requests of the lanes that are shown. */
export function bindRequestsOf(submission: Submission): Answer[] {
  return shownLanes(submission).flatMap((lane) => {
    const id = bindRequestIdOf(lane)
    return id === null ? [] : [bindRequest(submission, lane, id)]
  })
}

function bindRequest(submission: Submission, lane: Lane, id: string): Answer {
  const { rail } = lane
  const isOpen = rail.chip === 'quoted'
  const [status, label] = rail.bound ? ['bound', 'Bound'] : isOpen ? ['drafted', 'Draft'] : ['declined', 'Declined']
  const assumptions = [
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
        ...{ id: idFor(`signed ${id}`), kind: 'signed_form', label: 'Signed application', status: isOpen ? 'pending' : 'satisfied' },
        upload_path: isOpen
          ? `/broker/submissions/${submission.id}/bind-requests/${id}/contingencies/${idFor(`signed ${id}`)}/document`
          : null,
        ...(isOpen && { esign_status: 'sent' }),
      },
      { ...item, id: idFor(`runs ${id}`), kind: 'loss_runs', label: 'Loss runs', status: 'waived', required: false, upload_path: null },
    ],
    next_steps: isOpen ? ['Confirm the assumptions', 'Upload the signed application', 'Submit'] : [],
  }
}

/** @returns the policies of the bound lanes that are shown. */
export function policiesOf(submission: Submission) {
  return shownLanes(submission)
    .filter(({ rail }) => rail.bound)
    .map((lane) => {
      const { rail } = lane
      const documentId = idFor(`policy document ${rail.submission_market_id}`)
      return {
        policy_id: policyIdOf(lane),
        submission_id: submission.id,
        insured_id: insuredIdOf(submission.facts.insured_name),
        policy_number: `POL-${policyIdOf(lane).slice(0, 8).toUpperCase()}`,
        status: 'in_force',
        coverage_lines: rail.lines,
        term: { effective_date: submission.facts.effective_date },
        carrier: { name: rail.market_name, admitted: true },
        premium: { net_cents: rail.quotes.at(-1)?.total_cents ?? 0, fees_cents: 0, taxes_cents: 0 },
        documents: [{ document_id: documentId, name: 'Policy.pdf', download_path: `/broker/finalized-documents/${documentId}/pdf` }],
      }
    })
}

/** @returns the insured of some submissions. */
export function insuredOf(name: string, submissions: readonly Submission[]): Answer {
  const own = submissions.filter(({ facts }) => facts.insured_name === name)
  return {
    insured_id: insuredIdOf(name),
    name,
    submissions: own.map(({ id }) => ({ submission_id: id })),
    policies: own.flatMap(policiesOf).map(({ policy_id, submission_id }) => ({ policy_id, submission_id })),
  }
}

/** @returns an id that depends on the name alone. */
export function insuredIdOf(name: string): string {
  return idFor(`insured ${name}`)
}

function policyIdOf({ rail }: Lane): string {
  return idFor(`policy ${rail.submission_market_id}`)
}

function shownLanes(submission: Submission): Lane[] {
  return [...submission.lanes.values()].filter((lane) => lane.visible)
}

function idFor(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
