import { type RawBuilder, sql } from 'kysely'
import type { Db, Query, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, rowLock, skipLocked, unindexed } from '../engine/sql.ts'
import type { OutboxState } from '../schema/push.ts'
import { itsStream } from '../schema/push-states.ts'
import { matches, type OutboxFilter, place, STOPPED } from './queries.ts'
import { amongIds, ID_NOT_KNOWN } from './rows.ts'
import {
  closeEmptyStreams,
  type LockedStream,
  lockStreams,
  makeDue,
  openStreams,
  type StreamKey,
  streamsOf,
  streamText,
} from './streams.ts'
import { claimedStreams } from './work.ts'

/**
 * Result of one step. `inFlight`: number of rows left unchanged, because their streams are being sent. `nextAfter`:
 * value of `after` for the next step; null if no rows remain.
 */
export interface OutboxStep {
  readonly changed: number
  readonly inFlight: number
  readonly nextAfter: number | null
}

/** Selects rows by a filter or by their ids. */
export type OutboxSelection = OutboxFilter | { readonly outboxIds: readonly number[] }

interface Chosen extends StreamKey {
  readonly outbox_id: number
  readonly state: OutboxState
}

/**
 * Makes dead, unknown, and skipped rows ready again, with 0 attempts and their earlier position in the stream. Unblocks
 * streams that these rows blocked. A filter without a state selects dead and unknown rows.
 * If a selected row is an insert, also retries its followers: changes that were skipped because the insert wasn't
 * delivered.
 * One call covers up to `limit` rows after `after` (0 to begin). Followers count toward `limit`, but at least one row
 * is covered.
 * @param withLookup destinations that can look up records. Such a destination is asked for the record before a row with
 * an unknown outcome is sent again.
 */
export async function retryRows(
  db: Db,
  selection: OutboxSelection,
  after: number,
  limit: number,
  withLookup: readonly string[] = [],
): Promise<OutboxStep> {
  const found = await choose(db.read, selection, ['dead', 'unknown', 'skipped'], after, limit)
  const chosen = await limitWithFollowers(db.read, found, limit)
  const changed = await db.write('outbox-retry', async (tx) => {
    const streams = streamsOf(chosen)
    await openStreams(tx, streams)
    const locked = await lockStreams(tx, streams)
    const rows = await lockRows(tx, [...chosen, ...(await followersOf(tx, chosen))], ['dead', 'unknown', 'skipped'])
    const again = sql`state = 'ready', attempts = 0, status = null, detail = null, error = null, settled_at = null`
    const { looked = [], others = [] } = Object.groupBy(rows, ({ destination }) => (withLookup.includes(destination) ? 'looked' : 'others'))
    await setRows(tx, others, sql`${again}, uncertain = 0`)
    await setRows(tx, looked, again)
    await unblockStreams(tx, locked, rows)
    await finish(tx, locked)
    return rows.length
  })
  return { changed, inFlight: 0, nextAfter: chosen.length < found.length ? lastOf(chosen) : nextAfter(found, limit) }
}

/**
 * Skips dead, unknown, and ready rows, except ready rows that are being sent. A filter without a state selects dead and
 * unknown rows. One call covers up to `limit` rows after `after` (0 to begin).
 */
export async function skipRows(db: Db, selection: OutboxSelection, after: number, limit: number): Promise<OutboxStep> {
  const chosen = await choose(db.read, selection, ['ready', 'dead', 'unknown'], after, limit)
  const { changed, inFlight } = await db.write('outbox-skip', async (tx) => {
    const locked = await lockStreams(tx, streamsOf(chosen))
    const free = new Set(locked.filter((stream) => stream.in_flight === 0).map(streamText))
    const found = await lockRows(tx, chosen, ['ready', 'dead', 'unknown'])
    const rows = found.filter((row) => row.state !== 'ready' || free.has(streamText(row)))
    await setRows(tx, rows, sql`state = 'skipped', settled_at = ${dbTime(tx)}`)
    await unblockStreams(tx, locked, rows)
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

/**
 * Counts the selected rows in these states, without followers. Counting stops at `cap`. A filter without a state counts
 * dead and unknown rows.
 */
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
  return await q.all(sql<Chosen>`
    select o.outbox_id, o.destination, o.account, o.stream, o.state from sync_outbox o
    where ${which} and o.state in (${sql.join(implied.map((state) => sql.lit(state)))}) ${stopped} and ${number} > ${after}
    order by ${number} limit ${sql.lit(limit)}`)
}

/**
 * Takes rows from the beginning of `chosen`, until the rows and their followers reach `limit`.
 * @returns the taken rows; at least one, unless `chosen` is empty.
 */
async function limitWithFollowers(q: Query, chosen: readonly Chosen[], limit: number): Promise<readonly Chosen[]> {
  if (chosen.length < 2) return chosen
  const rows = await q.all(sql<{ outbox_id: number; n: number }>`
    select i.outbox_id, count(*) as n ${followers(q, chosen)} group by i.outbox_id`)
  const behind = new Map(rows.map(({ outbox_id, n }) => [outbox_id, n]))
  let total = 0
  const end = chosen.findIndex(({ outbox_id }, position) => {
    total += 1 + (behind.get(outbox_id) ?? 0)
    return position > 0 && total > limit
  })
  return end === -1 ? chosen : chosen.slice(0, end)
}

async function followersOf(tx: Tx, chosen: readonly Chosen[]): Promise<Chosen[]> {
  if (chosen.length === 0) return []
  return await tx.all(sql<Chosen>`
    select f.outbox_id, f.destination, f.account, f.stream, f.state ${followers(tx, chosen)}`)
}

/**
 * A `from` clause. `i`: inserts among `chosen`. `f`: followers, which were skipped because insert `i` wasn't delivered.
 */
function followers(q: Query, chosen: readonly Chosen[]): RawBuilder<unknown> {
  const inserts = sql`select * from sync_outbox where outbox_id in ${amongIds(q, chosen.map(idOf))} and operation = 'insert'`
  const follows = sql`
    f.account = i.account and f.submission_id = i.submission_id and ${unindexed(q, 'f.outbox_id')} > i.outbox_id
    and f.destination = i.destination and f.entity = i.entity and f.entity_id = i.entity_id
    and f.state = 'skipped' and f.error = ${ID_NOT_KNOWN}`
  if (q.kind === 'sqlite') return sql`from (${inserts}) i join sync_outbox f on ${follows}`
  // `offset 0` makes Postgres join from inserts to followers. Without table statistics, Postgres might join in the
  // reverse order, which takes quadratic time.
  return sql`from (${inserts} offset 0) i cross join lateral (select * from sync_outbox f where ${follows} offset 0) f`
}

/**
 * Locks the chosen rows.
 * @returns the rows whose state is still one of `states`.
 */
async function lockRows(tx: Tx, chosen: readonly Chosen[], states: readonly OutboxState[]): Promise<Chosen[]> {
  if (chosen.length === 0) return []
  const lock = rowLock(tx, 'for update')
  const rows = await tx.all(sql<Chosen>`
    select outbox_id, destination, account, stream, state from sync_outbox
    where outbox_id in ${amongIds(tx, chosen.map(idOf))} order by outbox_id ${lock}`)
  return rows.filter((row) => states.includes(row.state))
}

async function setRows(tx: Tx, rows: readonly Chosen[], set: ReturnType<typeof sql>): Promise<void> {
  if (rows.length === 0) return
  await tx.run(sql`update sync_outbox set ${set} where outbox_id in ${amongIds(tx, rows.map(idOf))}`)
}

function idOf(row: Chosen): number {
  return row.outbox_id
}

/**
 * Makes the rows' streams due now, except streams that are being sent. Unblocks streams that one of the rows blocked.
 * Also clears expired leases. Otherwise a process whose lease expired could still store results.
 */
async function unblockStreams(tx: Tx, locked: readonly LockedStream[], rows: readonly Chosen[]): Promise<void> {
  const touched = new Set(rows.map(streamText))
  const ids = new Set(rows.map(idOf))
  for (const stream of locked) {
    if (!touched.has(streamText(stream)) || stream.in_flight === 1) continue
    const held = stream.held_by !== null && !ids.has(stream.held_by)
    await tx.run(sql`
      update sync_push_streams set lease_token = null, due_at = ${dbTime(tx)}
        ${held || stream.blocked === 'unmapped' ? sql`` : sql`, blocked = null, held_by = null`}
      where destination = ${stream.destination} and account = ${stream.account} and stream = ${stream.stream}`)
  }
}

async function finish(tx: Tx, locked: readonly LockedStream[]): Promise<void> {
  await closeEmptyStreams(tx, locked)
  wake(tx, 'outbox')
}

/** Condition: the stream of row `o` isn't blocked. */
const IS_OPEN = sql`exists (select 1 from sync_push_streams l where ${sql.raw(itsStream)} and l.blocked is null)`

type Retrying = StreamKey & { readonly outbox_id: number }

/**
 * Makes failed rows that wait for another attempt due now. Also ends the backoff of their destinations. Attempt counts
 * stay. One call covers up to `limit` rows after `after` (0 to begin).
 * @returns `inFlight`: number of rows left unchanged, because their stream is blocked or being sent.
 */
export async function retryNow(db: Db, filter: OutboxFilter, after: number, limit: number): Promise<OutboxStep> {
  const rows = await retrying(db.read, filter, after, limit)
  const next = rows.length < limit ? null : (rows.at(-1)?.outbox_id ?? null)
  if (rows.length === 0) return { changed: 0, inFlight: 0, nextAfter: next }
  return db.write('outbox-retry', async (tx) => {
    const locked = await lockStreams(tx, streamsOf(rows))
    const idle = locked.filter((stream) => stream.in_flight === 0 && stream.blocked === null)
    await makeDue(tx, idle)
    for (const destination of [...new Set(rows.map((row) => row.destination))].sort()) {
      await tx.run(sql`
        update sync_destinations set retry_at = null, failures = 0
        where destination = ${destination} and state = 'active' and retry_at is not null`)
    }
    wake(tx, 'outbox')
    const due = new Set(idle.map(streamText))
    const changed = rows.filter((row) => due.has(streamText(row))).length
    return { changed, inFlight: rows.length - changed, nextAfter: next }
  })
}

/**
 * Makes up to `limit` streams of a destination due now, except blocked and leased streams.
 * @returns the number of changed streams. If this is less than `limit`, no streams remain.
 */
export async function makeStreamsDue(db: Db, name: string, limit: number): Promise<number> {
  return db.write('destination-state', async (tx) => {
    // Skip leased streams. They are being sent, and their `due_at` is the end of the lease.
    const waiting = sql`select destination, account, stream from sync_push_streams
      where destination = ${name} and blocked is null and due_at > ${dbTime(tx)} and lease_token is null
      order by due_at limit ${sql.lit(limit)} ${skipLocked(tx)}`
    const changed = await claimedStreams.change(tx, waiting, sql`due_at = ${dbTime(tx)}`)
    wake(tx, 'outbox')
    return changed
  })
}

/** Counts the failed rows that wait for another attempt in streams that aren't blocked. Counting stops at `cap`. */
export async function countRetrying(q: Query, filter: OutboxFilter, cap: number): Promise<number> {
  return (await retrying(q, filter, 0, cap)).length
}

async function retrying(q: Query, filter: OutboxFilter, after: number, limit: number): Promise<Retrying[]> {
  return await q.all(sql<Retrying>`
    select o.outbox_id, o.destination, o.account, o.stream from sync_outbox o
    where ${matches(q, { ...filter, state: 'ready' })} and o.attempts > 0 and ${IS_OPEN} and o.outbox_id > ${after}
    order by o.outbox_id limit ${sql.lit(limit)}`)
}
