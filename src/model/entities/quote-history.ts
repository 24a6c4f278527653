import { entity } from '../entity.ts'
import { account, goneFrom, keyId, submissionId } from './common.ts'

export const quoteHistory = entity({
  table: 'quote_history',
  holds: 'Quotes that no longer stand. A history that the service says it cannot give changes nothing.',
  read: 'requirements',
  key: ['account', 'submission_id', 'history_key'],
  fields: {
    account,
    submission_id: submissionId,
    history_key: keyId('rail.quote_history[].history_key'),
    market_name: { kind: 'text', class: 'business', meaning: "the market's name" },
    program: { kind: 'text', class: 'business', meaning: "the program's name" },
    outcome: { kind: 'text', class: 'business', meaning: 'so far `expired`, `invalid`' },
    observed_at: { kind: 'time', class: 'none', meaning: 'when the service saw it' },
    gone_at: goneFrom('the history'),
    raw: { kind: 'raw', class: 'business', source: 'the whole item', meaning: 'the item as it came' },
  },
})
