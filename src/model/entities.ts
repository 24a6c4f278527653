import type { Json } from './json.ts'
import type { TimeText } from './time.ts'

/**
 * What a column holds, the same on both databases:
 * `text`, `int` (a safe integer), `bool`, `json` (any JSON value; SQL NULL is null), `time` (TimeText), `date` (YYYY-MM-DD),
 * `raw` (JSON text exactly as kept; never compared for the change log).
 */
export type ColumnKind = 'text' | 'int' | 'bool' | 'json' | 'time' | 'date' | 'raw'

type KindValue = { text: string; int: number; bool: boolean; json: Json; time: TimeText; date: string; raw: string }

/** One public table: its name, its key (`account` first), and its columns. */
export interface Entity {
  readonly table: string
  /** Key columns in order, `account` first. */
  readonly key: readonly string[]
  /** All columns, keys included, in the order of the table. */
  readonly columns: Readonly<Record<string, ColumnKind>>
}

/** A row of an entity as the code sees it: keys are never null, every other column may be. */
export type RowOf<E extends Entity> = {
  -readonly [C in keyof E['columns']]: C extends E['key'][number] ? KindValue[E['columns'][C]] : KindValue[E['columns'][C]] | null
}

/** Any row: column name to value. */
export type Row = { [column: string]: Json }

export const submissions = {
  table: 'submissions',
  key: ['account', 'submission_id'],
  columns: {
    account: 'text',
    submission_id: 'text',
    insured_name: 'text',
    lines: 'json',
    effective_date: 'date',
    state: 'text',
    marketing_status: 'text',
    marketing_hint: 'text',
    form_fill_active: 'bool',
    tracked_at: 'time',
    tracked_via: 'text',
    last_event_at: 'time',
    last_message_at: 'time',
    unreachable_since: 'time',
    raw: 'raw',
  },
} as const satisfies Entity

export const marketEvents = {
  table: 'market_events',
  key: ['account', 'submission_id', 'event_id'],
  columns: {
    account: 'text',
    submission_id: 'text',
    event_id: 'text',
    type: 'text',
    occurred_at: 'time',
    market_name: 'text',
    market_lines: 'json',
    lane_id: 'text',
    category: 'text',
    status: 'text',
    status_label: 'text',
    detail: 'text',
    first_seen_at: 'time',
    first_seen_via: 'text',
    gone_at: 'time',
    raw: 'raw',
  },
} as const satisfies Entity

export const threadMessages = {
  table: 'thread_messages',
  key: ['account', 'submission_id', 'message_id'],
  columns: {
    account: 'text',
    submission_id: 'text',
    message_id: 'text',
    channel: 'text',
    direction: 'text',
    kind: 'text',
    occurred_at: 'time',
    subject: 'text',
    body_text: 'text',
    from_address: 'text',
    to_addresses: 'json',
    in_reply_to: 'text',
    first_seen_at: 'time',
    first_seen_via: 'text',
    gone_at: 'time',
    raw: 'raw',
  },
} as const satisfies Entity

export const threadAttachments = {
  table: 'thread_attachments',
  key: ['account', 'submission_id', 'message_id', 'position'],
  columns: {
    account: 'text',
    submission_id: 'text',
    message_id: 'text',
    position: 'int',
    name: 'text',
    download_path: 'text',
    document_key: 'text',
    gone_at: 'time',
    raw: 'raw',
  },
} as const satisfies Entity

export const lanes = {
  table: 'lanes',
  key: ['account', 'submission_id', 'lane_id'],
  columns: {
    account: 'text',
    submission_id: 'text',
    lane_id: 'text',
    market_id: 'text',
    market_name: 'text',
    program: 'text',
    program_id: 'text',
    program_category: 'text',
    lines: 'json',
    status: 'text',
    status_label: 'text',
    submit_ready: 'bool',
    gapped: 'bool',
    unmet_labels: 'json',
    bound: 'bool',
    chip: 'text',
    carrier_api_session_ids: 'json',
    next_step: 'text',
    state_source: 'text',
    state_event_id: 'text',
    state_occurred_at: 'time',
    gone_at: 'time',
    raw: 'raw',
  },
} as const satisfies Entity

export const quotes = {
  table: 'quotes',
  key: ['account', 'submission_id', 'lane_id', 'quote_id'],
  columns: {
    account: 'text',
    submission_id: 'text',
    lane_id: 'text',
    quote_id: 'text',
    premium_display: 'text',
    total_cents: 'int',
    lines: 'json',
    is_revision: 'bool',
    gone_at: 'time',
    raw: 'raw',
  },
} as const satisfies Entity

export const sourceOffers = {
  table: 'source_offers',
  key: ['account', 'submission_id', 'lane_id', 'presentation_id'],
  columns: {
    account: 'text',
    submission_id: 'text',
    lane_id: 'text',
    presentation_id: 'text',
    kind: 'text',
    label: 'text',
    document_url: 'text',
    filename: 'text',
    gone_at: 'time',
    raw: 'raw',
  },
} as const satisfies Entity

export const quoteHistory = {
  table: 'quote_history',
  key: ['account', 'submission_id', 'history_key'],
  columns: {
    account: 'text',
    submission_id: 'text',
    history_key: 'text',
    market_name: 'text',
    program: 'text',
    outcome: 'text',
    observed_at: 'time',
    gone_at: 'time',
    raw: 'raw',
  },
} as const satisfies Entity

/** Every public table of service data, in the order in which `apply` locks and writes them. */
export const entities = [submissions, marketEvents, threadMessages, threadAttachments, lanes, quotes, sourceOffers, quoteHistory] as const

export type SubmissionRow = RowOf<typeof submissions>
export type MarketEventRow = RowOf<typeof marketEvents>
export type ThreadMessageRow = RowOf<typeof threadMessages>
export type ThreadAttachmentRow = RowOf<typeof threadAttachments>
export type LaneRow = RowOf<typeof lanes>
export type QuoteRow = RowOf<typeof quotes>
export type SourceOfferRow = RowOf<typeof sourceOffers>
export type QuoteHistoryRow = RowOf<typeof quoteHistory>
