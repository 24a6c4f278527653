import { sql } from 'kysely'
import { BusyError } from '../../base/errors.ts'
import { storableText } from '../../model/json.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { COUNT_CAP, dbTime, greatest, timeValue } from '../engine/sql.ts'
import type { DestinationState, DestinationsTable, OutboxState, VerificationResult } from '../schema/push.ts'
import { isIn } from './queries.ts'

/** How far a snapshot has come: the last row that was queued. */
export interface SnapshotPosition {
  readonly account: string
  readonly submissionId: string
  /** The table's name. */
  readonly entity: string
  /** The row's key after `account` and `submission_id`; null when the table is complete for that submission. */
  readonly key: readonly (string | number)[] | null
}

/** Counts of a verification of all that a destination took, or of a sample. */
export interface VerificationSummary extends Readonly<Record<VerificationResult, number>> {
  /** Changes that counted as delivered, and those of them that were asked for. */
  readonly delivered: number
  readonly asked: number
  /** Of those that it lacked, queued once more. */
  readonly repaired: number
}

export interface DestinationRow extends Omit<DestinationsTable, 'snapshot' | 'verified'> {
  /** null when no snapshot is in progress; its position is null before the first row. */
  readonly snapshot: { readonly position: SnapshotPosition | null } | null
  /** The last verification that came to its end; null when there was none. */
  readonly verified: VerificationSummary | null
}

/** A configured destination, and where it begins when it is new. */
export interface DestinationStart {
  readonly name: string
  readonly start: 'now' | 'snapshot' | number
  /** Left out, or null: it has none. */
  readonly filter?: string | null
}

/** How many of the newest outbox rows are searched for a destination whose row was lost. */
const NEWEST_ROWS = 10_000

/**
 * Creates missing rows of configured destinations. Where one begins is then fixed for ever: behind the newest change, with a snapshot, or
 * behind a given number (the oldest kept change if that is younger, the newest if that is older). A destination that begins `now` although
 * the outbox has rows of it has lost its row: it resumes behind those rows.
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
  await sql`
    insert into sync_destinations (destination, state, cursor, log_epoch, failures, snapshot, filtered_from)
    values (${name}, 'active', ${Math.min(from, info.last_seq)}, ${info.log_epoch}, 0, ${start === 'snapshot' ? '{"position":null}' : null},
      ${filteredFrom})
    on conflict do nothing`.execute(tx.sql)
}

/** The newest change that the outbox has of a destination whose row somebody deleted; null when it is new. */
async function lostCursor(tx: Tx, name: string): Promise<number | null> {
  const { rows } = await sql<{ cursor: number | null }>`
    select max(seq) as cursor from (select destination, seq from sync_outbox where resent is null order by outbox_id desc limit ${sql.lit(NEWEST_ROWS)}) as newest
    where destination = ${name}`.execute(tx.sql)
  const cursor = rows[0]?.cursor ?? null
  return cursor === null ? null : Number(cursor)
}

/** All destinations ever configured here, by name. */
export async function listDestinations(q: Query): Promise<DestinationRow[]> {
  const rows = await q.sql.selectFrom('sync_destinations').selectAll().orderBy('destination').execute()
  return rows.map(destinationOf)
}

/** A destination with its outbox rows by state. */
export interface CountedDestination extends DestinationRow {
  readonly queued: number
  readonly dead: number
  readonly unknown: number
}

/** All destinations with their counts up to `most`, each from the partial index of its state: what was delivered is not looked at. */
export async function countDestinations(q: Query, most = COUNT_CAP): Promise<CountedDestination[]> {
  const count = (state: OutboxState) => sql`(select count(*) from (
    select 1 from sync_outbox o where o.destination = d.destination and ${isIn(state)} limit ${sql.lit(most)}) as counted)`
  const { rows } = await sql<DestinationsTable & Record<'queued' | 'dead' | 'unknown', number>>`
    select d.*, ${count('ready')} as queued, ${count('dead')} as dead, ${count('unknown')} as unknown
    from sync_destinations d order by d.destination`.execute(q.sql)
  return rows.map((row) => ({ ...row, ...destinationOf(row) }))
}

/** Whether at least so many rows wait for a destination. */
export async function hasQueued(q: Query, name: string, rows: number): Promise<boolean> {
  if (rows <= 0) return true
  const found = await sql`
    select 1 from sync_outbox where destination = ${name} and state = 'ready' order by outbox_id limit 1 offset ${sql.lit(rows - 1)}`.execute(
    q.sql,
  )
  return found.rows.length > 0
}

/** The destination, or null when it was never configured here. */
export async function findDestination(q: Query, name: string): Promise<DestinationRow | null> {
  const row = await q.sql.selectFrom('sync_destinations').selectAll().where('destination', '=', name).executeTakeFirst()
  return row ? destinationOf(row) : null
}

/** Whether a destination can be sent something now: it is active and not backing off. And its failures in a row. Null when unknown. */
export async function destinationReadiness(
  q: Query,
  name: string,
): Promise<{ readonly state: DestinationState; readonly isOpen: boolean; readonly failures: number } | null> {
  const { rows } = await sql<{ state: DestinationState; open: number; failures: number }>`
    select state, case when state = 'active' and (retry_at is null or retry_at <= ${dbTime(q)}) then 1 else 0 end as open, failures
    from sync_destinations where destination = ${name}`.execute(q.sql)
  const [row] = rows
  return row ? { state: row.state, isOpen: row.open === 1, failures: Number(row.failures) } : null
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
 * Stops or resumes a destination; changes are queued in every state. `active` also ends its backoff and clears its failures.
 * @param was the state that it must be in; any when left out.
 * @throws BusyError when it is in another state than `was`; nothing is changed then.
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
    const { numAffectedRows } = await sql`
      update sync_destinations set state = ${state}, reason = ${reason === null ? null : storableText(reason)},
        since = ${state === 'active' ? sql`null` : sql`case when state = ${state} then coalesce(since, ${dbTime(tx)}) else ${dbTime(tx)} end`} ${rested}
      where destination = ${name} ${was === undefined ? sql`` : sql`and state = ${was}`}`.execute(tx.sql)
    if (was !== undefined && numAffectedRows === 0n)
      throw new BusyError(`destination ${name} is not ${was} any more, nothing was changed; check its state and try again`)
    wake(tx, 'outbox')
  })
}

/**
 * Pauses sending to a destination for `restMs`, and records its failed attempts in a row. A longer pause stays, and so does a suspension.
 * @returns when this pause ends, by the database's clock; input of `endBackoff`.
 */
export async function backOffDestination(db: Db, name: string, restMs: number, failures: number): Promise<TimeText> {
  return db.write('destination-state', async (tx) => {
    const { until } = await tx.sql.selectNoFrom(dbTime(tx, restMs).as('until')).executeTakeFirstOrThrow()
    const at = timeValue(tx, until)
    await sql`
      update sync_destinations set failures = ${failures}, retry_at = ${greatest(tx, sql`coalesce(retry_at, ${at})`, at)}
      where destination = ${name} and state <> 'suspended'`.execute(tx.sql)
    return until
  })
}

/**
 * Records that a destination answers, and ends the pause that would end at `until`. A pause that somebody else has extended or ended stays.
 * @param until from `backOffDestination`; null when it was never called.
 * @param restMs a new pause in its place; none when 0 or less.
 */
export async function endBackoff(db: Db, name: string, until: TimeText | null, restMs: number): Promise<void> {
  await db.write('destination-state', async (tx) => {
    const left = restMs > 0 ? dbTime(tx, restMs) : sql`null`
    await sql`
      update sync_destinations set failures = 0, retry_at = case when retry_at = ${timeValue(tx, until)} then ${left} else retry_at end
      where destination = ${name} and state <> 'suspended'`.execute(tx.sql)
    wake(tx, 'outbox')
  })
}

/** Stores why the `filter` of a destination fails; null: it does not. Its time is that of the first failure in a row. */
export async function noteFilterError(db: Db, name: string, error: string | null): Promise<void> {
  await db.write('destination-state', async (tx) => {
    const since = error === null ? sql`null` : sql`coalesce(filter_failed_at, ${dbTime(tx)})`
    await sql`
      update sync_destinations set filter_error = ${error === null ? null : storableText(error)}, filter_failed_at = ${since}
      where destination = ${name}`.execute(tx.sql)
  })
}

/** Records where the first `filter` of a destination begins. */
export async function beginFilter(db: Db, name: string): Promise<void> {
  await db.write('destination-state', async (tx) => {
    await sql`update sync_destinations set filtered_from = cursor where destination = ${name} and filtered_from is null`.execute(tx.sql)
  })
}

/** Records that a destination has no `filter` any more, which then cannot fail either. */
export async function endFilter(db: Db, name: string): Promise<void> {
  await db.write('destination-state', async (tx) => {
    await sql`
      update sync_destinations set filtered_from = null, filter_error = null, filter_failed_at = null
      where destination = ${name}`.execute(tx.sql)
  })
}

/** When the oldest waiting row of a destination was queued; null when none waits. */
export async function oldestQueued(q: Query, destination: string): Promise<TimeText | null> {
  const { rows } = await sql<{ queued_at: TimeText }>`
    select queued_at from sync_outbox where destination = ${destination} and state = 'ready' order by outbox_id limit 1`.execute(q.sql)
  return rows[0]?.queued_at ?? null
}
