import { sql } from 'kysely'
import { BusyError } from '../../base/errors.ts'
import { storableText } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { byFirstColumn, COUNT_CAP, dbTime, greatest, timeValue } from '../engine/sql.ts'
import { type DestinationState, type DestinationsTable, type OutboxState, outboxStates, type VerificationResult } from '../schema/push.ts'
import { isIn } from './queries.ts'

/** How far a snapshot got. A snapshot queues all current rows of the mirror for a new destination. */
export interface SnapshotPosition {
  readonly account: string
  readonly submissionId: string
  readonly entity: string
  /**
   * Key of the last queued row, without `account` and `submission_id`. Null if all of the submission's rows in the
   * table `entity` are queued.
   */
  readonly key: readonly (string | number)[] | null
}

/**
 * Counts of a verification. A verification asks the target for changes that count as delivered: for all of them, or for
 * a sample.
 */
export interface VerificationSummary extends Readonly<Record<VerificationResult, number>> {
  /** `delivered`: changes that count as delivered. `asked`: changes that the target was asked for. */
  readonly delivered: number
  readonly asked: number
  /** Changes that were missing at the target and are queued again. */
  readonly repaired: number
}

export interface DestinationRow extends Omit<DestinationsTable, 'snapshot' | 'verified'> {
  /** Progress of the snapshot; null if no snapshot is in progress. If `position` is null, no row is queued yet. */
  readonly snapshot: { readonly position: SnapshotPosition | null } | null
  /** Counts of the newest verification without a limit to a submission or a period; null if there was none. */
  readonly verified: VerificationSummary | null
}

/**
 * A configured destination. `start` says which changes a new destination gets first:
 * - `now`: only changes that are logged later
 * - `snapshot`: all current rows, then changes
 * - a number: the changes after the change with this number
 */
export interface DestinationStart {
  readonly name: string
  readonly start: 'now' | 'snapshot' | number
  readonly filter?: string | null
}

/**
 * Creates missing rows of configured destinations. If `start` is a number outside the stored changes, the nearest
 * stored number is used.
 * If a destination with the start `now` already has outbox rows, its row in `sync_destinations` was lost. The new row
 * then resumes after the newest change that was queued for the destination.
 */
export async function ensureDestinations(db: Db, starts: readonly DestinationStart[]): Promise<void> {
  const known = new Set((await listDestinations(db.read)).map((row) => row.destination))
  const missing = starts.filter(({ name }) => !known.has(name))
  if (missing.length === 0) return
  await db.write('destinations', async (tx) => {
    for (const start of missing) await addDestination(tx, start)
  })
}

async function addDestination(tx: Tx, { name, start, filter = null }: DestinationStart): Promise<void> {
  const info = await tx.sql.selectFrom('mirror_info').selectAll().where('id', '=', 1).executeTakeFirstOrThrow()
  const lost = start === 'now' ? await lostCursor(tx, name) : null
  const from = typeof start === 'number' ? Math.max(start, info.first_seq - 1) : (lost ?? info.last_seq)
  const filteredFrom = filter === null ? null : (lost ?? 0)
  await tx.run(sql`
    insert into sync_destinations (destination, state, cursor, log_epoch, failures, snapshot, filtered_from)
    values (${name}, 'active', ${Math.min(from, info.last_seq)}, ${info.log_epoch}, 0, ${start === 'snapshot' ? '{"position":null}' : null},
      ${filteredFrom})
    on conflict do nothing`)
}

/**
 * @returns the number of the newest change queued for the destination; null if there is none. Ignores resent changes.
 */
async function lostCursor(tx: Tx, name: string): Promise<number | null> {
  const of = byFirstColumn(tx, 'o.destination', name, 'desc')
  const newest = outboxStates.map(
    (state) => sql`select * from (
      select o.seq from sync_outbox o where ${of.is} and ${isIn(state)} and o.resent is null order by ${of.order} o.outbox_id desc limit 1) as part`,
  )
  const row = await tx.one(sql<{ cursor: number | null }>`select max(seq) as cursor from (${sql.join(newest, sql` union all `)}) as newest`)
  return row?.cursor ?? null
}

export async function listDestinations(q: Query): Promise<DestinationRow[]> {
  const rows = await q.sql.selectFrom('sync_destinations').selectAll().orderBy('destination').execute()
  return rows.map(destinationOf)
}

export interface CountedDestination extends DestinationRow {
  readonly queued: number
  readonly dead: number
  readonly unknown: number
}

/** Lists all destinations with their numbers of ready, dead, and unknown rows. Each count stops at `most`. */
export async function countDestinations(q: Query, most = COUNT_CAP): Promise<CountedDestination[]> {
  const count = (state: OutboxState) => sql`(select count(*) from (
    select 1 from sync_outbox o where o.destination = d.destination and ${isIn(state)} limit ${sql.lit(most)}) as counted)`
  const rows = await q.all(sql<DestinationsTable & Record<'queued' | 'dead' | 'unknown', number>>`
    select d.*, ${count('ready')} as queued, ${count('dead')} as dead, ${count('unknown')} as unknown
    from sync_destinations d order by d.destination`)
  return rows.map((row) => ({ ...row, ...destinationOf(row) }))
}

/** @returns whether the destination has at least `rows` ready rows. */
export async function hasQueued(q: Query, name: string, rows: number): Promise<boolean> {
  if (rows <= 0) return true
  const of = byFirstColumn(q, 'destination', name)
  return await q.exists(sql`
    select 1 from sync_outbox where ${of.is} and state = 'ready' order by ${of.order} outbox_id limit 1 offset ${sql.lit(rows - 1)}`)
}

/** @returns null if the destination was never configured, and so has no row. */
export async function findDestination(q: Query, name: string): Promise<DestinationRow | null> {
  const row = await q.sql.selectFrom('sync_destinations').selectAll().where('destination', '=', name).executeTakeFirst()
  return row ? destinationOf(row) : null
}

/**
 * Reads whether a destination can receive changes. `isOpen`: active and not backing off.
 * @returns null if the destination has no row.
 */
export async function destinationReadiness(
  q: Query,
  name: string,
): Promise<{ readonly state: DestinationState; readonly isOpen: boolean; readonly failures: number } | null> {
  const row = await q.one(sql<{ state: DestinationState; open: number; failures: number }>`
    select state, case when state = 'active' and (retry_at is null or retry_at <= ${dbTime(q)}) then 1 else 0 end as open, failures
    from sync_destinations where destination = ${name}`)
  return row && { state: row.state, isOpen: row.open === 1, failures: row.failures }
}

function destinationOf(row: DestinationsTable): DestinationRow {
  const { snapshot, verified } = row
  return {
    ...row,
    snapshot: snapshot === null ? null : (JSON.parse(snapshot) as DestinationRow['snapshot']),
    verified: verified === null ? null : (JSON.parse(verified) as VerificationSummary),
  }
}

/**
 * Pauses, suspends, or resumes a destination. The state `active` also ends the backoff and sets `failures` to 0.
 * @param was the state that the destination must have now; undefined accepts any state.
 * @throws BusyError if the destination's state isn't `was`.
 */
export async function setDestinationState(
  db: Db,
  name: string,
  state: DestinationState,
  reason: string | null,
  was?: DestinationState,
): Promise<void> {
  await db.write('destination-state', async (tx) => {
    const rested = state === 'active' ? sql`, retry_at = null, failures = 0, refused_with = null` : sql``
    const updated = await tx.run(sql`
      update sync_destinations set state = ${state}, reason = ${reason === null ? null : storableText(reason)},
        since = ${state === 'active' ? sql`null` : sql`case when state = ${state} then coalesce(since, ${dbTime(tx)}) else ${dbTime(tx)} end`} ${rested}
      where destination = ${name} ${was === undefined ? sql`` : sql`and state = ${was}`}`)
    if (was !== undefined && updated === 0)
      throw new BusyError(`destination ${name} is no longer ${was}. Nothing was changed; check its state and try again`)
    wake(tx, 'outbox')
  })
}

/**
 * Stores `failures`, and makes a destination back off for `restMs`. A backoff that ends later is kept. A suspended
 * destination isn't changed.
 * @returns the time `restMs` from now, by the database's clock.
 */
export async function backOffDestination(db: Db, name: string, restMs: number, failures: number): Promise<TimeText> {
  return db.write('destination-state', async (tx) => {
    const { until } = await tx.sql.selectNoFrom(dbTime(tx, restMs).as('until')).executeTakeFirstOrThrow()
    const at = timeValue(tx, until)
    await tx.run(sql`
      update sync_destinations set failures = ${failures}, retry_at = ${greatest(tx, sql`coalesce(retry_at, ${at})`, at)}
      where destination = ${name} and state <> 'suspended'`)
    return until
  })
}

/**
 * Sets `failures` of a destination to 0, because the destination answers again. Replaces the backoff that ends at
 * `until` with one of `restMs`. Keeps a backoff with another end, because another process set it. Doesn't change a
 * suspended destination.
 * @param until the end of the backoff, from `backOffDestination`; null if there was none.
 * @param restMs length of the next backoff; 0 for none.
 */
export async function endBackoff(db: Db, name: string, until: TimeText | null, restMs: number): Promise<void> {
  await db.write('destination-state', async (tx) => {
    const left = restMs > 0 ? dbTime(tx, restMs) : sql`null`
    await tx.run(sql`
      update sync_destinations set failures = 0, retry_at = case when retry_at = ${timeValue(tx, until)} then ${left} else retry_at end
      where destination = ${name} and state <> 'suspended'`)
    wake(tx, 'outbox')
  })
}

/**
 * Stores why a destination's `filter` fails. The first error also stores its time. Later errors replace the error and
 * keep the time.
 * @param error null clears the error and the time.
 */
export async function noteFilterError(db: Db, name: string, error: string | null): Promise<void> {
  await db.write('destination-state', async (tx) => {
    const since = error === null ? sql`null` : sql`coalesce(filter_failed_at, ${dbTime(tx)})`
    await tx.run(sql`
      update sync_destinations set filter_error = ${error === null ? null : storableText(error)}, filter_failed_at = ${since}
      where destination = ${name}`)
  })
}

/**
 * Stores that the destination's `filter` applies to changes after the current cursor. Does nothing if an earlier start
 * of the filter is stored.
 */
export async function beginFilter(db: Db, name: string): Promise<void> {
  await db.write('destination-state', async (tx) => {
    await tx.run(sql`update sync_destinations set filtered_from = cursor where destination = ${name} and filtered_from is null`)
  })
}

export async function endFilter(db: Db, name: string): Promise<void> {
  await db.write('destination-state', async (tx) => {
    await tx.run(sql`
      update sync_destinations set filtered_from = null, filter_error = null, filter_failed_at = null
      where destination = ${name}`)
  })
}

/** @returns when the destination's oldest ready row was queued; null if no row is ready. */
export async function oldestQueued(q: Query, destination: string): Promise<TimeText | null> {
  const of = byFirstColumn(q, 'destination', destination)
  const row = await q.one(sql<{ queued_at: TimeText }>`
    select queued_at from sync_outbox where ${of.is} and state = 'ready' order by ${of.order} outbox_id limit 1`)
  return row?.queued_at ?? null
}
