import { sql } from 'kysely'
import type { Db, Query } from '../../src/store/engine/db.ts'
import { type CountedDestination, countDestinations } from '../../src/store/outbox/destinations.ts'
import type { OutboxState } from '../../src/store/schema/push.ts'

export async function countedDestination(q: Query, name: string): Promise<CountedDestination | null> {
  return (await countDestinations(q)).find(({ destination }) => destination === name) ?? null
}

export async function putOutbox(db: Db, destination: string, rows: Partial<Record<OutboxState, number>>): Promise<void> {
  await db.write('test', async (tx) => {
    await tx.sql.deleteFrom('sync_outbox').where('destination', '=', destination).execute()
    for (const [state, count] of Object.entries(rows)) {
      await tx.run(sql`
        with recursive numbered(n) as (select 1 union all select n + 1 from numbered where n < ${sql.lit(count)})
        insert into sync_outbox (destination, account, stream, entity, entity_id, operation, cause, seq, message_id, state, attempts, uncertain, queued_at)
        select ${destination}, 'put', 'put', 'lanes', '[]', 'insert', 'poll', n, 'put-' || n, ${state}, 0, 0, '2026-01-05T12:00:00.000000Z'
        from numbered where ${sql.lit(count)} > 0`)
    }
  })
}
