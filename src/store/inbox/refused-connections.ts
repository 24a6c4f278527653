import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime, timeValue } from '../engine/sql.ts'

/** Connections that were refused since the last time. */
export interface RefusedConnections {
  readonly byReason: Readonly<Record<string, number>>
  /** The address with the most of them. */
  readonly worstAddress: string
}

const KEPT_MS = 7 * 86_400_000

/** Keeps how many connections were refused. @throws TransientError when the database is away. */
export async function keepRefusedConnections(db: Db, { byReason, worstAddress }: RefusedConnections): Promise<void> {
  await db.write('refused-connections', async (tx) => {
    for (const [reason, connections] of Object.entries(byReason).sort(([a], [b]) => (a < b ? -1 : 1))) {
      await sql`
        insert into sync_refused_connections (noted_at, process_id, reason, connections, worst_address)
        values (${dbTime(tx)}, ${db.processId}, ${reason}, ${connections}, ${worstAddress})
        on conflict (noted_at, process_id, reason) do update set connections = sync_refused_connections.connections + excluded.connections`.execute(
        tx.sql,
      )
    }
    await sql`delete from sync_refused_connections where noted_at < ${dbTime(tx, -KEPT_MS)}`.execute(tx.sql)
  })
}

/** Connections refused since a time, and an address that had the most of one minute; null when there were none. */
export async function refusedConnectionsSince(
  q: Query,
  since: TimeText,
): Promise<{ readonly connections: number; readonly worstAddress: string | null }> {
  const { rows } = await sql<{ n: number | null; worst: string | null }>`
    select cast(sum(connections) as integer) as n,
      (select worst_address from sync_refused_connections where noted_at > ${timeValue(q, since)} order by connections desc limit 1) as worst
    from sync_refused_connections where noted_at > ${timeValue(q, since)}`.execute(q.sql)
  return { connections: rows[0]?.n ?? 0, worstAddress: rows[0]?.worst ?? null }
}
