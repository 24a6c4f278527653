import { type RawBuilder, sql } from 'kysely'
import type { Query, Tx } from '../engine/db.ts'
import { dbTime, valuesTable } from '../engine/sql.ts'
import type { LaneBlock } from '../schema/tables-push.ts'

/**
 * Lanes of the outbox. A lane's row exists as long as rows of it are ready, or one holds it. Whoever makes rows ready or takes them away
 * locks the lane's row first, and changes what belongs to a destination as a whole last: so a lane is never thought empty by one
 * transaction while another fills it, and nobody waits in a circle.
 */

/** Which lane: all that is sent in order to one destination. */
export interface LaneKey {
  readonly destination: string
  readonly account: string
  readonly lane: string
}

/** @returns a text that names the lane, for maps. */
export function laneText({ destination, account, lane }: LaneKey): string {
  return `${destination} ${account} ${lane}`
}

/** The lanes of `rows`, each once. */
export function lanesOf(rows: readonly LaneKey[]): LaneKey[] {
  return [...new Map(rows.map((row) => [laneText(row), row])).values()]
}

/** Makes sure that lanes exist, new ones due at once, and locks them all. @param keys distinct. */
export async function openLanes(tx: Tx, keys: readonly LaneKey[]): Promise<void> {
  if (keys.length === 0) return
  // The update that changes nothing locks the row. In key order, as everybody locks lanes.
  const kept = tx.kind === 'sqlite' ? sql`do nothing` : sql`(destination, account, lane) do update set due_at = sync_push_lanes.due_at`
  await sql`
    insert into sync_push_lanes (destination, account, lane, due_at)
    select destination, account, lane, ${dbTime(tx)} from ${givenLanes(tx, keys)} where 1 = 1
    order by destination, account, lane on conflict ${kept}`.execute(tx.sql)
}

/** A lane as it stands now. */
export interface LockedLane extends LaneKey {
  readonly lease_token: string | null
  readonly blocked: LaneBlock | null
  readonly held_by: number | null
  /** Whether a process may be sending from it now. */
  readonly in_flight: number
}

/** Locks those of the lanes that exist, in key order. */
export async function lockLanes(tx: Tx, keys: readonly LaneKey[]): Promise<LockedLane[]> {
  if (keys.length === 0) return []
  const lock = tx.kind === 'postgres' ? sql`for update of l` : sql``
  const { rows } = await sql<LockedLane>`
    select l.destination, l.account, l.lane, l.lease_token, l.blocked, l.held_by,
      case when l.lease_token is not null and l.due_at > ${dbTime(tx)} then 1 else 0 end as in_flight
    from ${givenLanes(tx, keys)} join sync_push_lanes l
      on l.destination = given.destination and l.account = given.account and l.lane = given.lane
    order by l.destination, l.account, l.lane ${lock}`.execute(tx.sql)
  return rows
}

/** Takes away those of the lanes, which must be locked, that have no ready row left and that nothing holds. */
export async function closeEmptyLanes(tx: Tx, keys: readonly LaneKey[]): Promise<void> {
  if (keys.length === 0) return
  await sql`
    delete from sync_push_lanes
    where (destination, account, lane) in (select destination, account, lane from ${givenLanes(tx, keys)})
      and held_by is null and not exists (
        select 1 from sync_outbox o where o.destination = sync_push_lanes.destination and o.account = sync_push_lanes.account
          and o.lane = sync_push_lanes.lane and o.state = 'ready')`.execute(tx.sql)
}

/** Lanes, to stand in a `from` clause under the name `given`. */
export function givenLanes(q: Pick<Query, 'kind'>, keys: readonly LaneKey[]): RawBuilder<unknown> {
  return valuesTable(
    q,
    { destination: 'text', account: 'text', lane: 'text' },
    keys.map(({ destination, account, lane }) => ({ destination, account, lane })),
  )
}

/** Counts rows of the outbox that change their state, for the counters of their destinations. */
export class LaneTotals {
  readonly #tallies = new Map<string, { queued: number; dead: number; unknown: number }>()

  /** @param from null: the row is new. */
  move(destination: string, from: string | null, to: string): void {
    const tally = this.#tallies.get(destination) ?? { queued: 0, dead: 0, unknown: 0 }
    this.#tallies.set(destination, tally)
    const by = (state: string) => Number(to === state) - Number(from === state)
    tally.queued += by('ready')
    tally.dead += by('dead')
    tally.unknown += by('unknown')
  }

  /** Writes the counters; the last thing that a transaction does. */
  async write(tx: Tx): Promise<void> {
    for (const [destination, { queued, dead, unknown }] of [...this.#tallies].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (queued === 0 && dead === 0 && unknown === 0) continue
      await sql`
        update sync_destinations set queued = queued + ${queued}, dead = dead + ${dead}, unknown = unknown + ${unknown}
        where destination = ${destination}`.execute(tx.sql)
    }
  }
}
