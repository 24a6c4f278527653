import { z } from 'zod'
import type { Json } from '../../model/json.ts'
import { maskedValue, shownOutcome } from '../../model/masking.ts'
import { type TimelineKind, timelineKinds } from '../../store/mirror/timeline.ts'
import { wholeEntities } from '../../store/mirror/whole-submission.ts'
import { record, time } from '../output/schema.ts'
import { hidden } from './hidden.ts'
import { rowKeySchema } from './inputs.ts'
import { rowSchemaOf } from './row-schemas.ts'

/** What the operations on submissions answer. */

export const cents = z.int().describe('in cents of a US dollar')

const chip = record('LaneChip', {
  lane_id: z.string(),
  market_name: z.string().nullable(),
  category: z.string().nullable().describe('so far `instant_quote`, `binding`, `specialty`'),
  status: z.string().nullable(),
  status_label: z.string().nullable(),
  chip: z.string().nullable().describe('so far `bound`, `quoted`, `needs_info`, `in_progress`, `not_available`'),
  bound: z.boolean().nullable(),
})

const bestQuote = record(
  'BestQuote',
  {
    lane_id: z.string(),
    quote_id: z.string(),
    market_name: z.string().nullable(),
    kind: z.enum(['firm', 'indication']).nullable().describe("by the carrier's own documents of the lane; null: none of them says so"),
    total_cents: cents,
    premium_display: z.string().nullable().describe('to show, never to compute with'),
  },
  'the lowest current quote: none that a later revision may have replaced',
)

export const submissionItem = record('SubmissionItem', {
  account: z.string(),
  submission_id: z.string(),
  insured_name: z.string().nullable().describe('never masked: what people know a submission by'),
  lines: z.unknown().describe('lines of business, a list of slugs; null when not said'),
  state: z.string().nullable().describe('the US state'),
  effective_date: z.string().nullable().meta({ format: 'date' }),
  marketing_status: z.string().nullable(),
  stage: z
    .string()
    .describe(
      'where it stands: `unreachable`; else the chip of the lane that is furthest: `bound`, `quoted`, `needs_info`, `in_progress`, ' +
        '`not_available`; without lanes its `marketing_status`, and without that `unknown`',
    ),
  lanes: z.array(chip).readonly().describe('lanes that are not gone, by market'),
  best_quote: bestQuote.nullable(),
  outstanding_count: z.int().describe('what the broker must still supply, from all sources of `open_items`'),
  bind_status: z.string().nullable().describe('of the newest bind request'),
  documents_held: z.int(),
  documents_missing: z.int(),
  moved_at: time.describe('its newest event or message; when there is none, since when it is tracked'),
  tracked_at: time,
  unreachable_since: time.nullable(),
  oldest_read_at: time.nullable().describe('how fresh it is: the oldest of its three main reads; null: one was never made'),
  pushed: record(
    'PushedOfSubmission',
    {
      waiting: z.int().describe('changes that go by themselves'),
      unmapped: z.int().describe('that wait for a client of the AMS'),
      held: z.int().describe('that wait behind one that a person must see to'),
      dead: z.int().describe('that were given up, or of which nobody knows whether they arrived'),
    },
    'its changes at all destinations together; with none in any of these all were delivered',
  )
    .nullable()
    .describe('null: none was queued, or not lately'),
  proved_at: time.nullable().describe('when a reconcile run last proved it equal to the service; null: never yet'),
})

const tables = z.object(Object.fromEntries(wholeEntities.map((entity) => [entity.table, z.array(rowSchemaOf(entity))])))

export const openItem = record('OpenItem', {
  source: z.string().describe('`outstanding`, `market`, `bind assumption`, `bind contingency`'),
  item_key: z.string(),
  market_name: z.string().nullable().describe('null: of the submission as a whole, or it cannot be told'),
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
  may_be_superseded: z.boolean().nullable().describe('a later revision may stand in its place; null: it cannot be told'),
  is_bound_quote: z.boolean().nullable().describe('its lane is bound at it; null: the lane is bound, and it cannot be told'),
})

export const submissionView = record('SubmissionView', {
  summary: submissionItem,
  hint: z.string().nullable().describe('what to do about a submission that the service does not know; null: it does'),
  tables: tables.describe('the rows of every table but events and messages, which the timeline has; what is gone bears `gone_at`'),
  cut: z.array(z.string()).describe('tables of which there are more rows than are shown'),
  freshness: z.array(
    record('ReadFreshness', {
      read: z.string(),
      last_read_at: time.nullable().describe('null: never yet'),
      last_changed_at: time.nullable(),
      last_replay_at: time.nullable(),
    }),
  ),
  ledger: z
    .object({
      tracked_at: time,
      tracked_via: z.string(),
      lag_seconds: z.int(),
      failing_reads: z.int(),
      proved_at: time.nullable(),
      proved_by: z.string().nullable().describe('the reconcile run'),
      unconfirmed: z.string().nullable().describe('parts that the service left out of its answer to that run'),
      event_count: z.int(),
      message_count: z.int(),
      lost_webhooks: z.int(),
    })
    .nullable()
    .meta({ id: 'SubmissionLedger', description: 'what the view `completeness` says of it' }),
  clients: z
    .array(
      record('ClientMapping', {
        destination: z.string(),
        destination_state: z.string(),
        client: z.string().nullable().describe('null: not mapped'),
        policy: z.string().nullable(),
        mapped_at: time.nullable(),
        mapped_via: z.string().nullable(),
      }),
    )
    .describe('what it is mapped to, by destination'),
  reached: z
    .array(
      record('ReachedDestination', {
        destination: z.string(),
        mapping: z
          .enum(['none', 'required', 'lookup'])
          .nullable()
          .describe('whether it needs a client there; null: not in the settings, or not of this account'),
        delivered: z.int().describe('changes that it took, of those that retention keeps; sent again they count once'),
        last_delivered_at: time.nullable(),
        waiting: z.int().describe('that will be sent by themselves'),
        oldest_waiting_at: time.nullable().describe('since when the oldest waits, whatever for'),
        unmapped: z.int().describe('that wait for a client of the AMS'),
        held: z.int().describe('that wait behind one that a person must see to'),
        dead: z.int(),
        unknown: z.int().describe('that may have arrived'),
        skipped: z.int().describe('given up for good'),
        has: z.int().describe('of those that it took, those that it has, as it answered when it was last asked (`destination verify`)'),
        lacks: z.int().describe('that it lacks, likewise, and was not sent again'),
        differs: z.int().describe('that it has not as they were sent, likewise'),
        verified_at: time.nullable().describe('since when the oldest of these answers holds; null: it was never asked'),
        not_queued: z.int().describe('of the change log, behind what was queued for it; it may not be sent all of them'),
      }),
    )
    .describe('how many of its changes each destination has, and what became of the others'),
  open_items: z.array(openItem).describe('what the broker must still supply, from all sources'),
  quote_board: z.array(quoteOnBoard).describe('what the view `quote_board` says of its quotes that are not gone, the lowest first'),
  extra_reads: z.array(record('ExtraRead', { name: z.string(), read_at: time, row_key: rowKeySchema })),
})

const sent = record(
  'TimelinePush',
  {
    outbox_id: z.int(),
    destination: z.string(),
    state: z.string().describe('as in the view push_status'),
    seq: z.int().describe('the change'),
    delivered_at: time.nullable(),
    tried_at: time.nullable(),
    attempts: z.int(),
    status: z.int().nullable(),
    resent: z.boolean().describe('it is sent again because an operator asked for it'),
  },
  'what became of it at a destination',
)

const changed = record(
  'TimelineChange',
  { column: z.string(), before: z.unknown(), after: z.unknown() },
  'a column that changed; personal values are masked',
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

/** A field of an entry that holds a column of an event, or one of a message. */
function told(ofEvent: string, ofMessage: string, description: string) {
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
  id: z.string().describe('the id of an event or a message, the `seq` of a change, the number of a push'),
  at: time.describe('when it happened; of a change when it was stored; of a push when it was settled, else last tried, else queued'),
  known_at: time.nullable().describe('when it was stored here'),
  known_via: z
    .string()
    .nullable()
    .describe('of an event or a message `webhook`, `poll`, `replay`, `backfill`, `reconcile`; of a change its cause; null of a push'),
  late_ms: z.int().nullable().describe('of an event or a message: from when it happened to when it was stored'),
  webhook: z
    .string()
    .nullable()
    .describe('whether a webhook told of it: `first`, `later` (after a feed had shown it), `none`, `not expected`'),
  webhook_at: time.nullable(),
  what: z.string().describe('the type of an event, the kind of a message, the table and the operation of a change or push'),
  summary: told('status_label', 'subject', 'the label of the state, the subject'),
  text: told('detail', 'body_text', 'the detail of an event; the body of a message, masked'),
  party: told('market_name', 'from_address', 'the market; who wrote, masked'),
  direction: z.string().nullable().describe("of a message, in the service's view: `inbound` was written by the brokerage"),
  lane_id: z.string().nullable(),
  seq: z.int().nullable().describe('of a change and of a push'),
  operation: z.string().nullable(),
  entity: z.string().nullable().describe('the table of the row that it is about'),
  row_key: rowKeySchema.nullable(),
  gone_at: time.nullable(),
  changed: hidden(z.array(changed), maskedChanges),
  pushes: z.array(sent),
  attachments: z.array(attachment),
  destination: z.string().nullable().describe('of a push'),
  state: z.string().nullable().describe('of a push'),
  error: hidden(
    z.string().nullable().describe('of a push'),
    (text, { pushes: [push] }: { readonly pushes: readonly { readonly status: number | null }[] }) =>
      shownOutcome(text, push?.status ?? null),
  ),
})
