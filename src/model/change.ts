import type { Row } from './entity.ts'
import type { Cause } from './records.ts'

/** `purged`: an operator removed the row; the log contains none of its values. */
export type Operation = 'insert' | 'update' | 'gone' | 'purged'

/** One change of one mirror row, before it gets its `seq`. */
export interface Change {
  readonly account: string
  /** null if no known submission has the row. */
  readonly submission_id: string | null
  readonly entity: string
  /** Key without `account`, as JSON array text. */
  readonly entity_id: string
  readonly operation: Operation
  readonly cause: Cause
  /** The old values of changed columns; null on insert. Never `raw`. */
  readonly before: Row | null
  /** The new values of changed columns; of all columns on insert. Never `raw`. */
  readonly after: Row
}
