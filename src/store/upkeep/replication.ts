import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'

/**
 * Reads the replication status of a Postgres server; null on SQLite. `standbys` and `slots` are null if the database
 * user may not read them.
 */
export async function readReplication(q: Query) {
  if (q.kind === 'sqlite') return null
  const row = await q.one(sql<{ names: string }>`select current_setting('synchronous_standby_names') as names`)
  const names = row?.names ?? ''
  return {
    servers: 1 + awaitedStandbys(names),
    synchronous_standby_names: names,
    standbys: await orNull(standbys(q)),
    slots: await orNull(slots(q)),
  }
}

/**
 * @param names value of `synchronous_standby_names`.
 * @returns the number of standbys that a commit waits for. If the value lists names without a number, this is 1.
 */
export function awaitedStandbys(names: string): number {
  if (names.trim() === '') return 0
  return Number(/^\s*(?:first\s+|any\s+)?(\d+)\s*\(/i.exec(names)?.[1] ?? 1)
}

async function standbys(q: Query) {
  return await q.all(sql<{ name: string | null; state: string | null; sync_state: string | null; behind_bytes: number | null }>`
    select application_name as name, state, sync_state, pg_wal_lsn_diff(pg_current_wal_lsn(), flush_lsn)::bigint as behind_bytes
    from pg_stat_replication order by application_name, pid`)
}

async function slots(q: Query) {
  return await q.all(sql<{ name: string; active: boolean; wal_status: string | null; kept_bytes: number | null }>`
    select slot_name as name, active, wal_status, pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint as kept_bytes
    from pg_replication_slots where not temporary order by slot_name`)
}

/** @returns the answer; null if the query fails. Some managed services restrict these views and functions. */
async function orNull<T>(query: Promise<T>): Promise<T | null> {
  try {
    return await query
  } catch {
    return null
  }
}
