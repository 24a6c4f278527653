import { sql } from 'kysely'
import { BusyError } from '../../base/errors.ts'
import { storableText } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { byFirstColumn, COUNT_CAP, dbTime, greatest, timeValue } from '../engine/sql.ts'
import type { DestinationState, DestinationsTable, OutboxState, VerificationResult } from '../schema/push.ts'
import { isIn } from './queries.ts'

/** Progress of a snapshot: the last queued row. */
export interface SnapshotPosition {
  readonly account: string
  readonly submissionId: string
  readonly entity: string
  /** The row's key after `account` and `submission_id`; null if the submission's table is complete. */
  readonly key: readonly (string | number)[] | null
}

/** Counts from verifying all deliveries, or a sample. */
export interface VerificationSummary extends Readonly<Record<VerificationResult, number>> {
  /** Changes that counted as delivered; `asked`: those queried. */
  readonly delivered: number
  readonly asked: number
  /** Missing changes, queued again. */
  readonly repaired: number
}

export interface DestinationRow extends Omit<DestinationsTable, 'snapshot' | 'verified'> {
  /** null if no snapshot is in progress; a null position means before the first row. */
  readonly snapshot: { readonly position: SnapshotPosition | null } | null
  /** The last complete verification; null for none. */
  readonly verified: VerificationSummary | null
}

/** A configured destination, and its start if new. */
export interface DestinationStart {
  readonly name: string
  readonly start: 'now' | 'snapshot' | number
  readonly filter?: string | null
}

/** Newest outbox rows to search if a destination's row was lost. */
const NEWEST_ROWS = 10_000

/**
 * Creates missing rows of configured destinations. Each starts after the newest change, with a snapshot, or after a given number (clamped
 * to the stored changes). If a destination with start `now` already has outbox rows, its own row was lost, so it resumes after them.
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

/** The newest change in the outbox of a destination whose row was deleted; null if the destination is new. */
async function lostCursor(tx: Tx, name: string): Promise<number | null> {
  const row = await tx.one(sql<{ cursor: number | null }>`
    select max(seq) as cursor from (select destination, seq from sync_outbox where resent is null order by outbox_id desc limit ${sql.lit(NEWEST_ROWS)}) as newest
    where destination = ${name}`)
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

/** All destinations with counts, each capped at `most` and from a partial index. */
export async function countDestinations(q: Query, most = COUNT_CAP): Promise<CountedDestination[]> {
  const count = (state: OutboxState) => sql`(select count(*) from (
    select 1 from sync_outbox o where o.destination = d.destination and ${isIn(state)} limit ${sql.lit(most)}) as counted)`
  const rows = await q.all(sql<DestinationsTable & Record<'queued' | 'dead' | 'unknown', number>>`
    select d.*, ${count('ready')} as queued, ${count('dead')} as dead, ${count('unknown')} as unknown
    from sync_destinations d order by d.destination`)
  return rows.map((row) => ({ ...row, ...destinationOf(row) }))
}

/** Whether at least `rows` rows wait for a destination. */
export async function hasQueued(q: Query, name: string, rows: number): Promise<boolean> {
  if (rows <= 0) return true
  const of = byFirstColumn(q, 'destination', name)
  return await q.exists(sql`
    select 1 from sync_outbox where ${of.is} and state = 'ready' order by ${of.order} outbox_id limit 1 offset ${sql.lit(rows - 1)}`)
}

/** @returns null if the destination was never configured. */
export async function findDestination(q: Query, name: string): Promise<DestinationRow | null> {
  const row = await q.sql.selectFrom('sync_destinations').selectAll().where('destination', '=', name).executeTakeFirst()
  return row ? destinationOf(row) : null
}

/** State and failures of a destination; null if unknown. `isOpen`: active and not backing off. */
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
 * Stops or resumes a destination. `active` also ends its backoff and clears its failures.
 * @param was the required state; omitted for any.
 * @throws BusyError if the destination is in another state.
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

/** Backs off a destination for `restMs`, unless suspended or backing off longer. @returns the end, by the database's clock. */
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
 * Clears the failures of a destination that answers. Ends its backoff if unchanged.
 * @param until from `backOffDestination`, or null.
 * @param restMs a new backoff; 0 for none.
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

/** Stores why a destination's `filter` fails, and when the current failures began. A null `error` clears both. */
export async function noteFilterError(db: Db, name: string, error: string | null): Promise<void> {
  await db.write('destination-state', async (tx) => {
    const since = error === null ? sql`null` : sql`coalesce(filter_failed_at, ${dbTime(tx)})`
    await tx.run(sql`
      update sync_destinations set filter_error = ${error === null ? null : storableText(error)}, filter_failed_at = ${since}
      where destination = ${name}`)
  })
}

/** Records where a destination's first `filter` begins. */
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

/** When the oldest waiting row of a destination was queued; null when none waits. */
export async function oldestQueued(q: Query, destination: string): Promise<TimeText | null> {
  const of = byFirstColumn(q, 'destination', destination)
  const row = await q.one(sql<{ queued_at: TimeText }>`
    select queued_at from sync_outbox where ${of.is} and state = 'ready' order by ${of.order} outbox_id limit 1`)
  return row?.queued_at ?? null
}
