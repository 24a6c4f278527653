import { type RawBuilder, sql } from 'kysely'
import type { Row } from '../../model/entity.ts'
import { storableText } from '../../model/json.ts'
import { msFromTime, timeFromMs } from '../../model/time.ts'
import { requireCheckedServer } from '../engine/checked-server.ts'
import type { Db, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, valuesTable } from '../engine/sql.ts'
import { type OutboxState, type StreamBlock, syncOutbox } from '../schema/push.ts'
import { specOf } from '../schema/table.ts'
import type { PushProgress } from './progress.ts'
import { lockMappings, mappedStreams } from './push-map.ts'
import { firstRows, ID_NOT_KNOWN, type OutboxRow } from './rows.ts'
import { closeEmptyStreams, lockStreams, makeDue, type StreamKey, streamText } from './streams.ts'
import { returnProbe, takeProbe } from './suspensions.ts'

export type { OutboxRow }

interface StreamLease extends StreamKey {
  readonly leaseToken: string
}

/** A stream that this process has leased. The process may send its rows until the lease ends. */
export interface ClaimedStream extends StreamLease {
  /** The first ready rows of the stream, in order. Empty if the stream has no ready rows any more. */
  readonly rows: readonly OutboxRow[]
  /** True if ready rows were left out because of the limit in bytes. Then claim again. */
  readonly isFull: boolean
  /** Whether the first row is a probe of a suspended destination. */
  readonly isProbe: boolean
}

export interface StreamClaim {
  readonly streams: number
  readonly rowsPerStream: number
  readonly leaseMs: number
  /**
   * Whether to mark the claimed rows as possibly sent. If this process dies, the next sender knows that the rows may
   * have been sent.
   */
  readonly uncertain: boolean
  /**
   * With `uncertain`: also sets `tried_at` of the claimed rows to now. A row that already had an unknown outcome keeps
   * a `tried_at` that is less than this many ms old.
   */
  readonly lookupAfterMs?: number | undefined
  readonly withoutSubmissions?: boolean
  /** Claims unmapped streams that are due for a client lookup, instead of streams to send. */
  readonly unmapped?: boolean
}

/** The result of one row. Rows that weren't processed have no result. */
export interface RowResult {
  readonly outboxId: number
  readonly state: OutboxState
  /** Number of finished attempts of the row, including this attempt if one was made. */
  readonly attempts: number
  readonly uncertain: boolean
  readonly status: number | null
  readonly detail: string | null
  readonly error: string | null
  readonly progress: PushProgress | null
  /** The record's id at the target; null keeps the id that is stored. */
  readonly remoteId: string | null
}

/** The results of a claimed stream's rows, and when the stream is due again. */
export interface StreamResult {
  readonly stream: ClaimedStream
  readonly rows: readonly RowResult[]
  readonly next:
    | { readonly type: 'due'; readonly inMs: number }
    /** `as`: why the stream is blocked. `inMs`: delay until an unmapped stream is due for a lookup. */
    | { readonly type: 'blocked'; readonly as: StreamBlock; readonly inMs?: number }
}

const outbox = specOf(syncOutbox)
const SETTLED = ['state', 'attempts', 'uncertain', 'status', 'detail', 'error', 'progress', 'settled_at']

export const claimedStreams = new Leased<StreamLease>({
  table: 'sync_push_streams',
  what: 'stream',
  key: { destination: 'destination', account: 'account', stream: 'stream' },
  topic: 'outbox',
})

/**
 * Claims due streams of a destination, the longest due first. Claims none if the destination is paused or backs off. If
 * the destination is suspended, claims at most one stream with one row, the probe.
 */
export async function claimStreams(db: Db, destination: string, claim: StreamClaim): Promise<ClaimedStream[]> {
  const leaseToken = newLeaseToken(db)
  const take = async (tx: Tx): Promise<ClaimedStream[]> => {
    const isOpen = sql`exists (
      select 1 from sync_destinations d
      where d.destination = ${destination} and d.state = 'active' and (d.retry_at is null or d.retry_at <= ${dbTime(tx)}))`
    const isDue = sql`destination = ${destination} and ${claim.unmapped ? sql`blocked = 'unmapped'` : sql`blocked is null`}`
    const keysOf = async (where: RawBuilder<unknown>, limit: number) =>
      await claimedStreams.claim(tx, leaseToken, claimedStreams.select(tx, { where, limit }), { leaseMs: claim.leaseMs })
    let keys = await keysOf(sql`${isDue} and ${isOpen}`, claim.streams)
    const isProbe = keys.length === 0 && claim.unmapped !== true && (await takeProbe(tx, destination, claim.leaseMs))
    if (isProbe) keys = await keysOf(isDue, 1)
    if (keys.length === 0) {
      if (isProbe) await returnProbe(tx, destination)
      return []
    }
    // After a switch to another database server, the former server may already have sent these rows. Don't send them
    // until the change log is checked.
    await requireCheckedServer(tx)
    const { byStream, isFull } = await firstRows(tx, keys, {
      limit: isProbe ? 1 : claim.rowsPerStream,
      submissions: claim.withoutSubmissions !== true,
    })
    const found = keys.map((key) => ({ ...key, isFull, isProbe, rows: byStream.get(`${key.account} ${key.stream}`) ?? [] }))
    const streams = isFull ? found.filter(({ rows }) => rows.length > 0) : found
    const left = found.filter(({ rows }) => rows.length === 0)
    if (isFull && left.length > 0) await makeDue(tx, left)
    if (claim.uncertain) await setUncertain(tx, streams.flatMap(certainRows), true)
    if (claim.uncertain && claim.lookupAfterMs !== undefined) await noteAttempts(tx, streams, claim.lookupAfterMs)
    // The update returns streams in any order. Sort the streams by their oldest row, because the oldest row has usually
    // waited longest.
    return streams.sort((a, b) => (a.rows[0]?.outboxId ?? 0) - (b.rows[0]?.outboxId ?? 0))
  }
  // With `uncertain`, the transaction must survive a power failure. Otherwise an attempt with an unknown outcome would
  // go unnoticed. Without `uncertain`, only the lease is lost, which does no harm.
  return db.write('outbox-claim', take, { relaxedDurability: !claim.uncertain })
}

/**
 * Stores the results of claimed streams.
 * @param options `relaxedDurability`: true if a power failure may undo the transaction.
 * @returns the results that weren't stored, because this process lost the lease.
 */
export async function settleStreams(
  db: Db,
  results: readonly StreamResult[],
  options: { readonly relaxedDurability?: boolean } = {},
): Promise<StreamResult[]> {
  if (results.length === 0) return []
  const settle = async (tx: Tx): Promise<StreamResult[]> => {
    const unmapped = results.filter(({ next }) => next.type === 'blocked' && next.as === 'unmapped').map(({ stream }) => stream)
    // Lock the mappings. Otherwise a mapping that is stored at the same time might not unblock the stream.
    if (unmapped.length > 0) await lockMappings(tx)
    const held = await heldStreams(tx, streamsIn(results))
    const isOurs = ({ stream }: StreamResult) => held.includes(stream)
    const ours = await withoutRequeued(tx, results.filter(isOurs))
    await writeRows(tx, ours)
    await writeRemoteIds(tx, ours)
    await writeStreams(tx, ours, await mappedStreams(tx, unmapped))
    return results.filter((result) => !isOurs(result))
  }
  return db.write('outbox-settle', settle, options)
}

/**
 * Removes the results of rows that were skipped because their insert wasn't delivered, if that insert is ready again.
 * These rows stay ready, to be sent after the insert.
 */
async function withoutRequeued(tx: Tx, results: readonly StreamResult[]): Promise<readonly StreamResult[]> {
  const skipped = results.flatMap(({ rows }) => rows.filter(({ state, error }) => state === 'skipped' && error === ID_NOT_KNOWN))
  if (skipped.length === 0) return results
  const found = await tx.all(sql<{ outbox_id: number }>`
    select o.outbox_id from sync_outbox o
    where o.outbox_id in (${sql.join(skipped.map(({ outboxId }) => outboxId))}) and exists (
      select 1 from sync_outbox i where i.destination = o.destination and i.account = o.account and i.stream = o.stream and i.state = 'ready'
        and i.outbox_id < o.outbox_id and i.entity = o.entity and i.entity_id = o.entity_id and i.operation = 'insert')`)
  const requeued = new Set(found.map((row) => row.outbox_id))
  return results.map((result) => ({ ...result, rows: result.rows.filter(({ outboxId }) => !requeued.has(outboxId)) }))
}

async function writeRows(tx: Tx, results: readonly StreamResult[]): Promise<void> {
  const now = timeFromMs(tx.clock.now())
  const attempted: Row[] = []
  const others: Row[] = []
  for (const { stream, rows } of results) {
    const before = new Map(stream.rows.map((row) => [row.outboxId, row]))
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

/** Drops or encrypts tax ids in `progress`. The target's answer in `progress` may repeat tax ids of the push. */
function protectedProgress(tx: Tx, { account, entity, entityId }: OutboxRow, progress: PushProgress): string {
  return tx.protection.text(JSON.stringify(progress), { account, table: entity, key: entityId, column: 'raw' })
}

/** Replaces characters that Postgres can't store (trap 72). */
function storableOrNull(text: string | null): string | null {
  return text === null ? null : storableText(text)
}

async function writeRemoteIds(tx: Tx, results: readonly StreamResult[]): Promise<void> {
  const ids = new Map<string, Row>()
  for (const { stream, rows } of results) {
    const byId = new Map(stream.rows.map((row) => [row.outboxId, row]))
    for (const { outboxId, remoteId } of rows) {
      const row = byId.get(outboxId)
      if (!row || remoteId === null) continue
      const { destination, account } = stream
      const { entity, entityId } = row
      const given = { destination, account, entity, entity_id: entityId, remote_id: storableText(remoteId) }
      ids.set(`${streamText(stream)} ${entity} ${entityId}`, given)
    }
  }
  if (ids.size === 0) return
  const columns = { destination: 'text', account: 'text', entity: 'text', entity_id: 'text', remote_id: 'text' } as const
  await tx.run(sql`
    insert into sync_remote_ids (destination, account, entity, entity_id, remote_id, stored_at)
    select destination, account, entity, entity_id, remote_id, ${dbTime(tx)} from ${valuesTable(tx, columns, [...ids.values()])}
    where 1 = 1 order by destination, account, entity, entity_id
    on conflict (destination, account, entity, entity_id)
      do update set remote_id = excluded.remote_id, stored_at = excluded.stored_at`)
}

async function writeStreams(tx: Tx, results: readonly StreamResult[], mapped: ReadonlySet<string>): Promise<void> {
  if (results.length === 0) return
  const streams = results.map(({ stream, rows, next }) => {
    const blocked = next.type === 'blocked' && !(next.as === 'unmapped' && mapped.has(streamText(stream))) ? next.as : null
    const held_by = blocked === 'held' ? (rows.findLast(({ state }) => state === 'dead' || state === 'unknown')?.outboxId ?? null) : null
    // If a mapping was stored after the claim, the stream is not blocked and is due now.
    const waits = next.type === 'due' || blocked === 'unmapped'
    const inMs = waits ? Math.max(0, Math.round(next.inMs ?? 0)) : 0
    const { destination, account, stream: name } = stream
    return { destination, account, stream: name, due_at: timeFromMs(tx.clock.now() + inMs), in_ms: inMs, blocked, held_by }
  })
  const key = { destination: 'text', account: 'text', stream: 'text' } as const
  const columns = { ...key, due_at: 'text', in_ms: 'int', blocked: 'text', held_by: 'int' } as const
  const dueAt: RawBuilder<unknown> =
    tx.kind === 'sqlite' ? sql`given.due_at` : sql`clock_timestamp() + given.in_ms * interval '1 millisecond'`
  await tx.run(sql`
    update sync_push_streams set lease_token = null, due_at = ${dueAt}, blocked = given.blocked, held_by = given.held_by
    from ${valuesTable(tx, columns, streams)}
    where sync_push_streams.destination = given.destination and sync_push_streams.account = given.account
      and sync_push_streams.stream = given.stream`)
  await closeEmptyStreams(tx, streamsIn(results))
}

function streamsIn(results: readonly StreamResult[]): ClaimedStream[] {
  return results.map(({ stream }) => stream)
}

/**
 * Locks streams.
 * @returns the streams whose lease this process still has.
 */
async function heldStreams(tx: Tx, streams: readonly ClaimedStream[]): Promise<ClaimedStream[]> {
  const tokens = new Map((await lockStreams(tx, streams)).map((stream) => [streamText(stream), stream.lease_token]))
  return streams.filter((stream) => tokens.get(streamText(stream)) === stream.leaseToken)
}

/**
 * Releases streams whose lease this process still has, and makes these streams due immediately.
 * @param options `clearUncertain`: clears the `uncertain` marks that the claim set.
 */
export async function releaseStreams(
  db: Db,
  streams: readonly ClaimedStream[],
  options: { readonly clearUncertain: boolean },
): Promise<void> {
  if (streams.length === 0) return
  await db.write('outbox-release', async (tx) => {
    const ours = await heldStreams(tx, streams)
    const empty = ours.filter(({ rows }) => rows.length === 0)
    await makeDue(tx, ours)
    await closeEmptyStreams(tx, empty)
    if (options.clearUncertain) await setUncertain(tx, ours.flatMap(certainRows), false)
    wake(tx, 'outbox')
  })
}

/**
 * Releases all claimed streams of a destination. Rows stay marked as uncertain. Call this only if no other process
 * sends, and while this process sends nothing.
 */
export async function releaseAllStreams(db: Db, destination: string): Promise<void> {
  await db.write('outbox-release', (tx) => claimedStreams.releaseAll(tx, { destination }))
}

/**
 * Sets `tried_at` of the claimed rows to now. Keeps the time of an uncertain earlier attempt that is less than
 * `lookupAfterMs` ago.
 */
async function noteAttempts(tx: Tx, streams: readonly ClaimedStream[], lookupAfterMs: number): Promise<void> {
  const now = tx.clock.now()
  const rows = streams.flatMap((stream) => stream.rows)
  const attempted = rows.filter((row) => !row.uncertain || row.triedAt === null || now - msFromTime(row.triedAt) >= lookupAfterMs)
  const set = attempted.map(({ outboxId }) => ({ outbox_id: outboxId, tried_at: timeFromMs(now) }))
  await tx.updateMany(outbox, ['tried_at'], set)
}

function certainRows(stream: ClaimedStream): number[] {
  return stream.rows.filter((row) => !row.uncertain).map((row) => row.outboxId)
}

async function setUncertain(tx: Tx, outboxIds: readonly number[], uncertain: boolean): Promise<void> {
  const rows = outboxIds.map((outbox_id) => ({ outbox_id, uncertain: uncertain ? 1 : 0 }))
  await tx.updateMany(outbox, ['uncertain'], rows)
}
