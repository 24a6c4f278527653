import { entity, type RowOf } from '../entity.ts'
import { account, goneFrom, inRecord, namedBy } from './common.ts'
import { bool, date, int, json, raw, real, text } from './fields.ts'

export const policies = entity({
  table: 'policies',
  holds:
    'Bound policies. The service describes the contents of an answer (identifiers, coverage lines, term, carrier, premium, commission, documents) ' +
    'but not its fields, so everything is in `raw`. The columns from `policy_number` to `payment_terms` are best effort: `record_fields` in the ' +
    'settings names their fields.',
  read: 'policy',
  key: ['account', 'policy_id'],
  fields: {
    account,
    policy_id: text('none', 'its id', { source: 'path' }),
    submission_id: { ...namedBy, meaning: 'the submission in its record, else the one whose answer named it first; null: unknown' },
    policy_number: text('business', 'its number', { source: inRecord }),
    lines: json('business', 'list of the coverage lines', { source: inRecord }),
    carrier_name: text('business', 'name of the carrier', { source: inRecord }),
    naic_code: text('business', 'NAIC code of the paper', { source: inRecord }),
    admitted: bool('business', 'whether the paper is admitted', { source: inRecord }),
    effective_date: date('business', 'start of coverage', { source: inRecord }),
    expiration_date: date('business', 'end of coverage', { source: inRecord }),
    net_premium_cents: int('business', 'premium without fees and taxes', { source: inRecord, cents: true }),
    fees_cents: int('business', 'fees', { source: inRecord, cents: true }),
    taxes_cents: int('business', 'taxes', { source: inRecord, cents: true }),
    total_billed_cents: int('business', 'premium, fees and taxes together', { source: inRecord, cents: true }),
    commission_rate: real('business', "rate of the broker's commission, the service's value", { source: inRecord }),
    commission_cents: int('business', "the broker's commission", { source: inRecord, cents: true }),
    payment_terms: json('business', 'the payment terms, any JSON value', { source: inRecord }),
    gone_at: goneFrom('the service'),
    raw: raw('free', 'the answer as received', { source: 'the whole answer', link: true }),
  },
})

export type PolicyRow = RowOf<typeof policies>
