import { entity, type RowOf } from '../entity.ts'
import { account, firstSeenAt, goneFrom, keyId, laneId, submissionId } from './common.ts'
import { bool, int, json, raw, text } from './fields.ts'

export const quotes = entity({
  table: 'quotes',
  holds: 'Quotes that the service has relayed in a lane.',
  read: 'requirements',
  parent: 'lanes',
  key: ['account', 'submission_id', 'lane_id', 'quote_id'],
  fields: {
    account,
    submission_id: submissionId,
    lane_id: laneId,
    quote_id: keyId('rail.lanes[].quotes[].quote_id'),
    premium_display: text('business', 'the premium in words, for display only, not for calculations'),
    total_cents: int('business', "the quote's total, as sent; the service doesn't say whether fees and taxes are included", {
      cents: true,
    }),
    lines: json('business', 'list of lines of business'),
    is_revision: bool('none', 'it replaces an earlier quote'),
    first_seen_at: firstSeenAt,
    gone_at: goneFrom('the lane'),
    raw: raw('business', 'the quote as received', { source: 'the whole quote' }),
  },
})

export type QuoteRow = RowOf<typeof quotes>
