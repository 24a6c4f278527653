import assert from 'node:assert/strict'
import { AssumptionsUnconfirmed, NotBindable, ServiceError, ValidationError } from '../../../src/client/exports.ts'
import { type Case, type Desk, pdfOf, refused } from '../desk.ts'

const MAX_FILE_BYTES = 25 * 1024 * 1024

async function quoted(desk: Desk, applicant: object = {}) {
  const id = await desk.create('Harrow Roofing LLC', { applicant: { insured_name: 'Harrow Roofing LLC', ...applicant } })
  desk.pass(360)
  const { rail } = await desk.client.submissions.requirements(id)
  const lanes = rail?.lanes ?? []
  const lane = lanes.find(({ quotes = [] }) => quotes.length > 0)
  const other = lanes.find(({ quotes = [] }) => quotes.length === 0)
  const quote_id = lane?.quotes?.[0]?.quote_id
  assert.ok(lane && other && quote_id)
  return { id, lane, other, quote_id }
}

async function drafted(desk: Desk, applicant: object = {}) {
  const { id, quote_id } = await quoted(desk, applicant)
  const draft = await desk.client.bind.create(id, { quote_id, attest_assumptions: true })
  return { id, draft, bindId: draft.bind_request_id }
}

const mailing_address = { line1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701', country: 'US' }
/** Fields of a submission that the insured record repeats ("canonical identity"). */
const identity = {
  dba_name: 'Harrow Roofs',
  entity_type: 'llc',
  business_phone: '+1 512 555 0100',
  business_email: 'office@harrow.invalid',
  website: 'https://harrow.invalid',
  naics: '238160',
  sic: '1761',
  mailing_address,
}
const person = { first_name: 'Hanna', last_name: 'Harrow', title: 'Owner', phone: '+1 512 555 0101', email: 'hanna@harrow.invalid' }

interface Policy {
  readonly insured_id: string
  readonly policy_number: string
  readonly coverage_lines?: string[]
  readonly lines?: string[]
  readonly term: { readonly effective_date: string; readonly expiration_date: string }
  readonly carrier: { readonly name: string }
  readonly underwriting_paper: { readonly naic_code: string; readonly admitted: boolean }
  readonly premium: Record<'net_cents' | 'fees_cents' | 'taxes_cents' | 'total_billed_cents', number>
  readonly commission: { readonly rate: number; readonly amount_cents: number }
  readonly payment_terms: { readonly plan: string }
  readonly documents: { readonly kind: string; readonly download_path: string }[]
}

/** "Full policy detail": each part in the row, with consistent numbers. */
function assertWhole(policy: Policy): void {
  assert.ok(policy.policy_number !== '' && (policy.coverage_lines ?? policy.lines ?? []).length > 0 && policy.carrier.name !== '')
  assert.ok(policy.term.effective_date < policy.term.expiration_date)
  assert.match(policy.underwriting_paper.naic_code, /^\d{5}$/)
  assert.equal(typeof policy.underwriting_paper.admitted, 'boolean')
  const { net_cents, fees_cents, taxes_cents, total_billed_cents } = policy.premium
  assert.ok(net_cents > 0)
  assert.equal(total_billed_cents, net_cents + fees_cents + taxes_cents)
  assert.equal(policy.commission.amount_cents, Math.round(net_cents * policy.commission.rate))
  assert.equal(policy.payment_terms.plan, 'quarterly')
  assert.deepEqual(policy.documents.map(({ kind }) => kind).sort(), ['binder', 'declarations', 'policy'])
}

export const bindingCases: readonly Case[] = [
  {
    name: 'unconfirmed assumptions keep one draft, until they are attested',
    rows: ['endpoint.createBindRequest', 'endpoint.getBindRequest', 'error.unconfirmed', 'state.draft', 'state.draft_kept'],
    run: async (desk) => {
      const { id, quote_id } = await quoted(desk)
      const { bind } = desk.client
      const unconfirmed = await refused(bind.create(id, { quote_id }), 409, AssumptionsUnconfirmed)
      assert.equal(unconfirmed.code, 'assumptions_unconfirmed')
      const kept = await bind.get(id, unconfirmed.bindRequestId ?? '')
      assert.deepEqual([kept.status, kept.unconfirmed_assumptions.length], ['drafted', unconfirmed.assumptions.length])
      const [first] = unconfirmed.assumptions
      const fewer = await refused(bind.create(id, { quote_id, attest_assumptions: [first?.key ?? ''] }), 409, AssumptionsUnconfirmed)
      assert.deepEqual([fewer.bindRequestId, fewer.assumptions.length], [kept.bind_request_id, unconfirmed.assumptions.length - 1])
      const whole = await bind.create(id, { quote_id, attest_assumptions: true })
      assert.deepEqual([whole.bind_request_id, whole.unconfirmed_assumptions], [kept.bind_request_id, []])
      assert.equal((await bind.create(id, { quote_id })).bind_request_id, kept.bind_request_id)
    },
  },
  {
    name: 'an indication, a superseded quote, and a lane that is binding cannot be bound',
    rows: ['error.indication', 'error.not_bindable'],
    run: async (desk) => {
      const { id, lane, other, quote_id } = await quoted(desk)
      const create = (quote: string) => desk.client.bind.create(id, { quote_id: quote, attest_assumptions: true })
      const release = async (lane_id: string | undefined, firm: boolean) =>
        (await desk.admin('/quotes', { submission_id: id, lane_id, firm })).body.quote_id as string
      await refused(create(await release(other.submission_market_id, false)), 422, ValidationError)
      const revision = await release(lane.submission_market_id, true)
      await refused(create(quote_id), 409, NotBindable)
      const draft = await create(revision)
      await desk.admin('/bind', { bind_request_id: draft.bind_request_id, to: 'sent' })
      await refused(create(revision), 409, NotBindable)
    },
  },
  {
    name: "a drafted request's contingency accepts a file of up to 25 MB",
    rows: ['endpoint.uploadContingency', 'error.file_size', 'limit.upload', 'error.not_drafted', 'state.draft_upload', 'state.contingency'],
    run: async (desk) => {
      const { id, draft, bindId } = await drafted(desk)
      const [first] = draft.contingencies
      assert.equal(first?.status, 'pending')
      const upload = (size: number) => desk.client.bind.upload(id, bindId, first?.id ?? '', { file: pdfOf(size), notes: 'signed' })
      await refused(upload(0), 422)
      await refused(upload(MAX_FILE_BYTES + 1), 413)
      const done = await upload(MAX_FILE_BYTES)
      assert.deepEqual([done.status, done.contingencies[0]?.status], ['drafted', 'satisfied'])
      await desk.admin('/bind', { bind_request_id: bindId, to: 'submitted' })
      await refused(upload(100), 409, ServiceError)
    },
  },
  {
    name: 'a bound request has an event, a policy with documents, and an insured',
    rows: ['state.bound', 'endpoint.getPolicy', 'endpoint.getInsured'],
    run: async (desk) => {
      const contact = Object.fromEntries(Object.entries(person).map(([name, value]) => [`contact_${name}`, value]))
      const { id, bindId, draft } = await drafted(desk, { ...identity, ...contact })
      await desk.client.bind.create(id, { quote_id: draft.quote_id ?? '', payment_option: 'quarterly' })
      for (const to of ['submitted', 'sent', 'bound']) await desk.admin('/bind', { bind_request_id: bindId, to })
      const { policy_id } = await desk.client.bind.get(id, bindId)
      const policy = (await desk.client.policies.get(policy_id ?? '')) as unknown as Policy
      assertWhole(policy)
      const insured = await desk.client.insureds.get(policy.insured_id)
      const wanted = { insured_id: policy.insured_id, name: 'Harrow Roofing LLC', ...identity, contacts: [{ ...person, active: true }] }
      assert.partialDeepStrictEqual(insured, { ...wanted, policies: [{ policy_id }] })
      assert.match(JSON.stringify(insured['submissions']), new RegExp(id))
      for (const { download_path } of policy.documents)
        assert.equal((await desk.client.download(download_path)).contentType, 'application/pdf')
      const types: string[] = []
      for await (const { type } of desk.client.submissions.allEvents(id)) types.push(type)
      assert.equal(types.at(-1), 'bound')
    },
  },
]
