import type { MarketEventRow } from './entities/market-events.ts'
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

/**
 * A list of a view: rows of one table. A column that is null or could not be read replaces the stored value with null; `raw` keeps what was sent.
 */
export interface ViewList {
  readonly table: string
  /** Key columns that all its rows share beside the submission: none, or the key of their parent row. */
  readonly of: Row
  /** Rows with their key after the submission. Columns that the view does not mention are left out; their stored values stay. */
  readonly rows: readonly Row[]
  /** Whether the list was present and all its items could be parsed. Only a complete list proves that a row is gone (invariant 7). */
  readonly whole: boolean
}
