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

/** The tables of 0006-operations. */
export interface OperationsTables {
  operator_actions: OperatorActionsTable
}
