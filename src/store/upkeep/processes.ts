import type { Db, Query, Tx } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'

/** What a process does: a role of `serve`, a command that reads from the service beside it, or a verification, which asks a destination. */
export type ProcessRole = 'all' | 'receive' | 'work' | 'sync' | 'reconcile' | 'verify'

/** A process that works on the database. */
export interface ProcessEntry {
  /** `Db.processId`. */
  readonly id: string
  readonly role: ProcessRole
  readonly version: string
}

/** A process not seen for this long, in milliseconds, counts as dead. */
export const STALE_MS = 20_000
const PUSHING: readonly string[] = ['all', 'work', 'verify'] satisfies ProcessRole[]
const READING: readonly string[] = ['all', 'work', 'sync', 'reconcile'] satisfies ProcessRole[]

/** How many live processes read from the service, and how many push or ask destinations. They share the permitted request rates. */
export interface ProcessCounts {
  readonly reading: number
  readonly pushing: number
}

/**
 * Records that the process is alive, by the database's clock. Being a real write, it also shows whether writing works.
 * @param also work to commit in the same transaction, after the heartbeat.
 * @returns the result of `also`.
 */
export async function recordHeartbeat<T>(db: Db, entry: ProcessEntry, also?: (tx: Tx) => Promise<T>): Promise<T | undefined> {
  return db.write(
    'process-beat',
    async (tx) => {
      const now = dbTime(tx)
      await tx.sql
        .insertInto('sync_processes')
        .values({ process_id: entry.id, role: entry.role, version: entry.version, started_at: now, seen_at: now })
        .onConflict((conflict) => conflict.column('process_id').doUpdateSet({ seen_at: now }))
        .execute()
      return await also?.(tx)
    },
    { priority: true },
  )
}

/** Counts the processes that share request rates. */
export async function countProcesses(q: Query): Promise<ProcessCounts> {
  const living = await listProcesses(q)
  const count = (roles: readonly string[]) => living.filter(({ role }) => roles.includes(role)).length
  return { reading: count(READING), pushing: count(PUSHING) }
}

/** Whether a command reads from the service now, beside `serve`. */
export async function isCommandReading(q: Query): Promise<boolean> {
  return (await listProcesses(q)).some(({ role }) => role === 'sync' || role === 'reconcile')
}

/** Live processes, the oldest first. */
export function listProcesses(q: Query) {
  return q.sql
    .selectFrom('sync_processes')
    .select(['process_id', 'role', 'version', 'started_at', 'seen_at'])
    .where('seen_at', '>', dbTime(q, -STALE_MS))
    .orderBy('started_at')
    .execute()
}

/** Removes the process from the list. */
export async function removeProcess(db: Db, id: string): Promise<void> {
  await db.write('process-leave', (tx) => tx.sql.deleteFrom('sync_processes').where('process_id', '=', id).execute())
}

/** Removes dead processes from the list. @returns their ids. */
export async function removeDeadProcesses(tx: Tx): Promise<string[]> {
  const rows = await tx.sql.deleteFrom('sync_processes').where('seen_at', '<=', dbTime(tx, -STALE_MS)).returning('process_id').execute()
  return rows.map((row) => row.process_id)
}
