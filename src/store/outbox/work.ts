import { randomUUID } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import type { Row } from '../../model/entity.ts'
import { storableText } from '../../model/json.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, TableSpec, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, skipLocked, valuesTable } from '../engine/sql.ts'
import type { LaneBlock, OutboxState, OutboxTable } from '../schema/tables-push.ts'
import { closeEmptyLanes, givenLanes, type LaneKey, LaneTotals, laneText, lockLanes } from './lanes.ts'
import { lockMappings, mappedLanes } from './push-map.ts'
import { amongIds, firstRows, ID_NOT_KNOWN, type OutboxRow } from './rows.ts'

export type { OutboxRow }

/** A lane that this process may send from until its lease ends. */
export interface ClaimedLane extends LaneKey {
  readonly leaseToken: string
  /** The first rows of the lane, in their order; at least one. */
  readonly rows: readonly OutboxRow[]
  /** Whether its claim has as many bytes as one may have: this lane, or others, may have more that is due. */
  readonly isFull: boolean
}

export interface LaneClaim {
  /** Lanes at most. */
  readonly lanes: number
  /** Rows of a lane at most. */
  readonly rowsPerLane: number
  readonly leaseMs: number
  /** Whether a try of each row may begin at once: the claim itself marks them, so that a try that nobody sees end is known of. */
  readonly uncertain: boolean
  /** The rows come without their submissions. */
  readonly withoutSubmissions?: boolean
  /** Lanes that wait for a client, and whose time to look for one has come, in the place of those that wait for nothing. */
  readonly unmapped?: boolean
}

/** What became of a row. Rows of the claim that were not looked at are left out of a LaneResult. */
export interface RowResult {
  readonly outboxId: number
  readonly state: OutboxState
  /** Tries that have ended, this one included when it has. */
  readonly attempts: number
  readonly uncertain: boolean
  readonly status: number | null
  readonly detail: string | null
  readonly error: string | null
  /** What the target calls the record; null leaves what is known. */
  readonly remoteId: string | null
}

/** What became of a claimed lane, and when it goes on, if any row of it is left. */
export interface LaneResult {
  readonly lane: ClaimedLane
  readonly rows: readonly RowResult[]
  readonly next:
    | { readonly type: 'due'; readonly inMs: number }
    /** `inMs`: when a lane that is unmapped may be claimed as such; at once when left out. */
    | { readonly type: 'blocked'; readonly as: LaneBlock; readonly inMs?: number }
}

const settled: TableSpec = {
  table: 'sync_outbox',
  key: ['outbox_id'],
  columns: {
    outbox_id: 'int',
    state: 'text',
    attempts: 'int',
    uncertain: 'int',
    status: 'int',
    detail: 'text',
    error: 'text',
    tried_at: 'time',
    settled_at: 'time',
  },
}
/** So many rows at least are worth a statement of their own. */
const ALIKE = 8
const SETTLED = ['state', 'attempts', 'uncertain', 'status', 'detail', 'error', 'settled_at']

/**
 * Claims lanes of a destination whose time has come, the longest due first; none while the destination is not active or rests. A claim
 * is a lease by the database's clock: it moves the lane's time on, so that a lane whose process died becomes due again by itself.
 */
export async function claimLanes(db: Db, destination: string, claim: LaneClaim): Promise<ClaimedLane[]> {
  const leaseToken = randomUUID()
  const take = async (tx: Tx): Promise<ClaimedLane[]> => {
    const { rows: keys } = await sql<LaneKey>`
      with due as (
        select destination, account, lane from sync_push_lanes
        where destination = ${destination} and ${claim.unmapped ? sql`blocked = 'unmapped'` : sql`blocked is null`} and due_at <= ${dbTime(tx)} and exists (
          select 1 from sync_destinations d
          where d.destination = ${destination} and d.state = 'active' and (d.retry_at is null or d.retry_at <= ${dbTime(tx)}))
        order by due_at limit ${sql.lit(claim.lanes)} ${skipLocked(tx)})
      update sync_push_lanes set lease_token = ${leaseToken}, due_at = ${dbTime(tx, claim.leaseMs)} from due
      where sync_push_lanes.destination = due.destination and sync_push_lanes.account = due.account and sync_push_lanes.lane = due.lane
      returning sync_push_lanes.destination, sync_push_lanes.account, sync_push_lanes.lane`.execute(tx.sql)
    if (keys.length === 0) return []
    const { byLane, isFull } = await firstRows(tx, keys, { limit: claim.rowsPerLane, submissions: claim.withoutSubmissions !== true })
    const found = keys.map((key) => ({ ...key, leaseToken, isFull, rows: byLane.get(`${key.account} ${key.lane}`) ?? [] }))
    const lanes = isFull ? found.filter(({ rows }) => rows.length > 0) : found
    if (lanes.length < found.length)
      await makeDue(
        tx,
        found.filter(({ rows }) => rows.length === 0),
      )
    if (claim.uncertain) await setUncertain(tx, lanes.flatMap(certainRows), true)
    // The lanes come in any order; the one that has waited the longest has the oldest row, nearly always.
    return lanes.sort((a, b) => (a.rows[0]?.outboxId ?? 0) - (b.rows[0]?.outboxId ?? 0))
  }
  // A mark must be there before the try that it speaks of; a lease alone is worth nothing once its holder is gone.
  return db.write('outbox-claim', take, { relaxedDurability: !claim.uncertain })
}

/**
 * Writes down what became of lanes, all in one transaction: rows, remote ids, when each lane goes on, counters.
 * @param options `relaxedDurability`: a power failure may undo it without harm.
 * @returns those whose lease was lost: nothing of them was written.
 */
export async function settleLanes(
  db: Db,
  results: readonly LaneResult[],
  options: { readonly relaxedDurability?: boolean } = {},
): Promise<LaneResult[]> {
  if (results.length === 0) return []
  const settle = async (tx: Tx): Promise<LaneResult[]> => {
    const unmapped = results.filter(({ next }) => next.type === 'blocked' && next.as === 'unmapped').map(({ lane }) => lane)
    // A map that is stored meanwhile is either seen here, or finds the lanes that are blocked here.
    if (unmapped.length > 0) await lockMappings(tx)
    const tokens = new Map(
      (
        await lockLanes(
          tx,
          results.map(({ lane }) => lane),
        )
      ).map((lane) => [laneText(lane), lane.lease_token]),
    )
    const isOurs = ({ lane }: LaneResult) => tokens.get(laneText(lane)) === lane.leaseToken
    const ours = await withoutAwaiting(tx, results.filter(isOurs))
    await writeRows(tx, ours)
    await writeRemoteIds(tx, ours)
    await writeLanes(tx, ours, await mappedLanes(tx, unmapped))
    await countMoves(tx, ours)
    return results.filter((result) => !isOurs(result))
  }
  return db.write('outbox-settle', settle, options)
}

/** Leaves out rows that were skipped for want of an insert that was made ready again since they were claimed: they go behind it. */
async function withoutAwaiting(tx: Tx, results: readonly LaneResult[]): Promise<readonly LaneResult[]> {
  const skipped = results.flatMap(({ rows }) => rows.filter(({ state, error }) => state === 'skipped' && error === ID_NOT_KNOWN))
  if (skipped.length === 0) return results
  const { rows: found } = await sql<{ outbox_id: number }>`
    select o.outbox_id from sync_outbox o
    where o.outbox_id in (${sql.join(skipped.map(({ outboxId }) => outboxId))}) and exists (
      select 1 from sync_outbox i where i.destination = o.destination and i.account = o.account and i.lane = o.lane and i.state = 'ready'
        and i.outbox_id < o.outbox_id and i.entity = o.entity and i.entity_id = o.entity_id and i.operation = 'insert')`.execute(tx.sql)
  const awaiting = new Set(found.map((row) => row.outbox_id))
  return results.map((result) => ({ ...result, rows: result.rows.filter(({ outboxId }) => !awaiting.has(outboxId)) }))
}

/** What is written of a row that was looked at; nothing of when it was tried, unless it was. */
type Settled = Pick<OutboxTable, 'state' | 'attempts' | 'uncertain' | 'status' | 'detail' | 'error' | 'settled_at'> &
  Partial<Pick<OutboxTable, 'tried_at'>>

/** Rows of which the same is to be written are written together: nearly all were taken at their first try. */
async function writeRows(tx: Tx, results: readonly LaneResult[]): Promise<void> {
  const tried: Row[] = []
  const others: Row[] = []
  for (const { written, ids } of alike(results, timeFromMs(tx.clock.now()))) {
    if (ids.length >= ALIKE) await writeAlike(tx, written, ids)
    else (written.tried_at === undefined ? others : tried).push(...ids.map((outbox_id) => ({ outbox_id, ...written })))
  }
  await tx.updateMany(settled, [...SETTLED, 'tried_at'], tried)
  await tx.updateMany(settled, SETTLED, others)
}

function alike(results: readonly LaneResult[], now: TimeText): Iterable<{ readonly written: Settled; readonly ids: readonly number[] }> {
  const groups = new Map<string, { written: Settled; ids: number[] }>()
  for (const { lane, rows } of results) {
    const before = new Map(lane.rows.map((row) => [row.outboxId, row.attempts]))
    for (const { outboxId, state, attempts, uncertain, status, detail, error } of rows) {
      const isTried = attempts > (before.get(outboxId) ?? 0)
      const key = `${state} ${attempts} ${uncertain} ${status} ${isTried} ${detail?.length} ${detail} ${error}`
      const group = groups.get(key)
      if (group) group.ids.push(outboxId)
      else {
        const said = { detail: keptText(detail), error: keptText(error), settled_at: state === 'ready' ? null : now }
        const written = { state, attempts, uncertain: uncertain ? 1 : 0, status, ...said, ...(isTried && { tried_at: now }) }
        groups.set(key, { written, ids: [outboxId] })
      }
    }
  }
  return groups.values()
}

async function writeAlike(tx: Tx, written: Settled, ids: readonly number[]): Promise<void> {
  await tx.sql.updateTable('sync_outbox').set(written).where('outbox_id', 'in', amongIds(tx, ids)).execute()
}

/** It may repeat what a target said, which may hold what Postgres refuses (trap 72). */
function keptText(text: string | null): string | null {
  return text === null ? null : storableText(text)
}

async function writeRemoteIds(tx: Tx, results: readonly LaneResult[]): Promise<void> {
  const ids = new Map<string, { key: LaneKey; row: OutboxRow; remoteId: string }>()
  for (const { lane, rows } of results) {
    const byId = new Map(lane.rows.map((row) => [row.outboxId, row]))
    for (const { outboxId, remoteId } of rows) {
      const row = byId.get(outboxId)
      if (row && remoteId !== null) ids.set(`${laneText(lane)} ${row.entity} ${row.entityId}`, { key: lane, row, remoteId })
    }
  }
  for (const key of [...ids.keys()].sort()) {
    const found = ids.get(key)
    if (!found) continue
    const { destination, account } = found.key
    const remote_id = storableText(found.remoteId)
    await tx.sql
      .insertInto('sync_remote_ids')
      .values({ destination, account, entity: found.row.entity, entity_id: found.row.entityId, remote_id, stored_at: dbTime(tx) })
      .onConflict((conflict) =>
        conflict.columns(['destination', 'account', 'entity', 'entity_id']).doUpdateSet({ remote_id, stored_at: dbTime(tx) }),
      )
      .execute()
  }
}

async function writeLanes(tx: Tx, results: readonly LaneResult[], mapped: ReadonlySet<string>): Promise<void> {
  if (results.length === 0) return
  const lanes = results.map(({ lane, rows, next }) => {
    const blocked = next.type === 'blocked' && !(next.as === 'unmapped' && mapped.has(laneText(lane))) ? next.as : null
    const held_by = blocked === 'held' ? (rows.findLast(({ state }) => state === 'dead' || state === 'unknown')?.outboxId ?? null) : null
    // A map that was stored meanwhile is one that was waited for.
    const waits = next.type === 'due' || blocked === 'unmapped'
    const inMs = waits ? Math.max(0, Math.round(next.inMs ?? 0)) : 0
    const { destination, account, lane: name } = lane
    return { destination, account, lane: name, due_at: timeFromMs(tx.clock.now() + inMs), in_ms: inMs, blocked, held_by }
  })
  const columns = {
    destination: 'text',
    account: 'text',
    lane: 'text',
    due_at: 'text',
    in_ms: 'int',
    blocked: 'text',
    held_by: 'int',
  } as const
  const dueAt: RawBuilder<unknown> =
    tx.kind === 'sqlite' ? sql`given.due_at` : sql`clock_timestamp() + given.in_ms * interval '1 millisecond'`
  await sql`
    update sync_push_lanes set lease_token = null, due_at = ${dueAt}, blocked = given.blocked, held_by = given.held_by
    from ${valuesTable(tx, columns, lanes)}
    where sync_push_lanes.destination = given.destination and sync_push_lanes.account = given.account
      and sync_push_lanes.lane = given.lane`.execute(tx.sql)
  await closeEmptyLanes(
    tx,
    results.map(({ lane }) => lane),
  )
}

async function countMoves(tx: Tx, results: readonly LaneResult[]): Promise<void> {
  const tallies = new LaneTotals()
  for (const { lane, rows } of results) {
    for (const row of rows) tallies.move(lane.destination, 'ready', row.state)
  }
  await tallies.write(tx)
}

/**
 * Gives lanes back, due at once; one whose lease was lost is left alone.
 * @param options `clearUncertain`: the marks that their claim set are taken away, for no try was begun.
 */
export async function releaseLanes(db: Db, lanes: readonly ClaimedLane[], options: { readonly clearUncertain: boolean }): Promise<void> {
  if (lanes.length === 0) return
  await db.write('outbox-release', async (tx) => {
    const tokens = new Map((await lockLanes(tx, lanes)).map((lane) => [laneText(lane), lane.lease_token]))
    const ours = lanes.filter((lane) => tokens.get(laneText(lane)) === lane.leaseToken)
    await makeDue(tx, ours)
    if (options.clearUncertain) await setUncertain(tx, ours.flatMap(certainRows), false)
    wake(tx, 'outbox')
  })
}

/**
 * Gives back, at once, whatever lanes of a destination are claimed: for a process that knows that no other one sends, and that has none in
 * hand. Marks of tries that were begun stay.
 */
export async function releaseAllLanes(db: Db, destination: string): Promise<void> {
  await db.write('outbox-release', async (tx) => {
    await sql`
      update sync_push_lanes set lease_token = null, due_at = ${dbTime(tx)}
      where destination = ${destination} and lease_token is not null and due_at > ${dbTime(tx)}`.execute(tx.sql)
  })
}

/** Ends the leases of lanes that are locked; nobody has to wait for them. */
async function makeDue(tx: Tx, lanes: readonly LaneKey[]): Promise<void> {
  await sql`
    update sync_push_lanes set lease_token = null, due_at = ${dbTime(tx)}
    where (destination, account, lane) in (select destination, account, lane from ${givenLanes(tx, lanes)})`.execute(tx.sql)
}

/** The rows that nothing was known of before the claim. */
function certainRows(lane: ClaimedLane): number[] {
  return lane.rows.filter((row) => !row.uncertain).map((row) => row.outboxId)
}

async function setUncertain(tx: Tx, outboxIds: readonly number[], uncertain: boolean): Promise<void> {
  await tx.updateMany(
    settled,
    ['uncertain'],
    outboxIds.map((outbox_id) => ({ outbox_id, uncertain: uncertain ? 1 : 0 })),
  )
}
