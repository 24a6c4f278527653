import { type RawBuilder, sql } from 'kysely'
import type { StateObservation, SubmissionRef } from '../../model/observations.ts'
import { detailReads, isDetail, isIdRead, type ReadKind, readKinds } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Tx } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, greatest, least, timePlus, valuesTable } from '../engine/sql.ts'
import { syncReads } from '../schema/reads.ts'
import { specOf } from '../schema/table.ts'
import type { Columns } from '../schema/tables.ts'
import { withoutPurged } from './purged.ts'

/**
 * Delay in ms of a requested read of a feed or the requirements. All deliveries that arrive within this time need only
 * one read.
 */
export const WAKE_DELAY_MS = 1_000
/** Delay in ms of any other requested read. The delay is longer, so that the feeds are read first. */
export const DETAIL_WAKE_DELAY_MS = 5_000
/** Minimum time in ms between two full re-reads of a submission, if new lanes request them. */
export const FULL_READ_COALESCE_MS = 60_000
/** Maximum wait in ms of a read that got "not found" and is then requested, for example by a delivery. */
export const LOOK_AGAIN_MS = 120_000

/**
 * Ranks of reads. `live`: requested feeds and requirements, which the poller claims first because users wait for them.
 * `routine`: scheduled feeds and requirements, and requested other state reads. `failing`: feeds and requirements that
 * keep failing, or got "not found". `background`: all other state reads. `byId`: all reads by id.
 */
export const rank = { live: 0, routine: 1, failing: 2, background: 3, byId: 4 } as const

const readsTable = specOf(syncReads)

/**
 * Adds the reads of new submissions, due immediately. Skips purged submissions. Both feeds are read from their
 * beginning (trap 22).
 * @param live whether users wait for the feeds and requirements.
 */
export async function addReads(tx: Tx, places: readonly SubmissionRef[], now: string, live: boolean): Promise<void> {
  const kept = await withoutPurged(tx, places)
  const rows = kept.flatMap((place) =>
    readKinds.map((read) => ({
      account: place.account,
      submission_id: place.submissionId,
      read,
      id: '',
      rank: isDetail(read) ? rank.background : live ? rank.live : rank.routine,
      due_at: now,
      request_no: 0,
      cursor_no: 0,
      issued_no: 0,
      applied_no: 0,
      active_at: now,
      failures: 0,
      not_found: 0,
      stalled_feed_reads: 0,
    })),
  )
  await tx.insertMany(readsTable, rows, { ignore: true })
  wake(tx, 'reads')
}

/** A request to make a read due soon. */
export interface Wake extends SubmissionRef {
  readonly read: ReadKind
}

/**
 * SQL for the column `read`, written so that no index on `read` matches. The database then uses the primary key.
 * Otherwise Postgres without table statistics might use the index on read times. Each use of that index could read
 * thousands of rows.
 */
export function byKey(table: string): RawBuilder<unknown> {
  return sql`${sql.ref(`${table}.read`)} || ''`
}

/**
 * How to request reads. `delayMs`: delay of feeds and requirements. If `delayMs` is 0, other state reads have no delay
 * either. `moved`: whether the request counts as activity of the submission.
 */
export interface WakeOptions {
  readonly delayMs: number
  readonly moved: boolean
}

/**
 * Makes reads due soon. A read in flight runs again afterwards (`request_no`). A failing read keeps its backoff.
 * Exception with `moved`: a read that got "not found" is due within 2 minutes, because the service may show the
 * submission again (trap 48).
 */
export async function addReadRequests(
  tx: Tx,
  wakes: readonly Wake[],
  { delayMs, moved }: WakeOptions = { delayMs: WAKE_DELAY_MS, moved: true },
): Promise<void> {
  if (wakes.length === 0) return
  const given = valuesTable(tx, { account: 'text', submission_id: 'text', read: 'text' }, sortedKeys(wakes))
  const later = delayMs === 0 ? 0 : DETAIL_WAKE_DELAY_MS
  const ofDetail = sql`sync_reads.read in (${sql.join(detailReads)})`
  const soon = sql<TimeText>`case when ${ofDetail} then ${dbTime(tx, later)} else ${dbTime(tx, delayMs)} end`
  const lookAgain = dbTime(tx, LOOK_AGAIN_MS)
  const missed = moved
    ? sql`when lease_token is null and failures + stalled_feed_reads = 0 and not_found > 0 and due_at > ${lookAgain} then ${lookAgain}`
    : sql``
  await tx.run(sql`
    update sync_reads set
      request_no = request_no + 1,
      rank = case when lease_token is null and failures + not_found + stalled_feed_reads = 0 then case when ${ofDetail} then ${sql.lit(rank.routine)} else ${sql.lit(rank.live)} end else rank end,
      due_at = case when lease_token is null and failures + not_found + stalled_feed_reads = 0 and due_at > ${soon} then ${soon} ${missed} else due_at end,
      active_at = ${moved ? dbTime(tx) : sql.ref('active_at')}
    from ${given}
    where sync_reads.account = given.account and sync_reads.submission_id = given.submission_id and sync_reads.id = ''
      and ${byKey('sync_reads')} = given.read`)
  wake(tx, 'reads')
}

/**
 * Requests a full re-read of the events of submissions with a new lane. The lane may have events before the cursor
 * (trap 8). Does nothing if the feed was never read to its end. If a feed read is in flight, a full re-read follows,
 * because the read in flight may already have passed the lane's events. Never postpones a full re-read.
 */
export async function requestFullRead(tx: Tx, places: readonly SubmissionRef[]): Promise<void> {
  if (places.length === 0) return
  const given = valuesTable(
    tx,
    { account: 'text', submission_id: 'text' },
    places.map((p) => ({ account: p.account, submission_id: p.submissionId })),
  )
  const coalesced = timePlus(tx, sql`last_full_read_at`, FULL_READ_COALESCE_MS)
  const notBefore = greatest(tx, dbTime(tx), coalesced)
  const earlier = (column: string) => least(tx, sql`coalesce(${sql.ref(column)}, ${notBefore})`, notBefore)
  await tx.run(sql`
    update sync_reads set
      full_read_due_at = case when lease_token is not null and full_read_due_at <= ${dbTime(tx)} then ${dbTime(tx)} else ${earlier('full_read_due_at')} end,
      request_no = request_no + case when lease_token is null then 0 else 1 end,
      due_at = case when lease_token is null and failures + not_found + stalled_feed_reads = 0 then ${earlier('due_at')} else due_at end
    from ${given}
    where sync_reads.account = given.account and sync_reads.submission_id = given.submission_id
      and sync_reads.read = 'events' and last_full_read_at is not null`)
  wake(tx, 'reads')
}

/**
 * SQL for the number of the next read. The number is greater than all numbers that were issued or applied, even if
 * `issued_no` is behind them.
 */
export function nextReadNumber(tx: Tx): RawBuilder<number> {
  return sql<number>`${greatest(tx, sql`issued_no`, sql`applied_no`, sql`cursor_no`)} + 1`
}

/**
 * Stores the number of a state read that is about to be applied.
 * @returns false if a later read was already applied.
 */
export async function advanceAppliedNumber(tx: Tx, observation: ReadOf, readNo: number): Promise<boolean> {
  const result = await tx.run(sql`update sync_reads set applied_no = ${readNo} where ${isReadOf(observation)} and applied_no < ${readNo}`)
  if (result > 0) return true
  return isIdRead(observation.read) && !(await tx.exists(sql`select 1 from sync_reads where ${isReadOf(observation)}`))
}

/**
 * Takes a number for a state read that isn't claimed from the schedule.
 * @returns null if the read has no row.
 */
export async function takeReadNumber(db: Db, of: ReadOf): Promise<number | null> {
  return db.write('reconcile-number', async (tx) => {
    const set = sql`issued_no = ${nextReadNumber(tx)}`
    const [row] = await tx.all(sql<Columns<'sync_reads', 'issued_no'>>`
      update sync_reads set ${set} where ${isReadOf(of)} returning issued_no`)
    return row?.issued_no ?? null
  })
}

/** Identifies a read of a submission, or of an id. */
export type ReadOf = Pick<StateObservation, 'account' | 'submissionId' | 'ownId'> & { readonly read: ReadKind }

/** Condition on `sync_reads`: the row of this read. */
export function isReadOf({ account, submissionId, read, ownId = '' }: ReadOf): RawBuilder<unknown> {
  return sql`account = ${account} and submission_id = ${isIdRead(read) ? '' : submissionId} and read = ${read} and id = ${ownId}`
}

function sortedKeys(wakes: readonly Wake[]): { account: string; submission_id: string; read: string }[] {
  const keys = new Map(
    wakes.map((w) => [`${w.account} ${w.submissionId} ${w.read}`, { account: w.account, submission_id: w.submissionId, read: w.read }]),
  )
  return [...keys].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key)
}
