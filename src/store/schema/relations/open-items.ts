import type { Relation } from './relation.ts'

export const openItems: Relation = {
  name: 'open_items',
  type: 'view',
  holds:
    'What the broker must still supply, from all sources. One row for each item and market; an item may stand in more than one source, since ' +
    'the service names it differently in each. Nothing is open of a bind request that is `bound`, `cancelled`, `declined` or `expired`.',
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
      meaning:
        'the market that waits for it, of a bind request the market of its quote; null when it concerns the submission as a whole, or not exactly ' +
        'one lane has that quote',
    },
    lane_id: {
      kind: 'text',
      class: 'none',
      source: 'the table',
      meaning: 'the lane of that market; null when the service names the market alone, as in `outstanding_items`',
    },
    label: { kind: 'text', class: 'free', source: 'the table', meaning: 'what it is, in words' },
    how_to_provide: {
      kind: 'text',
      class: 'free',
      source: 'the table',
      meaning: 'how to supply it; of a contingency its `kind`; null when the service does not say',
    },
    bind_request_id: { kind: 'text', class: 'none', source: 'the table', meaning: 'the bind request that waits for it' },
    bind_status: { kind: 'text', class: 'business', source: '`bind_requests`', meaning: 'the `status` of that bind request' },
  },
}
