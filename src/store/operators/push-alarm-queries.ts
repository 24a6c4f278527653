import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import type { LaneBlock } from '../schema/push.ts'
import { itsLane } from '../schema/push-states.ts'

const ROWS = 1_000
const LANES = 200

/**
 * When the oldest change that can be sent to a destination was queued. Changes in blocked lanes do not count. Looks at the oldest rows first;
 * if all of them are blocked, at the lanes due first.
 */
export function oldestSendable(q: Query, destination: string): Promise<TimeText | null> {
  return oldestReady(q, destination, null)
}

/** When the oldest change blocked for `reason` was queued; searched in the same way. */
export function oldestBlocked(q: Query, destination: string, reason: LaneBlock): Promise<TimeText | null> {
  return oldestReady(q, destination, reason)
}

async function oldestReady(q: Query, destination: string, reason: LaneBlock | null): Promise<TimeText | null> {
  const lane = sql`select 1 from sync_push_lanes l where ${sql.raw(itsLane)}`
  const wanted = reason === null ? sql`not exists (${lane} and l.blocked is not null)` : sql`exists (${lane} and l.blocked = ${reason})`
  const { rows } = await sql<{ at: TimeText }>`
    select queued_at as at from (
      select outbox_id, destination, account, lane, queued_at from sync_outbox
      where destination = ${destination} and state = 'ready' order by outbox_id limit ${sql.lit(ROWS)}) as o
    where ${wanted} order by outbox_id limit 1`.execute(q.sql)
  return rows[0]?.at ?? (await oldestOfLanes(q, destination, reason))
}

async function oldestOfLanes(q: Query, destination: string, reason: LaneBlock | null): Promise<TimeText | null> {
  const lanes =
    reason === null
      ? sql`select account, lane from sync_push_lanes where destination = ${destination} and blocked is null order by due_at`
      : sql`select account, lane from sync_push_lanes where destination = ${destination} and blocked = ${reason} order by due_at`
  const { rows } = await sql<{ at: TimeText | null }>`
    select min((select o.queued_at from sync_outbox o where o.destination = ${destination} and o.account = l.account and o.lane = l.lane
      and o.state = 'ready' order by o.outbox_id limit 1)) as at
    from (${lanes} limit ${sql.lit(LANES)}) as l`.execute(q.sql)
  return rows[0]?.at ?? null
}

/** When the oldest change behind `cursor`, not yet fanned out, was made; null when there is none. */
export async function oldestBehind(q: Query, cursor: number): Promise<TimeText | null> {
  const row = await q.sql.selectFrom('changes').select('changed_at').where('seq', '>', cursor).orderBy('seq').limit(1).executeTakeFirst()
  return row?.changed_at ?? null
}
