import { entity, type RowOf } from '../entity.ts'
import { account, goneFrom, inRecord, namedBy } from './common.ts'

export const policies = entity({
  table: 'policies',
  holds:
    'Bound policies. The service describes what an answer holds (identifiers, coverage lines, term, carrier, premium, commission, documents) ' +
    'and not its fields, so all of it is in `raw`. The columns from `policy_number` to `payment_terms` are best effort: they are looked ' +
    'for where `record_fields` in the settings says.',
  read: 'policy',
  key: ['account', 'policy_id'],
  fields: {
    account,
    policy_id: { kind: 'text', class: 'none', source: 'path', meaning: 'its id' },
    submission_id: {
      ...namedBy,
      meaning: 'the submission that its record names, else the one whose answer named it first; null while neither is known',
    },
    policy_number: { kind: 'text', class: 'business', source: inRecord, meaning: 'its number' },
    lines: { kind: 'json', class: 'business', source: inRecord, meaning: 'list of the coverage lines' },
    carrier_name: { kind: 'text', class: 'business', source: inRecord, meaning: 'name of the carrier' },
    naic_code: { kind: 'text', class: 'business', source: inRecord, meaning: 'NAIC code of the paper' },
    admitted: { kind: 'bool', class: 'business', source: inRecord, meaning: 'whether the paper is admitted' },
    effective_date: { kind: 'date', class: 'business', source: inRecord, meaning: 'date from which it covers' },
    expiration_date: { kind: 'date', class: 'business', source: inRecord, meaning: 'date on which it ends' },
    net_premium_cents: { kind: 'int', class: 'business', source: inRecord, meaning: 'premium without fees and taxes', cents: true },
    fees_cents: { kind: 'int', class: 'business', source: inRecord, meaning: 'fees', cents: true },
    taxes_cents: { kind: 'int', class: 'business', source: inRecord, meaning: 'taxes', cents: true },
    total_billed_cents: { kind: 'int', class: 'business', source: inRecord, meaning: 'premium, fees and taxes together', cents: true },
    commission_rate: {
      kind: 'real',
      class: 'business',
      source: inRecord,
      meaning: "rate of the broker's commission, as the service gives it",
    },
    commission_cents: { kind: 'int', class: 'business', source: inRecord, meaning: "the broker's commission", cents: true },
    payment_terms: { kind: 'json', class: 'business', source: inRecord, meaning: 'the payment terms, any JSON value' },
    gone_at: goneFrom('the service'),
    raw: { kind: 'raw', class: 'free', source: 'the whole answer', meaning: 'the answer as it came', link: true },
  },
})

export type PolicyRow = RowOf<typeof policies>
