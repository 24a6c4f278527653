import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'

/** How a Postgres server hands on what is committed, as far as the program's role may see it. Its names stay: `status --json` prints it. */
export interface Replication {
  /** Servers on whose disk a delivery lies when it is acknowledged: the primary, and those for which its commit waits. */
  readonly servers: number
  /** The setting that names those. Empty: a commit waits for none. */
  readonly synchronous_standby_names: string
  /** null: the server does not tell. */
  readonly standbys: readonly Standby[] | null
  /** null: the server does not tell. */
  readonly slots: readonly Slot[] | null
}

export interface Standby {
  /** All but its presence is null where the role may not see it (`pg_monitor` may). */
  readonly name: string | null
  readonly state: string | null
  /** `sync`, `quorum`, `potential` or `async`. */
  readonly sync_state: string | null
  /** What it has not yet written, in bytes of the server's log. */
  readonly behind_bytes: number | null
}

export interface Slot {
  readonly name: string
  readonly active: boolean
  /** `reserved`, `extended`, `unreserved` or `lost`; null while it holds nothing back. */
  readonly wal_status: string | null
  /** What the server keeps for it, in bytes of its log. */
  readonly kept_bytes: number | null
}

/** @returns null on SQLite, which has one file on one disk. */
export async function readReplication(q: Query): Promise<Replication | null> {
  if (q.kind === 'sqlite') return null
  const { rows } = await sql<{ names: string }>`select current_setting('synchronous_standby_names') as names`.execute(q.sql)
  const names = rows[0]?.names ?? ''
  return {
    servers: 1 + awaitedStandbys(names),
    synchronous_standby_names: names,
    standbys: await orNull(standbys(q)),
    slots: await orNull(slots(q)),
  }
}

/** @returns for how many standbys a commit waits. A list without a number means the first of them that is there. */
export function awaitedStandbys(names: string): number {
  if (names.trim() === '') return 0
  return Number(/^\s*(?:first\s+|any\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1)
}

async function standbys(q: Query): Promise<Standby[]> {
  const { rows } = await sql<Standby>`
    select application_name as name, state, sync_state, pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn)::bigint as behind_bytes
    from pg_stat_replication order by application_name, pid`.execute(q.sql)
  return rows
}

async function slots(q: Query): Promise<Slot[]> {
  const { rows } = await sql<Slot>`
    select slot_name as name, active, wal_status, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint as kept_bytes
    from pg_replication_slots where not temporary order by slot_name`.execute(q.sql)
  return rows
}

/** Some managed services keep these views or functions to themselves. */
async function orNull<T>(query: Promise<T>): Promise<T | null> {
  try {
    return await query
  } catch {
    return null
  }
}
