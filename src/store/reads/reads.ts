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

/** Delay in ms of a requested feed read. Deliveries that arrive within this time share one read. */
export const WAKE_DELAY_MS = 1_000
/** Delay in ms of requested reads other than feeds and requirements. Longer, so that they run after the feeds. */
export const DETAIL_WAKE_DELAY_MS = 5_000
/** Minimum time in ms between two full re-reads of a submission that its new lanes request. */
export const FULL_READ_COALESCE_MS = 60_000
/** Delay in ms of another attempt, if a delivery names something that the service didn't find before. */
export const LOOK_AGAIN_MS = 120_000

/**
 * Ranks in the order of claiming. `live`: first, because users wait for the result. `background`: state reads, except
 * requirements and reads that were requested. `byId`: all reads by id.
 */
export const rank = { live: 0, routine: 1, failing: 2, background: 3, byId: 4 } as const

const readsTable = specOf(syncReads)

/**
 * Adds the reads of new submissions, due immediately. Skips purged submissions. Both feeds start from the beginning
 * (trap 22).
 * @param live whether users wait for these reads.
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

/** A request to read something soon. */
export interface Wake extends SubmissionRef {
  readonly read: ReadKind
}

/**
 * The column `read`, written so that the database must use the primary key for it. Without table statistics, Postgres
 * might use the index on read times, where one kind of read has thousands of rows.
 */
export function byKey(table: string): RawBuilder<unknown> {
  return sql`${sql.ref(`${table}.read`)} || ''`
}

/** How to request reads. `delayMs`: delay of the requested reads. `moved`: whether the request counts as activity. */
export interface WakeOptions {
  readonly delayMs: number
  readonly moved: boolean
}

/**
 * Makes reads due soon. A read in flight runs again afterwards (`request_no`). Failing reads keep their backoff. With
 * `moved`, a read that got "not found" is due within 2 minutes, because the service may show the submission again
 * (trap 48).
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
 * (trap 8). If the feed was never read completely, no re-read is needed. If a re-read is in flight, another follows,
 * because it may have passed these events. Never postpones a re-read that is due.
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
 * SQL for a read number that is greater than all numbers issued or applied so far, even if `issued_no` was set back.
 */
export function nextReadNumber(tx: Tx): RawBuilder<number> {
  return sql<number>`${greatest(tx, sql`issued_no`, sql`applied_no`, sql`cursor_no`)} + 1`
}

/**
 * Claims the right to apply a state read.
 * @returns false if a later read was already applied.
 */
export async function advanceAppliedNumber(tx: Tx, observation: ReadOf, readNo: number): Promise<boolean> {
  const result = await tx.run(sql`update sync_reads set applied_no = ${readNo} where ${isReadOf(observation)} and applied_no < ${readNo}`)
  if (result > 0) return true
  return isIdRead(observation.read) && !(await tx.exists(sql`select 1 from sync_reads where ${isReadOf(observation)}`))
}

/**
 * Takes a number for a state read outside the schedule.
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

/** Condition: the row of this read. */
export function isReadOf({ account, submissionId, read, ownId = '' }: ReadOf): RawBuilder<unknown> {
  return sql`account = ${account} and submission_id = ${isIdRead(read) ? '' : submissionId} and read = ${read} and id = ${ownId}`
}

function sortedKeys(wakes: readonly Wake[]): { account: string; submission_id: string; read: string }[] {
  const keys = new Map(
    wakes.map((w) => [`${w.account} ${w.submissionId} ${w.read}`, { account: w.account, submission_id: w.submissionId, read: w.read }]),
  )
  return [...keys].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, key]) => key)
}
