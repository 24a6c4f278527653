import { type RawBuilder, sql } from 'kysely'
import type { Query, Tx } from '../engine/db.ts'
import { dbTime, rowLock, valuesTable } from '../engine/sql.ts'
import type { LaneBlock } from '../schema/push.ts'

/**
 * Lanes of the outbox. A lane's row exists while the lane has ready rows or is held. A transaction that makes rows ready or takes them away
 * locks the lane's row first, so none sees a lane as empty while another fills it.
 */

/** Identifies a lane: everything that is sent to one destination in order. */
export interface LaneKey {
  readonly destination: string
  readonly account: string
  readonly lane: string
}

/** @returns the lane as a map key. */
export function laneText({ destination, account, lane }: LaneKey): string {
  return `${destination} ${account} ${lane}`
}

/** The distinct lanes of `rows`. */
export function lanesOf(rows: readonly LaneKey[]): LaneKey[] {
  return [...new Map(rows.map((row) => [laneText(row), row])).values()]
}

/** Creates missing lanes, due at once, and locks all of them. @param keys distinct. */
export async function openLanes(tx: Tx, keys: readonly LaneKey[]): Promise<void> {
  if (keys.length === 0) return
  // The update changes nothing but locks the row. In key order, as everybody locks lanes.
  const kept = tx.kind === 'sqlite' ? sql`do nothing` : sql`(destination, account, lane) do update set due_at = sync_push_lanes.due_at`
  await sql`
    insert into sync_push_lanes (destination, account, lane, due_at)
    select destination, account, lane, ${dbTime(tx)} from ${givenLanes(tx, keys)} where 1 = 1
    order by destination, account, lane on conflict ${kept}`.execute(tx.sql)
}

/** A lane's current state. */
export interface LockedLane extends LaneKey {
  readonly lease_token: string | null
  readonly blocked: LaneBlock | null
  readonly held_by: number | null
  /** 1 while a process may be sending from it. */
  readonly in_flight: number
}

/** Locks the existing ones among the lanes, in key order. */
export async function lockLanes(tx: Tx, keys: readonly LaneKey[]): Promise<LockedLane[]> {
  if (keys.length === 0) return []
  const lock = rowLock(tx, 'for update of l')
  const { rows } = await sql<LockedLane>`
    select l.destination, l.account, l.lane, l.lease_token, l.blocked, l.held_by,
      case when l.lease_token is not null and l.due_at > ${dbTime(tx)} then 1 else 0 end as in_flight
    from ${givenLanes(tx, keys)} join sync_push_lanes l
      on l.destination = given.destination and l.account = given.account and l.lane = given.lane
    order by l.destination, l.account, l.lane ${lock}`.execute(tx.sql)
  return rows
}

/** Ends the leases of locked lanes, which are then due at once. */
export async function makeDue(tx: Tx, lanes: readonly LaneKey[]): Promise<void> {
  await sql`
    update sync_push_lanes set lease_token = null, due_at = ${dbTime(tx)}
    where (destination, account, lane) in (select destination, account, lane from ${givenLanes(tx, lanes)})`.execute(tx.sql)
}

/** Deletes locked lanes that have no ready row and are not held. */
export async function closeEmptyLanes(tx: Tx, keys: readonly LaneKey[]): Promise<void> {
  if (keys.length === 0) return
  await sql`
    delete from sync_push_lanes
    where (destination, account, lane) in (select destination, account, lane from ${givenLanes(tx, keys)})
      and held_by is null and not exists (
        select 1 from sync_outbox o where o.destination = sync_push_lanes.destination and o.account = sync_push_lanes.account
          and o.lane = sync_push_lanes.lane and o.state = 'ready')`.execute(tx.sql)
}

/** Lanes for a `from` clause, under the name `given`. */
export function givenLanes(q: Pick<Query, 'kind'>, keys: readonly LaneKey[]): RawBuilder<unknown> {
  return valuesTable(
    q,
    { destination: 'text', account: 'text', lane: 'text' },
    keys.map(({ destination, account, lane }) => ({ destination, account, lane })),
  )
}

/** How many lanes of a destination are blocked, by reason. For people who ask, not for a timer. */
export async function countBlockedLanes(q: Query, destination: string): Promise<{ readonly unmapped: number; readonly held: number }> {
  const rows = await q.sql
    .selectFrom('sync_push_lanes')
    .select((eb) => ['blocked', eb.fn.countAll<number>().as('n')])
    .where('destination', '=', destination)
    .where('blocked', 'is not', null)
    .groupBy('blocked')
    .execute()
  const count = (blocked: 'unmapped' | 'held') => rows.find((row) => row.blocked === blocked)?.n ?? 0
  return { unmapped: count('unmapped'), held: count('held') }
}
