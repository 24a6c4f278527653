import { entity } from '../entity.ts'
import { account, goneFrom, keyId, submissionId } from './common.ts'
import { raw, text, time } from './fields.ts'

export const quoteHistory = entity({
  table: 'quote_history',
  holds: 'Quotes that are no longer valid. A history that the service reports as unavailable changes nothing.',
  read: 'requirements',
  key: ['account', 'submission_id', 'history_key'],
  fields: {
    account,
    submission_id: submissionId,
    history_key: keyId('rail.quote_history[].history_key'),
    market_name: text('business', "the market's name"),
    program: text('business', "the program's name"),
    outcome: text('business', 'so far `expired`, `invalid`'),
    observed_at: time('none', 'when the service saw it'),
    gone_at: goneFrom('the history'),
    raw: raw('business', 'the item as received', { source: 'the whole item' }),
  },
})
