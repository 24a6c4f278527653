import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import type { ActionDetail } from './actions.ts'

/** Names of the audit entries of backups, whoever made them. */
export const backupActions = { made: 'backup', tried: 'backup.try' } as const

/** The last backup of a SQLite database, and the last one that was restored on trial; null for none. */
export interface LastBackups {
  readonly madeAt: TimeText | null
  readonly bytes: number | null
  readonly triedAt: TimeText | null
}

/** By the audit trail. A time is that at which the work began: later changes are not in the copy. */
export async function lastBackups(q: Query): Promise<LastBackups> {
  const made = await lastDone(q, backupActions.made)
  const bytes = (made?.detail as ActionDetail | null)?.['bytes']
  const tried = await lastDone(q, backupActions.tried)
  return { madeAt: made?.at ?? null, bytes: typeof bytes === 'number' ? bytes : null, triedAt: tried?.at ?? null }
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
