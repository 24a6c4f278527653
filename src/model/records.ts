import type { LaneRow } from './entities/lanes.ts'
import type { MarketEventRow } from './entities/market-events.ts'
import type { QuoteHistoryRow } from './entities/quote-history.ts'
import type { QuoteRow } from './entities/quotes.ts'
import type { SourceOfferRow } from './entities/source-offers.ts'
import type { SubmissionRow } from './entities/submissions.ts'
import type { ThreadAttachmentRow } from './entities/thread-attachments.ts'
import type { ThreadMessageRow } from './entities/thread-messages.ts'
import type { Row } from './entity.ts'

/** How something reached us: which way a row was first seen, and what caused a change. */
export type Via = 'webhook' | 'poll' | 'backfill' | 'reconcile'
export type Cause = Via | 'command'

type Placed = 'account' | 'submission_id'
type Seen = 'first_seen_at' | 'first_seen_via' | 'gone_at'

/** A market event of the spec in the columns of the mirror, before it is known where and how it was seen. */
export type MarketEvent = Omit<MarketEventRow, Placed | Seen>

/** An attachment of a message; its position is its place in the list, from 0. */
export type Attachment = Omit<ThreadAttachmentRow, Placed | 'message_id' | 'gone_at'>

/** A ThreadMessage of the spec in the columns of the mirror, with its attachments. */
export interface ThreadMessage {
  readonly message: Omit<ThreadMessageRow, Placed | Seen>
  readonly attachments: readonly Attachment[]
}

/**
 * Whether a list of the view was there and every item of it could be read. Only from a whole list may be concluded that what it does not
 * show is gone (invariant 7).
 */
export type CompleteLists<Lists extends string> = { readonly [List in Lists]: boolean }

/**
 * What a view says of a row. A column that it does not speak of is left out: the last value stands. One that it says to be null, or in
 * words that cannot be read, is null: the last value does not stand any more, and `raw` keeps what was said.
 */
export type Reported<Columns, Always extends keyof Columns> = Partial<Columns> & Pick<Columns, Always>

/** A list of a view: rows of one table. */
export interface ViewList {
  readonly table: string
  /** Key columns that all its rows share beside the submission: empty, or the key of the row that they hang on. */
  readonly of: Row
  /** In columns, the key below the submission included. What the view does not speak of is left out: the last value stands. */
  readonly rows: readonly Row[]
  /**
   * Whether the list was there and every item of it could be read. Only from a whole list may be concluded that what it does not show is
   * gone (invariant 7).
   */
  readonly whole: boolean
}

/** A lane of the rail with what hangs on it. */
export interface RailLane {
  readonly lane: Reported<Omit<LaneRow, Placed | 'state_source' | 'state_event_id' | 'state_occurred_at' | 'gone_at'>, 'lane_id' | 'raw'>
  readonly quotes: readonly Reported<Omit<QuoteRow, Placed | 'lane_id' | 'gone_at'>, 'quote_id' | 'raw'>[]
  readonly sourceOffers: readonly Reported<Omit<SourceOfferRow, Placed | 'lane_id' | 'gone_at'>, 'presentation_id' | 'raw'>[]
  readonly whole: CompleteLists<'quotes' | 'sourceOffers'>
}

/** Columns of `submissions` that the requirements view tells. */
export type RequirementsColumn =
  | 'insured_name'
  | 'lines'
  | 'effective_date'
  | 'state'
  | 'marketing_status'
  | 'marketing_hint'
  | 'form_fill_active'

/** What the requirements view says of a submission now, as far as the mirror keeps it in columns. */
export interface Requirements {
  readonly submission: Reported<Pick<SubmissionRow, RequirementsColumn> & { readonly raw: string }, 'raw'>
  /** null: the service said nothing of its rail this time (trap 64). */
  readonly rail: {
    readonly lanes: readonly RailLane[]
    /** null: the history could not be had this time (trap 65). */
    readonly quoteHistory: readonly Reported<Omit<QuoteHistoryRow, Placed | 'gone_at'>, 'history_key' | 'raw'>[] | null
    readonly whole: CompleteLists<'lanes' | 'quoteHistory'>
    /** Items that could not be read, as JSON text. */
    readonly unreadable: readonly string[]
  } | null
  /** What else it shows, table by table. */
  readonly lists: readonly ViewList[]
}
