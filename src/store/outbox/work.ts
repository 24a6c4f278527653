import { type RawBuilder, sql } from 'kysely'
import type { Row } from '../../model/entity.ts'
import { storableText } from '../../model/json.ts'
import { msFromTime, timeFromMs } from '../../model/time.ts'
import { requireCheckedServer } from '../engine/checked-server.ts'
import type { Db, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, valuesTable } from '../engine/sql.ts'
import { type LaneBlock, type OutboxState, syncOutbox } from '../schema/push.ts'
import { specOf } from '../schema/table.ts'
import { closeEmptyLanes, type LaneKey, laneText, lockLanes, makeDue } from './lanes.ts'
import type { PushProgress } from './progress.ts'
import { lockMappings, mappedLanes } from './push-map.ts'
import { firstRows, ID_NOT_KNOWN, type OutboxRow } from './rows.ts'
import { returnProbe, takeProbe } from './suspensions.ts'

export type { OutboxRow }

interface LaneLease extends LaneKey {
  readonly leaseToken: string
}

/** A lane that this process may send from until its lease ends. */
export interface ClaimedLane extends LaneLease {
  /** The first rows of the lane, in order; at least one. */
  readonly rows: readonly OutboxRow[]
  /** Whether the claim reached its byte limit: this lane or others may have more that is due. */
  readonly isFull: boolean
  /** The destination is suspended, and the first row of this lane tries it. */
  readonly isProbe: boolean
}

export interface LaneClaim {
  /** Lanes at most. */
  readonly lanes: number
  /** Rows of a lane at most. */
  readonly rowsPerLane: number
  readonly leaseMs: number
  /** Marks the rows as attempted when claiming them, so that an attempt whose end nobody saw can be detected. */
  readonly uncertain: boolean
  /** With `uncertain`: notes the time of the attempt in `tried_at`, unless an uncertain attempt is younger than this. Left out: notes none. */
  readonly lookupAfterMs?: number | undefined
  /** Leaves out the submissions of the rows. */
  readonly withoutSubmissions?: boolean
  /** Claims unmapped lanes whose lookup is due, in place of ready ones. */
  readonly unmapped?: boolean
}

/** The result of a row. Rows of the claim that were not processed are left out of a LaneResult. */
export interface RowResult {
  readonly outboxId: number
  readonly state: OutboxState
  /** Finished attempts, this one included if it finished. */
  readonly attempts: number
  readonly uncertain: boolean
  readonly status: number | null
  readonly detail: string | null
  readonly error: string | null
  readonly progress: PushProgress | null
  /** The record's id at the target; null keeps the known one. */
  readonly remoteId: string | null
}

/** The result of a claimed lane, and when it continues if rows are left. */
export interface LaneResult {
  readonly lane: ClaimedLane
  readonly rows: readonly RowResult[]
  readonly next:
    | { readonly type: 'due'; readonly inMs: number }
    /** `inMs`: delay until an unmapped lane may be claimed for a lookup; 0 when left out. */
    | { readonly type: 'blocked'; readonly as: LaneBlock; readonly inMs?: number }
}

const outbox = specOf(syncOutbox)
const SETTLED = ['state', 'attempts', 'uncertain', 'status', 'detail', 'error', 'progress', 'settled_at']

export const claimedLanes = new Leased<LaneLease>({
  table: 'sync_push_lanes',
  what: 'lane',
  key: { destination: 'destination', account: 'account', lane: 'lane' },
  topic: 'outbox',
})

/** Claims due lanes of a destination, the longest due first; none while the destination is paused or backs off. While it is suspended, one for a probe. */
export async function claimLanes(db: Db, destination: string, claim: LaneClaim): Promise<ClaimedLane[]> {
  const leaseToken = newLeaseToken(db)
  const take = async (tx: Tx): Promise<ClaimedLane[]> => {
    const isOpen = sql`exists (
      select 1 from sync_destinations d
      where d.destination = ${destination} and d.state = 'active' and (d.retry_at is null or d.retry_at <= ${dbTime(tx)}))`
    const isDue = sql`destination = ${destination} and ${claim.unmapped ? sql`blocked = 'unmapped'` : sql`blocked is null`}`
    const keysOf = async (where: RawBuilder<unknown>, limit: number) =>
      await claimedLanes.claim(tx, leaseToken, claimedLanes.select(tx, { where, limit }), { leaseMs: claim.leaseMs })
    let keys = await keysOf(sql`${isDue} and ${isOpen}`, claim.lanes)
    const isProbe = keys.length === 0 && claim.unmapped !== true && (await takeProbe(tx, destination, claim.leaseMs))
    if (isProbe) keys = await keysOf(isDue, 1)
    if (keys.length === 0) {
      if (isProbe) await returnProbe(tx, destination)
      return []
    }
    // What waits here may have been sent by a server that has failed since.
    await requireCheckedServer(tx)
    const { byLane, isFull } = await firstRows(tx, keys, {
      limit: isProbe ? 1 : claim.rowsPerLane,
      submissions: claim.withoutSubmissions !== true,
    })
    const found = keys.map((key) => ({ ...key, isFull, isProbe, rows: byLane.get(`${key.account} ${key.lane}`) ?? [] }))
    const lanes = isFull ? found.filter(({ rows }) => rows.length > 0) : found
    if (lanes.length < found.length)
      await makeDue(
        tx,
        found.filter(({ rows }) => rows.length === 0),
      )
    if (claim.uncertain) await setUncertain(tx, lanes.flatMap(certainRows), true)
    if (claim.uncertain && claim.lookupAfterMs !== undefined) await noteAttempts(tx, lanes, claim.lookupAfterMs)
    // The update returns lanes in any order. Sort by their oldest row, which nearly always means the longest due first.
    return lanes.sort((a, b) => (a.rows[0]?.outboxId ?? 0) - (b.rows[0]?.outboxId ?? 0))
  }
  // The mark must be durable before the attempt. A lease alone is worthless once its holder is gone.
  return db.write('outbox-claim', take, { relaxedDurability: !claim.uncertain })
}

/**
 * Settles lanes in one transaction: rows, remote ids, due times.
 * @param options `relaxedDurability`: a power failure may undo it without harm.
 * @returns results whose lease was lost; nothing of them was written.
 */
export async function settleLanes(
  db: Db,
  results: readonly LaneResult[],
  options: { readonly relaxedDurability?: boolean } = {},
): Promise<LaneResult[]> {
  if (results.length === 0) return []
  const settle = async (tx: Tx): Promise<LaneResult[]> => {
    const unmapped = results.filter(({ next }) => next.type === 'blocked' && next.as === 'unmapped').map(({ lane }) => lane)
    // A mapping stored meanwhile is either seen here, or its transaction finds the lanes blocked here.
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
    const ours = await withoutRequeued(tx, results.filter(isOurs))
    await writeRows(tx, ours)
    await writeRemoteIds(tx, ours)
    await writeLanes(tx, ours, await mappedLanes(tx, unmapped))
    return results.filter((result) => !isOurs(result))
  }
  return db.write('outbox-settle', settle, options)
}

/** Drops rows that were skipped for want of an insert that has been made ready again since: they must follow it. */
async function withoutRequeued(tx: Tx, results: readonly LaneResult[]): Promise<readonly LaneResult[]> {
  const skipped = results.flatMap(({ rows }) => rows.filter(({ state, error }) => state === 'skipped' && error === ID_NOT_KNOWN))
  if (skipped.length === 0) return results
  const { rows: found } = await sql<{ outbox_id: number }>`
    select o.outbox_id from sync_outbox o
    where o.outbox_id in (${sql.join(skipped.map(({ outboxId }) => outboxId))}) and exists (
      select 1 from sync_outbox i where i.destination = o.destination and i.account = o.account and i.lane = o.lane and i.state = 'ready'
        and i.outbox_id < o.outbox_id and i.entity = o.entity and i.entity_id = o.entity_id and i.operation = 'insert')`.execute(tx.sql)
  const requeued = new Set(found.map((row) => row.outbox_id))
  return results.map((result) => ({ ...result, rows: result.rows.filter(({ outboxId }) => !requeued.has(outboxId)) }))
}

/** Writes the results of rows; `tried_at` only of those that were attempted. */
async function writeRows(tx: Tx, results: readonly LaneResult[]): Promise<void> {
  const now = timeFromMs(tx.clock.now())
  const attempted: Row[] = []
  const others: Row[] = []
  for (const { lane, rows } of results) {
    const before = new Map(lane.rows.map((row) => [row.outboxId, row]))
    for (const { outboxId, state, attempts, uncertain, status, detail, error, progress } of rows) {
      const claimed = before.get(outboxId)
      const kept = progress && claimed ? protectedProgress(tx, claimed, progress) : null
      const texts = { detail: storableOrNull(detail), error: storableOrNull(error), progress: kept }
      const settledAt = state === 'ready' ? null : now
      const row = { outbox_id: outboxId, state, attempts, uncertain: uncertain ? 1 : 0, status, ...texts, settled_at: settledAt }
      if (attempts > (claimed?.attempts ?? 0)) attempted.push({ ...row, tried_at: now })
      else others.push(row)
    }
  }
  await tx.updateMany(outbox, [...SETTLED, 'tried_at'], attempted)
  await tx.updateMany(outbox, SETTLED, others)
}

/** An answer may repeat tax ids that the destination got. */
function protectedProgress(tx: Tx, { account, entity, entityId }: OutboxRow, progress: PushProgress): string {
  return tx.protection.text(JSON.stringify(progress), { account, table: entity, key: entityId, column: 'raw' })
}

/** May quote a target's answer with characters that Postgres refuses (trap 72). */
function storableOrNull(text: string | null): string | null {
  return text === null ? null : storableText(text)
}

async function writeRemoteIds(tx: Tx, results: readonly LaneResult[]): Promise<void> {
  const ids = new Map<string, Row>()
  for (const { lane, rows } of results) {
    const byId = new Map(lane.rows.map((row) => [row.outboxId, row]))
    for (const { outboxId, remoteId } of rows) {
      const row = byId.get(outboxId)
      if (!row || remoteId === null) continue
      const { destination, account } = lane
      const { entity, entityId } = row
      const given = { destination, account, entity, entity_id: entityId, remote_id: storableText(remoteId) }
      ids.set(`${laneText(lane)} ${entity} ${entityId}`, given)
    }
  }
  if (ids.size === 0) return
  const columns = { destination: 'text', account: 'text', entity: 'text', entity_id: 'text', remote_id: 'text' } as const
  await sql`
    insert into sync_remote_ids (destination, account, entity, entity_id, remote_id, stored_at)
    select destination, account, entity, entity_id, remote_id, ${dbTime(tx)} from ${valuesTable(tx, columns, [...ids.values()])}
    where 1 = 1 order by destination, account, entity, entity_id
    on conflict (destination, account, entity, entity_id)
      do update set remote_id = excluded.remote_id, stored_at = excluded.stored_at`.execute(tx.sql)
}

async function writeLanes(tx: Tx, results: readonly LaneResult[], mapped: ReadonlySet<string>): Promise<void> {
  if (results.length === 0) return
  const lanes = results.map(({ lane, rows, next }) => {
    const blocked = next.type === 'blocked' && !(next.as === 'unmapped' && mapped.has(laneText(lane))) ? next.as : null
    const held_by = blocked === 'held' ? (rows.findLast(({ state }) => state === 'dead' || state === 'unknown')?.outboxId ?? null) : null
    // A lane whose mapping was stored meanwhile is not blocked.
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

/**
 * Releases lanes, due at once, unless their lease was lost.
 * @param options `clearUncertain`: removes the marks that the claim set, because no attempt began.
 */
export async function releaseLanes(db: Db, lanes: readonly ClaimedLane[], options: { readonly clearUncertain: boolean }): Promise<void> {
  if (lanes.length === 0) return
  await db.write('outbox-release', async (tx) => {
    const tokens = new Map((await lockLanes(tx, lanes)).map((lane) => [laneText(lane), lane.lease_token]))
    const ours = lanes.filter((lane) => tokens.get(laneText(lane)) === lane.leaseToken)
    await makeDue(tx, ours)
    await closeEmptyLanes(
      tx,
      ours.filter(({ rows }) => rows.length === 0),
    )
    if (options.clearUncertain) await setUncertain(tx, ours.flatMap(certainRows), false)
    wake(tx, 'outbox')
  })
}

/**
 * Releases all claimed lanes of a destination. For a process that knows that no other sends and that has none in flight. Marks of attempts
 * stay.
 */
export async function releaseAllLanes(db: Db, destination: string): Promise<void> {
  await db.write('outbox-release', (tx) => claimedLanes.releaseAll(tx, { destination }))
}

/** An attempt may follow of each row but those whose earlier attempt is too young for a lookup to decide. */
async function noteAttempts(tx: Tx, lanes: readonly ClaimedLane[], lookupAfterMs: number): Promise<void> {
  const now = tx.clock.now()
  const rows = lanes.flatMap((lane) => lane.rows)
  const attempted = rows.filter((row) => !row.uncertain || row.triedAt === null || now - msFromTime(row.triedAt) >= lookupAfterMs)
  await tx.updateMany(
    outbox,
    ['tried_at'],
    attempted.map(({ outboxId }) => ({ outbox_id: outboxId, tried_at: timeFromMs(now) })),
  )
}

/** The rows whose outcome was not uncertain before the claim. */
function certainRows(lane: ClaimedLane): number[] {
  return lane.rows.filter((row) => !row.uncertain).map((row) => row.outboxId)
}

async function setUncertain(tx: Tx, outboxIds: readonly number[], uncertain: boolean): Promise<void> {
  await tx.updateMany(
    outbox,
    ['uncertain'],
    outboxIds.map((outbox_id) => ({ outbox_id, uncertain: uncertain ? 1 : 0 })),
  )
}
