import { entity, type RowOf } from '../entity.ts'
import { account, firstSeenAt, firstSeenVia, goneFromFeed, submissionId } from './common.ts'

export const marketEvents = entity({
  table: 'market_events',
  holds: 'What happened in the markets, one row for each event of the service, for ever. Order: `occurred_at`, `event_id`.',
  read: 'events',
  key: ['account', 'submission_id', 'event_id'],
  fields: {
    account,
    submission_id: submissionId,
    event_id: { kind: 'text', class: 'none', source: '`id`', meaning: "the event's id, stable" },
    type: {
      kind: 'text',
      class: 'business',
      source: '`type`',
      meaning: 'so far `market_attached`, `quote_received`, `status_changed`, `declined`, `withdrawn`, `blocked`, `bound`',
      identity: true,
    },
    occurred_at: { kind: 'time', class: 'none', source: '`occurred_at`', meaning: 'when it happened', identity: true },
    market_name: { kind: 'text', class: 'business', source: '`market.name`', meaning: "the market's name", identity: true },
    market_lines: { kind: 'json', class: 'business', source: '`market.lines`', meaning: 'list of lines of business', identity: true },
    lane_id: {
      kind: 'text',
      class: 'none',
      source: '`market.lane_id`',
      meaning: 'the lane that it belongs to, when the service says; see `lanes`',
    },
    category: {
      kind: 'text',
      class: 'business',
      source: '`market.category`',
      meaning: 'so far `instant_quote`, `binding`, `specialty`',
      identity: true,
    },
    status: { kind: 'text', class: 'business', source: '`status`', meaning: 'state after the event, an open vocabulary', identity: true },
    status_label: { kind: 'text', class: 'business', source: '`status_label`', meaning: 'the same in words to show' },
    detail: {
      kind: 'text',
      class: 'free',
      shown: true,
      source: '`detail`',
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
