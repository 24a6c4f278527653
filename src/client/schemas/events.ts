import { z } from 'zod'
import { known, moment, programCategory, text, texts, uuid } from './fields.ts'

/** Opaque cursor. Only null means the end of the feed. A short page doesn't. */
export const nextCursor = z.string().nullable().describe('Cursor of the next page; null only at the end of the stream')

export const eventMarketSchema = z
  .looseObject({
    name: text('Name of the market'),
    lines: texts('Lines of business'),
    lane_id: uuid('Equals `rail.lanes[].submission_market_id`').nullable(),
    category: programCategory,
  })
  .partial()
  .describe('The market of an event')

export const marketEventSchema = z
  .looseObject({
    id: uuid('Stable; dedupe key'),
    type: known(['market_attached', 'quote_received', 'status_changed', 'declined', 'withdrawn', 'blocked', 'bound'], 'Type of the event'),
    occurred_at: moment('Time of the event'),
    market: eventMarketSchema,
    status: text("Status of the lane, as in the submission detail's markets roll-up"),
    status_label: text('The status in words'),
    detail: text('Recorded rationale of a terminal outcome, when there is one').nullable(),
  })
  .partial()
  .required({ id: true, type: true })
  .describe('An event of a market')
export type MarketEvent = z.output<typeof marketEventSchema>

export const eventsPageSchema = z
  .looseObject({ events: z.array(marketEventSchema).describe('Oldest first'), next_cursor: nextCursor })
  .describe('A page of the events feed; it may be short or empty before the end')
export type EventsPage = z.output<typeof eventsPageSchema>
