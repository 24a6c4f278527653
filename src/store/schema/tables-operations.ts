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

/** Who is signed in to the ops port. */
export interface ConsoleSessionsTable {
  session_hash: string
  who: string
  token_proof: string
  /** Who signed in by OpenID Connect, as JSON text; null for a token. */
  oidc: string | null
  began_at: TimeText
  seen_at: TimeText
}

/** What operators did, purged submissions, and sessions of the console, for kysely. */
export interface OperationsTables {
  sync_purged: PurgedTable
  sync_console_sessions: ConsoleSessionsTable
  operator_actions: OperatorActionsTable
}
