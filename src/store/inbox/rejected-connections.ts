import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime, timeValue } from '../engine/sql.ts'

/** Connections rejected since the last call of `keepRejectedConnections`. */
export interface RejectedConnections {
  readonly byReason: Readonly<Record<string, number>>
  /** The address with the most rejected connections. */
  readonly worstAddress: string
}

const KEPT_MS = 7 * 86_400_000

/** Stores how many connections were rejected. @throws TransientError if the database is unreachable. */
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
 * Counts connections rejected since a time.
 * `worstAddress` is the address with the most rejections in one minute; null if there were none.
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
