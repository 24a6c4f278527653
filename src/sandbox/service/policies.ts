import { uuidOf } from '../world/ids.ts'
import type { Lane, Submission } from '../world/submission.ts'
import { policyIdOf } from './binding.ts'

/**
 * Surplus-lines tax (a share of the net premium) and fee (in cents). Only policies of specialty programs include them.
 */
const SURPLUS_LINES_TAX = 0.0485
const SURPLUS_LINES_FEE_CENTS = 15_000
const COMMISSION_RATES = { instant_quote: 0.12, binding: 0.15, specialty: 0.1 } as const

const documentKinds = [
  { kind: 'policy', name: 'Policy.pdf' },
  { kind: 'binder', name: 'Binder.pdf' },
  { kind: 'declarations', name: 'Declarations.pdf' },
] as const

/**
 * @returns the policies of bound lanes, except hidden lanes. Amounts are in cents. `commission.rate` is a share of the
 * net premium. The specification doesn't define the field names (see `GET /_sandbox/variants`).
 */
export function policiesOf(submission: Submission) {
  return submission.shownLanes.filter(({ rail }) => rail.bound).map((lane) => policyOf(submission, lane))
}

function policyOf(submission: Submission, lane: Lane) {
  const { rail } = lane
  const id = policyIdOf(lane)
  const bind = submission.records.binds.findLast(({ laneId, status }) => laneId === rail.submission_market_id && status === 'bound')
  const admitted = rail.program_category !== 'specialty'
  const net_cents = rail.quotes.at(-1)?.total_cents ?? 0
  const fees_cents = admitted ? 0 : SURPLUS_LINES_FEE_CENTS
  const taxes_cents = admitted ? 0 : Math.round(net_cents * SURPLUS_LINES_TAX)
  const rate = COMMISSION_RATES[rail.program_category]
  const effective_date = submission.facts.effective_date
  return {
    policy_id: id,
    submission_id: submission.id,
    insured_id: submission.insuredId,
    policy_number: `POL-${id.slice(0, 8).toUpperCase()}`,
    status: 'in_force',
    coverage_lines: rail.lines,
    term: { effective_date, expiration_date: yearAfter(effective_date) },
    carrier: { name: rail.market_name },
    underwriting_paper: { name: `${rail.market_name} Insurance Company`, naic_code: naicCodeOf(rail.market_name), admitted },
    premium: { net_cents, fees_cents, taxes_cents, total_billed_cents: net_cents + fees_cents + taxes_cents },
    commission: { rate, amount_cents: Math.round(net_cents * rate) },
    payment_terms: { plan: bind?.paymentOption ?? 'annual', billing: admitted ? 'direct' : 'agency' },
    documents: policyDocuments(lane),
  }
}

export function policyDocuments({ rail }: Lane) {
  return documentKinds.map(({ kind, name }) => {
    const document_id = uuidOf(`${kind} document ${rail.submission_market_id}`)
    return { document_id, kind, name, download_path: `/broker/finalized-documents/${document_id}/pdf` }
  })
}

/** @returns the same day one year later. February 29 becomes February 28. */
function yearAfter(day: string): string {
  const [year = '', month = '', date = ''] = day.split('-')
  return `${Number(year) + 1}-${month}-${month === '02' && date === '29' ? '28' : date}`
}

function naicCodeOf(market: string): string {
  return String(10_000 + (Number.parseInt(uuidOf(`naic ${market}`).slice(0, 8), 16) % 90_000))
}
