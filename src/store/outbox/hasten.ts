import { type RawBuilder, sql } from 'kysely'
import type { Db, Query } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, skipLocked } from '../engine/sql.ts'
import { itsLane } from '../schema/push-states.ts'
import { type LaneKey, lanesOf, laneText, lockLanes, makeDue } from './lanes.ts'
import { matches, type OutboxFilter } from './queries.ts'
import type { OutboxStep } from './retry.ts'
import { claimedLanes } from './work.ts'

type Retrying = LaneKey & { readonly outbox_id: number }

/**
 * Makes rows that failed and wait for their next attempt due now, and ends the backoff of their destinations: for when the cause is mended.
 * Their attempts stay counted. One step of up to `limit` rows behind `after` (0 to begin). `inFlight`: rows of lanes that are being sent.
 */
export async function hastenRows(db: Db, filter: OutboxFilter, after: number, limit: number): Promise<OutboxStep> {
  const rows = await retrying(db.read, filter, after, limit)
  const nextAfter = rows.length < limit ? null : (rows.at(-1)?.outbox_id ?? null)
  if (rows.length === 0) return { changed: 0, inFlight: 0, nextAfter }
  return db.write('outbox-retry', async (tx) => {
    const locked = await lockLanes(tx, lanesOf(rows))
    const idle = locked.filter((lane) => lane.in_flight === 0 && lane.blocked === null)
    await makeDue(tx, idle)
    for (const destination of [...new Set(rows.map((row) => row.destination))].sort()) {
      await sql`
        update sync_destinations set retry_at = null, failures = 0
        where destination = ${destination} and state = 'active' and retry_at is not null`.execute(tx.sql)
    }
    wake(tx, 'outbox')
    const due = new Set(idle.map(laneText))
    const changed = rows.filter((row) => due.has(laneText(row))).length
    return { changed, inFlight: rows.length - changed, nextAfter }
  })
}

/**
 * Makes lanes that wait for their next attempt, or for their place in the schedule, due now.
 * @param limit lanes at most.
 * @returns how many lanes; fewer than `limit` when none are left.
 */
export async function makeLanesDue(db: Db, name: string, limit: number): Promise<number> {
  return db.write('destination-state', async (tx) => {
    // A leased lane is in flight; its time is the end of the lease.
    const waiting = sql`select destination, account, lane from sync_push_lanes
      where destination = ${name} and blocked is null and due_at > ${dbTime(tx)} and lease_token is null
      order by due_at limit ${sql.lit(limit)} ${skipLocked(tx)}`
    const changed = await claimedLanes.change(tx, waiting, sql`due_at = ${dbTime(tx)}`)
    wake(tx, 'outbox')
    return changed
  })
}

/** How many rows `hastenRows` would make due, counted up to `cap`. */
export async function countRetrying(q: Query, filter: OutboxFilter, cap: number): Promise<number> {
  return (await retrying(q, filter, 0, cap)).length
}

async function retrying(q: Query, filter: OutboxFilter, after: number, limit: number): Promise<Retrying[]> {
  const { rows } = await sql<Retrying>`
    select o.outbox_id, o.destination, o.account, o.lane from sync_outbox o
    where ${matches(q, { ...filter, state: 'ready' })} and o.attempts > 0 and ${isOpen()} and o.outbox_id > ${after}
    order by o.outbox_id limit ${sql.lit(limit)}`.execute(q.sql)
  return rows
}

/** What waits for a client or behind a dead letter is not retrying. */
function isOpen(): RawBuilder<unknown> {
  return sql`exists (select 1 from sync_push_lanes l
    where ${sql.raw(itsLane)} and l.blocked is null)`
}
