import { bindRequests } from '../../../model/entities/bind-requests.ts'
import { lanes } from '../../../model/entities/lanes.ts'
import { quotes } from '../../../model/entities/quotes.ts'
import { submissions } from '../../../model/entities/submissions.ts'
import { copied, type Relation } from './relation.ts'

export const bindBoard: Relation = {
  name: 'bind_board',
  type: 'view',
  holds: 'The bind requests that the service shows, each with its quote, and how much of it is open.',
  key: [],
  columns: {
    ...copied(bindRequests, 'account', 'submission_id'),
    ...copied(submissions, 'insured_name'),
    ...copied(bindRequests, 'bind_request_id', 'status', 'status_label'),
    ...copied(lanes, 'lane_id', 'market_name'),
    ...copied(bindRequests, 'quote_id'),
    ...copied(quotes, 'total_cents'),
    ...copied(bindRequests, 'payment_option', 'requested_at', 'requested_by', 'effective_date', 'policy_id'),
    unconfirmed_assumption_count: { kind: 'int', class: 'none', source: '`bind_assumptions`', meaning: 'assumptions to confirm' },
    pending_contingency_count: {
      kind: 'int',
      class: 'none',
      source: '`bind_contingencies`',
      meaning: 'of its contingencies those that are `pending`',
    },
    ...copied(bindRequests, 'next_steps'),
  },
}

export const openItems: Relation = {
  name: 'open_items',
  type: 'view',
  holds:
    'What the broker must still supply, from all sources. One row for each item and market; an item may stand in more than one source, since ' +
    'the service names it differently in each.',
  key: [],
  columns: {
    account: { kind: 'text', class: 'none', source: 'settings', meaning: 'whose it is' },
    submission_id: { kind: 'text', class: 'none', source: 'service', meaning: 'its submission' },
    source: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        '`outstanding` (`outstanding_items`), `market` (`needs_from_you` of a market that is not ready), `bind assumption`, `bind contingency` (one ' +
        'that is `pending`)',
    },
    item_key: { kind: 'text', class: 'none', source: 'the table', meaning: 'its key there, below the submission and the bind request' },
    market_name: {
      kind: 'text',
      class: 'business',
      source: 'the table',
      meaning: 'the market that waits for it; null when it concerns the submission or a bind request as a whole',
    },
    label: { kind: 'text', class: 'free', source: 'the table', meaning: 'what it is, in words' },
    how_to_provide: {
      kind: 'text',
      class: 'free',
      source: 'the table',
      meaning: 'how to supply it; of a contingency its `kind`; null when the service does not say',
    },
    bind_request_id: { kind: 'text', class: 'none', source: 'the table', meaning: 'the bind request that waits for it' },
  },
}
