import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { byFirstColumn } from '../engine/sql.ts'
import type { StreamBlock } from '../schema/push.ts'
import { itsStream } from '../schema/push-states.ts'

const ROWS = 1_000
const STREAMS = 200

/**
 * Finds the oldest ready change in the streams of a destination that are blocked for `reason`.
 * First searches the destination's oldest 1,000 ready changes. If none is in a matching stream, searches the 200
 * matching streams that are due first.
 * @param reason null: searches the streams that aren't blocked.
 * @returns when the change was queued; null if no change is found.
 */
export async function oldestReady(q: Query, destination: string, reason: StreamBlock | null): Promise<TimeText | null> {
  const stream = sql`select 1 from sync_push_streams l where ${sql.raw(itsStream)}`
  const wanted = reason === null ? sql`not exists (${stream} and l.blocked is not null)` : sql`exists (${stream} and l.blocked = ${reason})`
  const of = byFirstColumn(q, 'destination', destination)
  const row = await q.one(sql<{ at: TimeText }>`
    select queued_at as at from (
      select outbox_id, destination, account, stream, queued_at from sync_outbox
      where ${of.is} and state = 'ready' order by ${of.order} outbox_id limit ${sql.lit(ROWS)}) as o
    where ${wanted} order by outbox_id limit 1`)
  return row?.at ?? (await oldestOfStreams(q, destination, reason))
}

async function oldestOfStreams(q: Query, destination: string, reason: StreamBlock | null): Promise<TimeText | null> {
  const isWanted = reason === null ? sql`blocked is null` : sql`blocked = ${reason}`
  const row = await q.one(sql<{ at: TimeText | null }>`
    select min((select o.queued_at from sync_outbox o where o.destination = ${destination} and o.account = l.account and o.stream = l.stream
      and o.state = 'ready' order by o.outbox_id limit 1)) as at
    from (select account, stream from sync_push_streams where destination = ${destination} and ${isWanted} order by due_at limit ${sql.lit(STREAMS)}) as l`)
  return row?.at ?? null
}

/** @returns `changed_at` of the oldest change after the number `cursor`; null if there is no such change. */
export async function oldestBehind(q: Query, cursor: number): Promise<TimeText | null> {
  const row = await q.sql.selectFrom('changes').select('changed_at').where('seq', '>', cursor).orderBy('seq').limit(1).executeTakeFirst()
  return row?.changed_at ?? null
}
