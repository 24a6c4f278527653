import type { LaneRow } from './entities/lanes.ts'
import type { MarketEventRow } from './entities/market-events.ts'
import type { QuoteHistoryRow } from './entities/quote-history.ts'
import type { QuoteRow } from './entities/quotes.ts'
import type { SourceOfferRow } from './entities/source-offers.ts'
import type { SubmissionRow } from './entities/submissions.ts'
import type { ThreadAttachmentRow } from './entities/thread-attachments.ts'
import type { ThreadMessageRow } from './entities/thread-messages.ts'
import type { Row } from './entity.ts'

/** `Via`: how a row was first seen. `Cause`: what caused a change. */
export type Via = 'webhook' | 'poll' | 'backfill' | 'reconcile'
export type Cause = Via | 'command'

type Placed = 'account' | 'submission_id'
type Seen = 'first_seen_at' | 'first_seen_via' | 'gone_at'

/** A market event of the spec in the mirror's columns, without account, submission and the columns about how it was seen. */
export type MarketEvent = Omit<MarketEventRow, Placed | Seen>

/** An attachment of a message; `position` is its index in the list, from 0. */
export type Attachment = Omit<ThreadAttachmentRow, Placed | 'message_id' | 'gone_at'>

/** A ThreadMessage of the spec in the mirror's columns, with its attachments. */
export interface ThreadMessage {
  readonly message: Omit<ThreadMessageRow, Placed | Seen>
  readonly attachments: readonly Attachment[]
}

/** Whether each list of the view was present and all its items could be parsed. Only a complete list proves that a row is gone (invariant 7). */
export type CompleteLists<Lists extends string> = { readonly [List in Lists]: boolean }

/**
 * A row as a view reports it. A column that the view does not mention is left out, and its stored value stays. A column that is null or
 * cannot be parsed is null, which replaces the stored value; `raw` keeps what was sent.
 */
export type Reported<Columns, Always extends keyof Columns> = Partial<Columns> & Pick<Columns, Always>

/** A list of a view: rows of one table. */
export interface ViewList {
  readonly table: string
  /** Key columns that all its rows share beside the submission: none, or the key of their parent row. */
  readonly of: Row
  /** Rows with their key after the submission. Columns that the view does not mention are left out; their stored values stay. */
  readonly rows: readonly Row[]
  /** Whether the list was present and all its items could be parsed. Only a complete list proves that a row is gone (invariant 7). */
  readonly whole: boolean
}

/** A lane of the rail with its quotes and offers. */
export interface RailLane {
  readonly lane: Reported<Omit<LaneRow, Placed | 'state_source' | 'state_event_id' | 'state_occurred_at' | 'gone_at'>, 'lane_id' | 'raw'>
  readonly quotes: readonly Reported<Omit<QuoteRow, Placed | 'lane_id' | 'gone_at'>, 'quote_id' | 'raw'>[]
  readonly sourceOffers: readonly Reported<Omit<SourceOfferRow, Placed | 'lane_id' | 'gone_at'>, 'presentation_id' | 'raw'>[]
  readonly whole: CompleteLists<'quotes' | 'sourceOffers'>
}

/** Columns of `submissions` that come from the requirements view. */
export type RequirementsColumn =
  | 'insured_name'
  | 'lines'
  | 'effective_date'
  | 'state'
  | 'marketing_status'
  | 'marketing_hint'
  | 'form_fill_active'

/** The requirements view in the mirror's columns. */
export interface Requirements {
  readonly submission: Reported<Pick<SubmissionRow, RequirementsColumn> & { readonly raw: string }, 'raw'>
  /** null: the view has no rail (trap 64). */
  readonly rail: {
    readonly lanes: readonly RailLane[]
    /** null: the quote history is unavailable (trap 65). */
    readonly quoteHistory: readonly Reported<Omit<QuoteHistoryRow, Placed | 'gone_at'>, 'history_key' | 'raw'>[] | null
    readonly whole: CompleteLists<'lanes' | 'quoteHistory'>
    /** Items that could not be parsed, as JSON text. */
    readonly unreadable: readonly string[]
  } | null
  /** Lists of further tables. Without an assessment there is none of its programs (trap 64). */
  readonly lists: readonly ViewList[]
  /** Items of these lists that could not be parsed, as JSON text. */
  readonly unreadable: readonly string[]
}
