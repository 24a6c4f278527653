import { bindRequests } from '../../../model/entities/bind-requests.ts'
import { policies } from '../../../model/entities/policies.ts'
import { submissions } from '../../../model/entities/submissions.ts'
import { copied, type Relation } from './relation.ts'

export const policyBoard: Relation = {
  name: 'policy_board',
  type: 'view',
  holds:
    'The policies that the service shows, each with its market and its premium. They are those of the bind request that names the policy; of ' +
    'several it is the one that was requested last. What comes from the record itself, from `policy_number` on, is best effort: ' +
    '`record_fields` in the settings says where it is looked for.',
  key: [],
  columns: {
    ...copied(policies, 'account', 'policy_id', 'submission_id'),
    ...copied(submissions, 'insured_id', 'insured_name'),
    ...copied(bindRequests, 'bind_request_id'),
    market_name: {
      kind: 'text',
      class: 'business',
      source: '`lanes`',
      meaning: "the market of the bind request's quote; null unless exactly one lane has that quote",
    },
    bound_at: { kind: 'time', class: 'none', source: '`market_events`', meaning: 'when that lane was bound: its newest event `bound`' },
    premium_cents: {
      kind: 'int',
      class: 'business',
      source: '`quotes`',
      meaning: "the total of the bind request's quote; null unless exactly one lane has that quote",
      cents: true,
    },
    ...copied(policies, 'policy_number', 'carrier_name', 'effective_date', 'expiration_date', 'total_billed_cents', 'commission_cents'),
  },
  notes: [
    'To list by `bound_at`, also name the submissions that had such an event, `(account, submission_id) in (select account, submission_id from ' +
      "market_events where account = … and type = 'bound' and occurred_at >= …)`: by `bound_at` alone every policy is looked at.",
  ],
}
