import { entity, type RowOf } from '../entity.ts'
import { account, firstSeenAt, firstSeenVia, goneFromFeed, submissionId } from './common.ts'

export const marketEvents = entity({
  table: 'market_events',
  holds: 'What happened in the markets, one row for each event of the service, for ever. Order: `occurred_at`, `event_id`.',
  read: 'events',
  absentIsNull: true,
  key: ['account', 'submission_id', 'event_id'],
  fields: {
    account,
    submission_id: submissionId,
    event_id: { kind: 'text', class: 'none', path: 'id', as: 'uuid', required: true, meaning: "the event's id, stable" },
    type: {
      kind: 'text',
      class: 'business',
      required: true,
      meaning: 'so far `market_attached`, `quote_received`, `status_changed`, `declined`, `withdrawn`, `blocked`, `bound`',
      identity: true,
    },
    occurred_at: { kind: 'time', class: 'none', required: true, meaning: 'when it happened', identity: true },
    market_name: { kind: 'text', class: 'business', path: 'market.name', meaning: "the market's name" },
    market_lines: { kind: 'json', class: 'business', path: 'market.lines', meaning: 'list of lines of business', identity: true },
    lane_id: {
      kind: 'text',
      class: 'none',
      path: 'market.lane_id',
      as: 'uuid',
      meaning: 'the lane that it belongs to, when the service says; see `lanes`',
    },
    category: {
      kind: 'text',
      class: 'business',
      path: 'market.category',
      meaning: 'so far `instant_quote`, `binding`, `specialty`',
      identity: true,
    },
    status: { kind: 'text', class: 'business', meaning: 'state after the event, an open vocabulary', identity: true },
    status_label: { kind: 'text', class: 'business', meaning: 'the same in words to show' },
    detail: {
      kind: 'text',
      class: 'free',
      shown: true,
      meaning: 'recorded reason of a terminal outcome, when there is one',
      identity: true,
    },
    first_seen_at: firstSeenAt,
    first_seen_via: firstSeenVia,
    gone_at: goneFromFeed,
    raw: { kind: 'raw', class: 'free', source: 'the whole event', meaning: 'the event as it came' },
  },
})

export type MarketEventRow = RowOf<typeof marketEvents>
