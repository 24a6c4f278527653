import { entity, type RowOf } from '../entity.ts'
import { account, firstSeenAt, goneFrom, keyId, laneId, submissionId } from './common.ts'

export const quotes = entity({
  table: 'quotes',
  holds: 'What the service has relayed in a lane.',
  read: 'requirements',
  parent: 'lanes',
  key: ['account', 'submission_id', 'lane_id', 'quote_id'],
  fields: {
    account,
    submission_id: submissionId,
    lane_id: laneId,
    quote_id: keyId('rail.lanes[].quotes[].quote_id'),
    premium_display: {
      kind: 'text',
      class: 'business',
      meaning: 'the premium as the service shows it, in words: to show, never to compute with',
    },
    total_cents: { kind: 'int', class: 'business', meaning: 'the total', cents: true },
    lines: { kind: 'json', class: 'business', meaning: 'list of lines of business' },
    is_revision: { kind: 'bool', class: 'none', meaning: 'it replaces an earlier quote' },
    first_seen_at: firstSeenAt,
    gone_at: goneFrom('the lane'),
    raw: { kind: 'raw', class: 'business', source: 'the whole quote', meaning: 'the quote as it came' },
  },
})

export type QuoteRow = RowOf<typeof quotes>
