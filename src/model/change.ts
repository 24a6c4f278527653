import type { Row } from './entity.ts'
import type { Cause } from './records.ts'

/** What happened to a row. `purged`: an operator removed the row, and the change log contains none of its values. */
export type Operation = 'insert' | 'update' | 'gone' | 'purged'

/** One change of one mirror row, before it gets its `seq`. */
export interface Change {
  readonly account: string
  /** Null if the row belongs to no known submission. */
  readonly submission_id: string | null
  readonly entity: string
  /** The row's key without `account`, as JSON array text. */
  readonly entity_id: string
  readonly operation: Operation
  readonly cause: Cause
  /** Old values of the changed columns; null on insert. Never contains `raw`. */
  readonly before: Row | null
  /** New values of the changed columns; on insert, of all columns. Never contains `raw`. */
  readonly after: Row
}
