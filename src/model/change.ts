import type { Row } from './entity.ts'
import type { Cause } from './records.ts'

/** `purged`: an operator had the row removed; its values are nowhere in the log. */
export type Operation = 'insert' | 'update' | 'gone' | 'purged'

/** One change of one mirror row, before it has its `seq`. */
export interface Change {
  readonly account: string
  /** null for what belongs to no submission that is known. */
  readonly submission_id: string | null
  /** The table's name. */
  readonly entity: string
  /** The key after `account`, as JSON array text. */
  readonly entity_id: string
  readonly operation: Operation
  readonly cause: Cause
  /** The changed columns as they were; null on insert. Never `raw`. */
  readonly before: Row | null
  /** The changed columns as they are; all of them on insert. Never `raw`. */
  readonly after: Row
}
