import { z } from 'zod'
import type { Entity, Field } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import { jsonTypes } from '../../model/json-types.ts'
import { isMasked, MASK, maskedValue, shownOutcome } from '../../model/masking.ts'
import { type TimelineKind, timelineKinds } from '../../store/mirror/timeline.ts'
import { wholeEntities } from '../../store/mirror/whole-submission.ts'
import { asOfClocks } from '../actions/as-of.ts'
import { record, time } from '../output/schema.ts'
import { hidden } from './hidden.ts'
import { rowKeySchema } from './inputs.ts'

export const cents = z.int().describe('US cents')

const chip = record('LaneChip', {
  lane_id: z.string(),
  market_name: z.string().nullable(),
  category: z.string().nullable().describe('`instant_quote`, `binding`, `specialty`, or a later addition'),
  status: z.string().nullable(),
  status_label: z.string().nullable(),
  chip: z.string().nullable().describe('`bound`, `quoted`, `needs_info`, `in_progress`, `not_available`, or a later addition'),
  bound: z.boolean().nullable(),
})

const bestQuote = record(
  'BestQuote',
  {
    lane_id: z.string(),
    quote_id: z.string(),
    market_name: z.string().nullable(),
    kind: z.enum(['firm', 'indication']).nullable().describe("from the carrier's documents of the lane; null if unknown"),
    total_cents: cents,
    premium_display: z.string().nullable().describe('for display only'),
  },
  'lowest current quote, excluding quotes that a later revision may replace',
)

export const submissionItem = record('SubmissionItem', {
  account: z.string(),
  submission_id: z.string(),
  insured_name: z.string().nullable().describe('never masked'),
  lines: z.unknown().describe('lines of business, as a list of slugs'),
  state: z.string().nullable().describe('US state'),
  effective_date: z.string().nullable().meta({ format: 'date' }),
  marketing_status: z.string().nullable(),
  stage: z.string().describe('`unreachable`, or the chip of the furthest lane, or else `marketing_status`, or else `unknown`'),
  lanes: z.array(chip).readonly().describe('current lanes, by market'),
  best_quote: bestQuote.nullable(),
  outstanding_count: z.int().describe('number of `open_items`'),
  bind_status: z.string().nullable().describe('status of the newest bind request'),
  documents_held: z.int(),
  documents_missing: z.int(),
  moved_at: time.describe('time of its newest event or message, or else when tracking began'),
  tracked_at: time,
  unreachable_since: time.nullable(),
  oldest_read_at: time.nullable().describe('oldest of its three main reads; null if one was never made'),
  pushed: record(
    'PushedOfSubmission',
    {
      waiting: z.int().describe('changes that are sent automatically'),
      unmapped: z.int().describe('changes that need an AMS client'),
      held: z.int().describe('changes behind one that needs attention'),
      dead: z.int().describe('dead changes and changes with an unknown outcome'),
    },
    'undelivered changes for all destinations',
  )
    .nullable()
    .describe('null if no changes were queued recently'),
  reconciled_at: time.nullable().describe('when a reconcile run last found it equal to the service; null if never'),
})

/** @returns the schema of a table's rows. Omits `raw` columns. */
function rowSchemaOf(entity: Entity) {
  const columns = Object.entries(entity.fields).flatMap(([column, field]) =>
    field.kind === 'raw' ? [] : [[column, columnSchema(field, entity.key.includes(column))] as const],
  )
  const shape = { row_key: rowKeySchema, ...Object.fromEntries(columns) }
  return z.object(shape).meta({ id: rowIdOf(entity.table), description: entity.holds })
}

/**
 * @returns the schema of a column. The schema names the type without enforcing it.
 * A SQLite column may contain values of any type.
 */
function columnSchema(field: Field, isKey: boolean) {
  const { type, format } = jsonTypes[field.kind]
  const isPersonal = isMasked(field)
  const masked = isPersonal ? `; masked as \`${MASK}\`, shown in the single row` : ''
  const description = `${field.meaning}${field.cents ? ', in cents' : ''}${masked}`
  const schema = z.unknown().meta({ ...(type && { type: isKey ? type : [type, 'null'] }), ...(format && { format }), description })
  return isPersonal ? hidden(schema, () => MASK) : schema
}

/** @returns the schema id of a table's rows: `MarketReadinessRow` for `market_readiness`. */
function rowIdOf(table: string): string {
  const words = table.split('_').map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
  return `${words.join('')}Row`
}

const tables = z.object(Object.fromEntries(wholeEntities.map((entity) => [entity.table, z.array(rowSchemaOf(entity))])))

export const openItem = record('OpenItem', {
  source: z.string().describe('`outstanding`, `market`, `bind assumption`, `bind contingency`'),
  item_key: z.string(),
  market_name: z.string().nullable().describe('null: the whole submission, or unknown'),
  lane_id: z.string().nullable(),
  label: z.string().nullable(),
  how_to_provide: z.string().nullable(),
  bind_request_id: z.string().nullable(),
  bind_status: z.string().nullable(),
})

export const quoteOnBoard = record('QuoteOnBoard', {
  lane_id: z.string(),
  quote_id: z.string(),
  first_seen_at: time,
  may_be_superseded: z.boolean().nullable().describe('whether a later revision may replace it; null if unknown'),
  is_bound_quote: z.boolean().nullable().describe('whether its lane is bound at this quote; null if unknown'),
})

export const submissionCompleteness = z
  .looseObject({
    account: z.string(),
    submission_id: z.string(),
    tracked_at: time,
    tracked_via: z.string().describe('why it is tracked'),
    unreachable_since: time.nullable(),
    lag_seconds: z.int(),
    failing_reads: z.int(),
    reconciled_at: time.nullable(),
    reconciled_by: z.string().nullable().describe('reconcile run'),
    unconfirmed: z.string().nullable().describe('parts missing from the answer to that run'),
    event_count: z.int(),
    message_count: z.int(),
    lost_webhooks: z.int(),
  })
  .meta({ id: 'SubmissionCompleteness', description: 'row of the view `completeness`' })

export const submissionView = record('SubmissionView', {
  as_of: record('AsOf', {
    at: time,
    by: z.enum(asOfClocks),
    seq: z.int().describe('last change shown'),
    since: time.describe('earliest time that the change log can restore'),
  })
    .nullable()
    .describe('earlier time that is shown; `raw`, read times, pushes and completeness exist only for now. null: now'),
  summary: submissionItem,
  hint: z.string().nullable().describe('what to do if the service does not know the submission'),
  tables: tables.describe('rows of every table except events and messages, which the timeline has; removed rows have `gone_at`'),
  cut: z.array(z.string()).describe('tables with more rows than shown'),
  freshness: z.array(
    record('ReadFreshness', {
      read: z.string(),
      last_read_at: time.nullable().describe('null if never'),
      last_changed_at: time.nullable(),
      last_full_read_at: time.nullable(),
    }),
  ),
  completeness: submissionCompleteness.nullable(),
  clients: z
    .array(
      record('ClientMapping', {
        destination: z.string(),
        destination_state: z.string(),
        client: z.string().nullable().describe('null if not mapped'),
        policy: z.string().nullable(),
        mapped_at: time.nullable(),
        mapped_via: z.string().nullable(),
      }),
    )
    .describe('mapped clients, by destination'),
  reached: z
    .array(
      record('ReachedDestination', {
        destination: z.string(),
        mapping: z.enum(['none', 'required', 'lookup']).nullable().describe('null if not configured, or not for this account'),
        delivered: z.int().describe('delivered changes within retention; a resent change counts once'),
        last_delivered_at: time.nullable(),
        waiting: z.int().describe('changes that are sent automatically'),
        oldest_waiting_at: time.nullable().describe('queue time of the oldest undelivered change'),
        unmapped: z.int().describe('changes that need an AMS client'),
        held: z.int().describe('changes behind one that needs attention'),
        dead: z.int(),
        unknown: z.int().describe('changes that may have arrived'),
        skipped: z.int(),
        has: z.int().describe('delivered changes that the destination has, by the last `destination verify`'),
        lacks: z.int().describe('delivered changes that it lacks and was not sent again'),
        differs: z.int().describe('delivered changes that it has with other values'),
        verified_at: time.nullable().describe('oldest of these answers; null if never verified'),
        not_queued: z.int().describe('changes not queued yet; filters may exclude some'),
      }),
    )
    .describe('delivery of its changes, by destination'),
  open_items: z.array(openItem).describe('items that the broker must supply'),
  quote_board: z.array(quoteOnBoard).describe('current quotes in the view `quote_board`, lowest first'),
  extra_reads: z.array(record('ExtraRead', { name: z.string(), read_at: time, row_key: rowKeySchema })),
})

const sent = record(
  'TimelinePush',
  {
    outbox_id: z.int(),
    destination: z.string(),
    state: z.string().describe('as in the view push_status'),
    seq: z.int().describe('change number'),
    delivered_at: time.nullable(),
    tried_at: time.nullable(),
    attempts: z.int(),
    status: z.int().nullable(),
    resent: z.boolean().describe('sent again by an operator'),
  },
  'delivery to a destination',
)

const changed = record(
  'TimelineChange',
  { column: z.string(), before: z.unknown(), after: z.unknown() },
  'changed column; personal values are masked',
)

interface Changed {
  readonly column: string
  readonly before?: unknown
  readonly after?: unknown
}

function maskedChanges(columns: readonly Changed[], { entity }: { readonly entity: string | null }): Changed[] {
  const shown = (column: string, value: unknown) => maskedValue(entity ?? '', column, (value ?? null) as Json)
  return columns.map(({ column, before, after }) => ({ column, before: shown(column, before), after: shown(column, after) }))
}

/**
 * @returns the schema of a timeline field that shows a column of the event or a column of the message.
 * @param ofEvent column of an event.
 * @param ofMessage column of a message.
 */
function eventOrMessageColumn(ofEvent: string, ofMessage: string, description: string) {
  const mask = (text: string, { kind, entity }: { readonly kind: TimelineKind; readonly entity: string | null }) =>
    maskedValue(entity ?? '', kind === 'event' ? ofEvent : ofMessage, text)
  return hidden(z.string().nullable().describe(description), mask)
}

const attachment = record('TimelineAttachment', {
  position: z.int(),
  name: z.string().nullable(),
  document_key: z.string().nullable(),
  gone_at: time.nullable(),
})

export const timelineItem = record('TimelineItem', {
  kind: z.enum(timelineKinds),
  id: z.string().describe('id of the event or message, `seq` of the change, or number of the push'),
  at: time.describe('time of the event or message, when a change was stored, or when a push was settled, last tried or queued'),
  known_at: time.nullable().describe('when it was stored'),
  known_via: z
    .string()
    .nullable()
    .describe('`webhook`, `poll`, `full_read`, `backfill`, `reconcile`, or the cause of a change; null for a push'),
  late_ms: z.int().nullable().describe('ms from the event or message to its storage'),
  webhook: z.string().nullable().describe('webhook for it: `first`, `later` (a feed was first), `none`, `not expected`'),
  webhook_at: time.nullable(),
  what: z.string().describe('event type, message kind, or table and operation of the change or push'),
  summary: eventOrMessageColumn('status_label', 'subject', 'status label, or subject'),
  text: eventOrMessageColumn('detail', 'body_text', 'detail of the event, or masked body of the message'),
  party: eventOrMessageColumn('market_name', 'from_address', 'market, or masked sender'),
  direction: z.string().nullable().describe('as seen by the service: the brokerage wrote `inbound` messages'),
  lane_id: z.string().nullable(),
  seq: z.int().nullable().describe('change number, for changes and pushes'),
  operation: z.string().nullable(),
  entity: z.string().nullable().describe('table of its row'),
  row_key: rowKeySchema.nullable(),
  gone_at: time.nullable(),
  changed: hidden(z.array(changed), maskedChanges),
  pushes: z.array(sent),
  attachments: z.array(attachment),
  destination: z.string().nullable().describe('for pushes'),
  state: z.string().nullable().describe('for pushes'),
  error: hidden(
    z.string().nullable().describe('for pushes'),
    (text, { pushes: [push] }: { readonly pushes: readonly { readonly status: number | null }[] }) =>
      shownOutcome(text, push?.status ?? null),
  ),
})
