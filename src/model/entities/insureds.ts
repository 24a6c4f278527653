import { entity, type RowOf } from '../entity.ts'
import { account, goneFrom, namedBy } from './common.ts'

export const insureds = entity({
  table: 'insureds',
  holds:
    "Insureds: identity, contacts, and the brokerage's submissions and policies of each. The service does not show the fields, so all of it stands in `raw`.",
  read: 'insured',
  key: ['account', 'insured_id'],
  fields: {
    account,
    insured_id: { kind: 'text', class: 'none', source: 'path', meaning: 'its id' },
    submission_id: namedBy,
    gone_at: goneFrom('the service'),
    raw: { kind: 'raw', class: 'free', source: 'the whole answer', meaning: 'the answer as it came' },
  },
})

export type InsuredRow = RowOf<typeof insureds>
