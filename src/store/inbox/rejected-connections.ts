import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime, timeValue } from '../engine/sql.ts'

/** Numbers of rejected connections since the previous call of `keepRejectedConnections`. */
export interface RejectedConnections {
  readonly byReason: Readonly<Record<string, number>>
  /** The address with the most rejected connections. */
  readonly worstAddress: string
}

const KEPT_MS = 7 * 86_400_000

/** Stores the number of rejected connections for each reason. @throws TransientError if the database is unreachable. */
export async function keepRejectedConnections(db: Db, { byReason, worstAddress }: RejectedConnections): Promise<void> {
  await db.write('rejected-connections', async (tx) => {
    for (const [reason, connections] of Object.entries(byReason).sort(([a], [b]) => (a < b ? -1 : 1))) {
      await tx.run(sql`
        insert into sync_rejected_connections (noted_at, process_id, reason, connections, worst_address)
        values (${dbTime(tx)}, ${db.processId}, ${reason}, ${connections}, ${worstAddress})
        on conflict (noted_at, process_id, reason) do update set connections = sync_rejected_connections.connections + excluded.connections`)
    }
    await tx.run(sql`delete from sync_rejected_connections where noted_at < ${dbTime(tx, -KEPT_MS)}`)
  })
}

/**
 * Counts the rejected connections that were stored after `since`.
 * @returns `worstAddress`: the address in the row with the most connections; null if there is no row. A row counts the
 * connections that were rejected for one reason in about one minute.
 */
export async function rejectedConnectionsSince(
  q: Query,
  since: TimeText,
): Promise<{ readonly connections: number; readonly worstAddress: string | null }> {
  const row = await q.one(sql<{ n: number | null; worst: string | null }>`
    select cast(sum(connections) as integer) as n,
      (select worst_address from sync_rejected_connections where noted_at > ${timeValue(q, since)} order by connections desc limit 1) as worst
    from sync_rejected_connections where noted_at > ${timeValue(q, since)}`)
  return { connections: row?.n ?? 0, worstAddress: row?.worst ?? null }
}
