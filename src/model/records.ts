import type { MarketEventRow } from './entities/market-events.ts'
import type { ThreadAttachmentRow } from './entities/thread-attachments.ts'
import type { ThreadMessageRow } from './entities/thread-messages.ts'
import type { Row } from './entity.ts'

/** `Via`: how a row was first seen. `Cause`: what caused a change. */
export type Via = 'webhook' | 'poll' | 'backfill' | 'reconcile'
export type Cause = Via | 'command'

type Placed = 'account' | 'submission_id'
type Seen = 'first_seen_at' | 'first_seen_via' | 'gone_at'

/** A market event in the mirror's columns, without account, submission and how it was seen. */
export type MarketEvent = Omit<MarketEventRow, Placed | Seen>

/** An attachment of a message; `position` is its index in the list, from 0. */
export type Attachment = Omit<ThreadAttachmentRow, Placed | 'message_id' | 'gone_at'>

/** A thread message in the mirror's columns, with its attachments. */
export interface ThreadMessage {
  readonly message: Omit<ThreadMessageRow, Placed | Seen>
  readonly attachments: readonly Attachment[]
}

/** Rows of one table in a view. A column that is null or unreadable replaces the stored value with null; `raw` keeps what was sent. */
export interface ViewList {
  readonly table: string
  /** Key columns that all its rows share besides the submission: none, or the key of their parent row. */
  readonly of: Row
  /** Rows with their key after the submission. Columns that the view omits keep their stored values. */
  readonly rows: readonly Row[]
  /** Whether the list was present and all its items could be parsed. Only a complete list shows that a row is gone (invariant 7). */
  readonly whole: boolean
}
