import { type RawBuilder, sql } from 'kysely'
import type { Db, Query, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, rowLock } from '../engine/sql.ts'
import type { OutboxState } from '../schema/push.ts'
import { closeEmptyLanes, type LaneKey, type LockedLane, lanesOf, laneText, lockLanes, openLanes } from './lanes.ts'
import { matches, type OutboxFilter, place, STOPPED } from './queries.ts'
import { amongIds, ID_NOT_KNOWN } from './rows.ts'

/**
 * Result of a step. `inFlight`: rows left alone because a process is sending from their lanes. `nextAfter`: where the next step begins; null
 * at the end.
 */
export interface OutboxStep {
  readonly changed: number
  readonly inFlight: number
  readonly nextAfter: number | null
}

/** The rows of a command: those of a filter, or the given ones. */
export type OutboxSelection = OutboxFilter | { readonly outboxIds: readonly number[] }

/** A chosen row, as it was when it was read. */
interface Chosen extends LaneKey {
  readonly outbox_id: number
  readonly state: OutboxState
}

/**
 * Makes dead, unknown and skipped rows ready again, with no attempts, at their old place in their lanes; a lane that one of them held is
 * unblocked. Changes of the same record that were skipped for want of an insert go along with it. A filter without a state means dead and
 * unknown rows. One step of up to `limit` rows behind `after` (0 to begin), followers included, but at least one row.
 * @param withLookup destinations that can be asked what they have: a row that may have arrived there stays uncertain, so that it is looked up
 * before it is sent.
 */
export async function retryRows(
  db: Db,
  selection: OutboxSelection,
  after: number,
  limit: number,
  withLookup: readonly string[] = [],
): Promise<OutboxStep> {
  const found = await choose(db.read, selection, ['dead', 'unknown', 'skipped'], after, limit)
  const chosen = await fitting(db.read, found, limit)
  const changed = await db.write('outbox-retry', async (tx) => {
    const lanes = lanesOf(chosen)
    await openLanes(tx, lanes)
    const locked = await lockLanes(tx, lanes)
    const rows = await lockRows(tx, [...chosen, ...(await followersOf(tx, chosen))], ['dead', 'unknown', 'skipped'])
    const looks = new Set(withLookup)
    const again = sql`state = 'ready', attempts = 0, status = null, detail = null, error = null, settled_at = null`
    await setRows(
      tx,
      rows.filter(({ destination }) => !looks.has(destination)),
      sql`${again}, uncertain = 0`,
    )
    await setRows(
      tx,
      rows.filter(({ destination }) => looks.has(destination)),
      again,
    )
    await unblockLanes(tx, locked, rows)
    await finish(tx, locked)
    return rows.length
  })
  return { changed, inFlight: 0, nextAfter: chosen.length < found.length ? lastOf(chosen) : nextAfter(found, limit) }
}

/**
 * Skips rows for good, ready ones too unless they may be in flight; a lane that one of them held is unblocked. A filter without a state means
 * dead and unknown rows. In steps, like `retryRows`.
 */
export async function skipRows(db: Db, selection: OutboxSelection, after: number, limit: number): Promise<OutboxStep> {
  const chosen = await choose(db.read, selection, ['ready', 'dead', 'unknown'], after, limit)
  const { changed, inFlight } = await db.write('outbox-skip', async (tx) => {
    const locked = await lockLanes(tx, lanesOf(chosen))
    const free = new Set(locked.filter((lane) => lane.in_flight === 0).map(laneText))
    const found = await lockRows(tx, chosen, ['ready', 'dead', 'unknown'])
    const rows = found.filter((row) => row.state !== 'ready' || free.has(laneText(row)))
    await setRows(tx, rows, sql`state = 'skipped', settled_at = ${dbTime(tx)}`)
    await unblockLanes(tx, locked, rows)
    await finish(tx, locked)
    return { changed: rows.length, inFlight: found.length - rows.length }
  })
  return { changed, inFlight, nextAfter: nextAfter(chosen, limit) }
}

function nextAfter(chosen: readonly Chosen[], limit: number): number | null {
  return chosen.length < limit ? null : lastOf(chosen)
}

function lastOf(chosen: readonly Chosen[]): number | null {
  return chosen.at(-1)?.outbox_id ?? null
}

/** How many rows a retry or a skip of these states would choose, counted up to `cap`: those that are skipped along are not among them. */
export async function countChosen(q: Query, selection: OutboxSelection, states: readonly OutboxState[], cap: number): Promise<number> {
  return (await choose(q, selection, states, 0, cap)).length
}

async function choose(
  q: Query,
  selection: OutboxSelection,
  states: readonly OutboxState[],
  after: number,
  limit: number,
): Promise<Chosen[]> {
  const named = 'outboxIds' in selection
  if (named && selection.outboxIds.length === 0) return []
  if (!named && selection.state !== undefined && !states.includes(selection.state)) return []
  const implied = named || selection.state !== undefined ? states : (['dead', 'unknown'] as const)
  const stopped = implied.every((state) => STOPPED.includes(state)) ? sql`and o.state in ('dead', 'unknown', 'skipped')` : sql``
  const which = named ? sql`o.outbox_id in ${amongIds(q, selection.outboxIds)}` : matches(q, selection, true)
  const number = named ? sql`o.outbox_id` : place(q, { ...selection, state: implied[0] })
  const { rows } = await sql<Chosen>`
    select o.outbox_id, o.destination, o.account, o.lane, o.state from sync_outbox o
    where ${which} and o.state in (${sql.join(implied.map((state) => sql.lit(state)))}) ${stopped} and ${number} > ${after}
    order by ${number} limit ${sql.lit(limit)}`.execute(q.sql)
  return rows
}

/** As many of the rows as fit, with their followers, into `limit`, so that the transaction stays short; at least one. */
async function fitting(q: Query, chosen: readonly Chosen[], limit: number): Promise<readonly Chosen[]> {
  if (chosen.length < 2) return chosen
  const { rows } = await sql<{ outbox_id: number; n: number }>`
    select i.outbox_id, count(*) as n ${followers(q, chosen)} group by i.outbox_id`.execute(q.sql)
  const behind = new Map(rows.map(({ outbox_id, n }) => [outbox_id, Number(n)]))
  let total = 0
  const end = chosen.findIndex(({ outbox_id }, position) => {
    total += 1 + (behind.get(outbox_id) ?? 0)
    return position > 0 && total > limit
  })
  return end === -1 ? chosen : chosen.slice(0, end)
}

async function followersOf(tx: Tx, chosen: readonly Chosen[]): Promise<Chosen[]> {
  if (chosen.length === 0) return []
  const { rows } = await sql<Chosen>`
    select f.outbox_id, f.destination, f.account, f.lane, f.state ${followers(tx, chosen)}`.execute(tx.sql)
  return rows
}

/** `f`: changes skipped because one of the inserts `i` among `chosen` was not delivered. */
function followers(q: Query, chosen: readonly Chosen[]): RawBuilder<unknown> {
  const inserts = sql`select * from sync_outbox where outbox_id in ${amongIds(q, chosen.map(idOf))} and operation = 'insert'`
  const follows = sql`
    f.account = i.account and f.submission_id = i.submission_id and f.outbox_id > i.outbox_id
    and f.destination = i.destination and f.entity = i.entity and f.entity_id = i.entity_id
    and f.state = 'skipped' and f.error = ${ID_NOT_KNOWN}`
  if (q.kind === 'sqlite') return sql`from (${inserts}) i join sync_outbox f on ${follows}`
  // Go from each insert to its followers. Postgres has no statistics of a queue that has just filled, and may go the other way, in quadratic
  // time.
  return sql`from (${inserts} offset 0) i cross join lateral (select * from sync_outbox f where ${follows} offset 0) f`
}

/** Locks the chosen rows; those no longer in one of `states` are left out. */
async function lockRows(tx: Tx, chosen: readonly Chosen[], states: readonly OutboxState[]): Promise<Chosen[]> {
  if (chosen.length === 0) return []
  const lock = rowLock(tx, 'for update')
  const { rows } = await sql<Chosen>`
    select outbox_id, destination, account, lane, state from sync_outbox
    where outbox_id in ${amongIds(tx, chosen.map(idOf))} order by outbox_id ${lock}`.execute(tx.sql)
  return rows.filter((row) => states.includes(row.state))
}

async function setRows(tx: Tx, rows: readonly Chosen[], set: ReturnType<typeof sql>): Promise<void> {
  if (rows.length === 0) return
  await sql`update sync_outbox set ${set} where outbox_id in ${amongIds(tx, rows.map(idOf))}`.execute(tx.sql)
}

function idOf(row: Chosen): number {
  return row.outbox_id
}

/**
 * Unblocks lanes that one of the rows held. Other lanes not in flight are due at once. An expired lease is cleared, so that its former holder
 * cannot write over this.
 */
async function unblockLanes(tx: Tx, locked: readonly LockedLane[], rows: readonly Chosen[]): Promise<void> {
  const touched = new Set(rows.map(laneText))
  const ids = new Set(rows.map(idOf))
  for (const lane of locked) {
    if (!touched.has(laneText(lane)) || lane.in_flight === 1) continue
    const held = lane.held_by !== null && !ids.has(lane.held_by)
    await sql`
      update sync_push_lanes set lease_token = null, due_at = ${dbTime(tx)}
        ${held || lane.blocked === 'unmapped' ? sql`` : sql`, blocked = null, held_by = null`}
      where destination = ${lane.destination} and account = ${lane.account} and lane = ${lane.lane}`.execute(tx.sql)
  }
}

async function finish(tx: Tx, locked: readonly LockedLane[]): Promise<void> {
  await closeEmptyLanes(tx, locked)
  wake(tx, 'outbox')
}
