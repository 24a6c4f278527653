import type { MarketEventRow } from './entities/market-events.ts'
import type { ThreadAttachmentRow } from './entities/thread-attachments.ts'
import type { ThreadMessageRow } from './entities/thread-messages.ts'
import type { Row } from './entity.ts'

/** `Via`: how a row was first received. `Cause`: what caused a change. */
export type Via = 'webhook' | 'poll' | 'backfill' | 'reconcile'
export type Cause = Via | 'command'

type Placed = 'account' | 'submission_id'
type Seen = 'first_seen_at' | 'first_seen_via' | 'gone_at'

/** A market event in the mirror's columns, without account, submission, and origin. */
export type MarketEvent = Omit<MarketEventRow, Placed | Seen>

/** An attachment of a message. `position` is its index in the list of attachments, from 0. */
export type Attachment = Omit<ThreadAttachmentRow, Placed | 'message_id' | 'gone_at'>

/** A thread message in the mirror's columns, with its attachments. */
export interface ThreadMessage {
  readonly message: Omit<ThreadMessageRow, Placed | Seen>
  readonly attachments: readonly Attachment[]
}

/**
 * Rows of one table in a view. A null or unreadable value becomes null in the mirror. `raw` contains
 * the received value.
 */
export interface ViewList {
  readonly table: string
  /** Key columns, besides the submission, that all rows share: the key of the parent row. Empty without a parent. */
  readonly of: Row
  /** Rows with the remaining key columns. Columns that the view omits keep their stored values. */
  readonly rows: readonly Row[]
  /**
   * True if the answer contained the list and all its items could be parsed. Only then does a missing row
   * count as gone.
   */
  readonly whole: boolean
}
