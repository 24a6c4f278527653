import type { MarketEventRow } from './entities/market-events.ts'
import type { ThreadAttachmentRow } from './entities/thread-attachments.ts'
import type { ThreadMessageRow } from './entities/thread-messages.ts'
import type { Row } from './entity.ts'

/** `Via`: how a row was first seen. `Cause`: what caused a change. */
export type Via = 'webhook' | 'poll' | 'backfill' | 'reconcile'
export type Cause = Via | 'command'

type Placed = 'account' | 'submission_id'
type Seen = 'first_seen_at' | 'first_seen_via' | 'gone_at'

/** A market event as mirror columns, without account, submission and origin. */
export type MarketEvent = Omit<MarketEventRow, Placed | Seen>

/** An attachment of a message; `position` is its index in the list, from 0. */
export type Attachment = Omit<ThreadAttachmentRow, Placed | 'message_id' | 'gone_at'>

/** A thread message in the mirror's columns, with its attachments. */
export interface ThreadMessage {
  readonly message: Omit<ThreadMessageRow, Placed | Seen>
  readonly attachments: readonly Attachment[]
}

/** Rows of one table in a view. A null or unreadable column becomes null in the mirror; `raw` contains the received value. */
export interface ViewList {
  readonly table: string
  /** Key columns that all rows share besides the submission: none, or the parent row's key. */
  readonly of: Row
  /** Rows with the rest of their key. Columns that the view omits keep their stored values. */
  readonly rows: readonly Row[]
  /** Whether the list was present and all its items could be parsed. Only a complete list shows that a row is gone. */
  readonly whole: boolean
}
