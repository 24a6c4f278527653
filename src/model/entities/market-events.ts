import { entity, type RowOf } from '../entity.ts'
import { account, firstSeenAt, firstSeenVia, goneFromFeed, submissionId } from './common.ts'
import { json, raw, text, time } from './fields.ts'

export const marketEvents = entity({
  table: 'market_events',
  holds: 'Events in the markets, one row for each event of the service, kept forever. Order: `occurred_at`, `event_id`.',
  read: 'events',
  absentIsNull: true,
  key: ['account', 'submission_id', 'event_id'],
  fields: {
    account,
    submission_id: submissionId,
    event_id: text('none', "the event's id, stable", { path: 'id', as: 'uuid', required: true }),
    type: text('business', 'so far `market_attached`, `quote_received`, `status_changed`, `declined`, `withdrawn`, `blocked`, `bound`', {
      required: true,
      identity: true,
    }),
    occurred_at: time('none', 'when it happened', { required: true, identity: true }),
    market_name: text('business', "the market's name", { path: 'market.name' }),
    market_lines: json('business', 'list of lines of business', { path: 'market.lines', identity: true }),
    lane_id: text('none', 'its lane, if the service names it; see `lanes`', { path: 'market.lane_id', as: 'uuid' }),
    category: text('business', 'so far `instant_quote`, `binding`, `specialty`', { path: 'market.category', identity: true }),
    status: text('business', 'state after the event, an open vocabulary', { identity: true }),
    status_label: text('business', 'display text'),
    detail: text('free', 'recorded reason of a terminal outcome, if any', { shown: true, identity: true }),
    first_seen_at: firstSeenAt,
    first_seen_via: firstSeenVia,
    gone_at: goneFromFeed,
    raw: raw('free', 'the event as received', { source: 'the whole event' }),
  },
})

export type MarketEventRow = RowOf<typeof marketEvents>
