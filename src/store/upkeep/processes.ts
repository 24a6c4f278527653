import { sql } from 'kysely'
import type { Db, Query, Tx } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'
import type { Columns } from '../schema/tables.ts'

/**
 * What a process does. `all`, `receive`, `work`: roles of `serve`. `sync`, `reconcile`: commands that read from the
 * service. `verify`: a command that asks a destination about changes.
 */
export type ProcessRole = 'all' | 'receive' | 'work' | 'sync' | 'reconcile' | 'verify'

export interface ProcessEntry {
  readonly id: string
  readonly role: ProcessRole
  readonly version: string
}

/** If a process hasn't reported for this many ms, it counts as dead. */
export const STALE_MS = 20_000
const PUSHING: readonly string[] = ['all', 'work', 'verify'] satisfies ProcessRole[]
const READING: readonly string[] = ['all', 'work', 'sync', 'reconcile'] satisfies ProcessRole[]

/**
 * Numbers of live processes: `reading` from the service, and `pushing` to destinations. Processes share the permitted
 * request rates.
 */
export interface ProcessCounts {
  readonly reading: number
  readonly pushing: number
}

/**
 * Stores durably that the process is alive.
 * @param also work to do in the same transaction.
 * @returns the result of `also`.
 */
export async function recordHeartbeat<T>(db: Db, entry: ProcessEntry, also?: (tx: Tx) => Promise<T>): Promise<T | undefined> {
  return db.write(
    'process-beat',
    async (tx) => {
      const now = dbTime(tx)
      await tx.run(sql`
        insert into sync_processes (process_id, role, version, started_at, seen_at) values (${entry.id}, ${entry.role}, ${entry.version},
        ${now}, ${now}) on conflict (process_id) do update set seen_at = ${now}`)
      return await also?.(tx)
    },
    { priority: true },
  )
}

export async function countProcesses(q: Query): Promise<ProcessCounts> {
  const living = await listProcesses(q)
  const count = (roles: readonly string[]) => living.filter(({ role }) => roles.includes(role)).length
  return { reading: count(READING), pushing: count(PUSHING) }
}

/** @returns whether a command is reading from the service now. */
export async function isCommandReading(q: Query): Promise<boolean> {
  return (await listProcesses(q)).some(({ role }) => role === 'sync' || role === 'reconcile')
}

const SERVING: readonly string[] = ['all', 'receive', 'work'] satisfies ProcessRole[]

/** Counts live `serve` processes. Leaves out commands. */
export async function countServing(q: Query): Promise<number> {
  return (await listProcesses(q)).filter(({ role }) => SERVING.includes(role)).length
}

/** Lists live processes, oldest first. */
export function listProcesses(q: Query) {
  return q.all(sql<Columns<'sync_processes', 'process_id' | 'role' | 'version' | 'started_at' | 'seen_at'>>`
    select process_id, role, version, started_at, seen_at from sync_processes where seen_at > ${dbTime(q, -STALE_MS)} order by started_at`)
}

export async function removeProcess(db: Db, id: string): Promise<void> {
  await db.write('process-leave', (tx) => tx.sql.deleteFrom('sync_processes').where('process_id', '=', id).execute())
}

export async function removeDeadProcesses(tx: Tx): Promise<string[]> {
  const rows = await tx.sql.deleteFrom('sync_processes').where('seen_at', '<=', dbTime(tx, -STALE_MS)).returning('process_id').execute()
  return rows.map((row) => row.process_id)
}
