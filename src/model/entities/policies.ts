import { entity, type RowOf } from '../entity.ts'
import { account, goneFrom, namedBy } from './common.ts'

export const policies = entity({
  table: 'policies',
  holds:
    'Bound policies. The service describes what an answer holds (identifiers, coverage lines, term, carrier, premium, commission, documents) and not its fields, so all of it stands in `raw`.',
  read: 'policy',
  key: ['account', 'policy_id'],
  fields: {
    account,
    policy_id: { kind: 'text', class: 'none', source: 'path', meaning: 'its id' },
    submission_id: namedBy,
    gone_at: goneFrom('the service'),
    raw: { kind: 'raw', class: 'free', source: 'the whole answer', meaning: 'the answer as it came' },
  },
})

export type PolicyRow = RowOf<typeof policies>
