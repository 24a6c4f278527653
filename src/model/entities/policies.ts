import { entity, type RowOf } from '../entity.ts'
import { account, goneFrom, inRecord, namedBy } from './common.ts'

export const policies = entity({
  table: 'policies',
  holds:
    'Bound policies. The service describes what an answer holds (identifiers, coverage lines, term, carrier, premium, commission, documents) ' +
    'and not its fields, so all of it stands in `raw`. The columns from `policy_number` to `commission_cents` are best effort: they are looked ' +
    'for where `record_fields` in the settings says.',
  read: 'policy',
  key: ['account', 'policy_id'],
  fields: {
    account,
    policy_id: { kind: 'text', class: 'none', source: 'path', meaning: 'its id' },
    submission_id: namedBy,
    policy_number: { kind: 'text', class: 'business', source: inRecord, meaning: 'its number' },
    carrier_name: { kind: 'text', class: 'business', source: inRecord, meaning: 'name of the carrier' },
    effective_date: { kind: 'date', class: 'business', source: inRecord, meaning: 'date from which it covers' },
    expiration_date: { kind: 'date', class: 'business', source: inRecord, meaning: 'date on which it ends' },
    total_billed_cents: { kind: 'int', class: 'business', source: inRecord, meaning: 'premium, fees and taxes together', cents: true },
    commission_cents: { kind: 'int', class: 'business', source: inRecord, meaning: "the broker's commission", cents: true },
    gone_at: goneFrom('the service'),
    raw: { kind: 'raw', class: 'free', source: 'the whole answer', meaning: 'the answer as it came', link: true },
  },
})

export type PolicyRow = RowOf<typeof policies>
