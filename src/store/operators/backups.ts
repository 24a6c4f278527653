import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import type { ActionDetail } from './actions.ts'

/** Names of actions in the audit log. `made`: a backup was made. `tried`: a backup was restored on trial. */
export const backupActions = { made: 'backup', tried: 'backup.try' } as const

/**
 * The last backup of a SQLite database and the last trial restore: when each began, and the size of the backup in
 * bytes.
 * A field is null if the audit log doesn't have the value.
 */
export interface LastBackups {
  readonly made_at: TimeText | null
  readonly bytes: number | null
  readonly tried_at: TimeText | null
}

/** Reads the last successful backup and the last successful trial restore from the audit log. */
export async function lastBackups(q: Query): Promise<LastBackups> {
  const made = await lastDone(q, backupActions.made)
  const bytes = (made?.detail as ActionDetail | null)?.['bytes']
  const tried = await lastDone(q, backupActions.tried)
  return { made_at: made?.at ?? null, bytes: typeof bytes === 'number' ? bytes : null, tried_at: tried?.at ?? null }
}

async function lastDone(q: Query, action: string) {
  return await q.sql
    .selectFrom('operator_actions')
    .select(['at', 'detail'])
    .where('action', '=', action)
    .where('outcome', '=', 'done')
    .orderBy('action_id', 'desc')
    .limit(1)
    .executeTakeFirst()
}
