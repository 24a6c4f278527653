import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import type { ActionDetail } from './actions.ts'

/** Action names of backups in the audit log. `made`: a backup. `tried`: a trial restore. */
export const backupActions = { made: 'backup', tried: 'backup.try' } as const

/**
 * Times of the last backup of a SQLite database and of its last trial restore, and the backup's size in bytes. Each is
 * null if unknown.
 */
export interface LastBackups {
  readonly made_at: TimeText | null
  readonly bytes: number | null
  readonly tried_at: TimeText | null
}

/** Reads the last successful backup and trial restore from the audit log. Each time is when the work began. */
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
