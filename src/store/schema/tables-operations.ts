import type { Generated } from 'kysely'
import type { Json } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'

/** `begun`: in progress, or its process died before it ended. */
export type ActionOutcome = 'begun' | 'done' | 'failed'

export interface OperatorActionsTable {
  action_id: Generated<number>
  at: TimeText
  who: string
  action: string
  target: string | null
  detail: Json
  outcome: ActionOutcome
}

/** A submission that an operator has purged. */
export interface PurgedTable {
  account: string
  submission_id: string
  purged_at: TimeText
  /** null: the purge was interrupted. */
  finished_at: TimeText | null
}

/** The tables of 0006-operations and 0024-purged. */
export interface OperationsTables {
  sync_purged: PurgedTable
  operator_actions: OperatorActionsTable
}
