import { sql } from 'kysely'
import { feeds, type ReadKind } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime, rowLock } from '../engine/sql.ts'
import type { Columns } from '../schema/tables.ts'
import { sweep } from './accounts.ts'
import { claimedReads, type ReadClaim } from './claims.ts'
import { addReadRequests, isReadOf, rank } from './reads.ts'

/** Lists up to `limit` ids of tracked submissions that sort after `after`, in order. */
export async function submissionIdsAfter(q: Query, account: string, after: string, limit: number): Promise<string[]> {
  const rows = await q.all(sql<Columns<'submissions', 'submission_id'>>`
    select submission_id from submissions where account = ${account} and submission_id > ${after} order by submission_id limit ${limit}`)
  return rows.map((row) => row.submission_id)
}

/** Counts the account's submissions whose events were read at least once. Counting stops at `limit`. */
export async function countReadSubmissions(q: Query, account: string, limit: number): Promise<number> {
  return (await sampleReadSubmissions(q, account, limit)).length
}

/**
 * Finds the account's read of this kind whose last success is the longest ago.
 * @returns the time of that success; null if no read of this kind ever succeeded.
 */
export async function oldestRead(q: Query, account: string, read: ReadKind): Promise<TimeText | null> {
  const row = await q.one(sql<Columns<'sync_reads', 'last_read_at'>>`
    select last_read_at from sync_reads where account = ${account} and read = ${read} and last_read_at is not null order by last_read_at
    limit 1`)
  return row?.last_read_at ?? null
}

/** Lists up to `limit` submissions whose events were read, the most recently read first. */
export async function sampleReadSubmissions(q: Query, account: string, limit: number): Promise<string[]> {
  const rows = await q.all(sql<Columns<'sync_reads', 'submission_id'>>`
    select submission_id from sync_reads where account = ${account} and read = 'events' and last_read_at is not null
    order by last_read_at desc limit ${limit}`)
  return rows.map((row) => row.submission_id)
}

/**
 * Lists submissions to test whether the account can be read. First come up to `limit` submissions with a read request
 * for their thread, for example from a delivery. Then come up to `limit` submissions whose events were never read.
 */
export async function sampleUnreadSubmissions(q: Query, account: string, limit: number): Promise<string[]> {
  const some = q.sql.selectFrom('sync_reads').select('submission_id').where('account', '=', account).limit(limit)
  const woken = await some.where('rank', '=', rank.live).where('read', '=', 'thread').orderBy('due_at', 'desc').execute()
  const never = await some.where('read', '=', 'events').where('last_read_at', 'is', null).execute()
  return [...woken, ...never].map((row) => row.submission_id)
}

const RESET_BATCH = 200

/**
 * Makes the account's reads that got "not found" due now, and sets their counts of "not found" to 0. Call this if many
 * submissions got "not found" together, because then the account is the cause. Stop the account first. Otherwise its
 * reads would count "not found" again. A submission marked as unreachable keeps its count, and its next successful read
 * removes the mark. Works in batches.
 */
export async function resetNotFound(db: Db, account: string): Promise<void> {
  const confirmed = sql`exists (select 1 from submissions as s
    where s.account = sync_reads.account and s.submission_id = sync_reads.submission_id and s.unreachable_since is not null)`
  for (let reset = 1; reset > 0; ) {
    reset = await db.write('not-found-reset', (tx) => {
      const failing = sql`select account, submission_id, read, id from sync_reads
        where account = ${account} and rank in (${sql.lit(rank.failing)}, ${sql.lit(rank.byId)}) and not_found > 0 and lease_token is null
        order by due_at limit ${sql.lit(RESET_BATCH)} ${rowLock(tx, 'for update')}`
      const unlessConfirmed = sql`case when ${confirmed} then not_found else 0 end`
      const ranked = sql`case when sync_reads.id = '' then ${sql.lit(rank.routine)} else rank end`
      return claimedReads.change(tx, failing, sql`not_found = ${unlessConfirmed}, rank = ${ranked}, due_at = ${dbTime(tx)}`)
    })
  }
}

/**
 * One step of a sweep: looks at the next `limit` submissions, and requests the feeds of those that were active since
 * `activeSince`. The requests don't count as activity.
 * @returns the last submission of the step; null if no submissions remain.
 */
export async function sweepStep(db: Db, account: string, after: string, activeSince: TimeText, limit: number): Promise<string | null> {
  const rows = await db.read.all(sql<Columns<'sync_reads', 'submission_id' | 'active_at'>>`
    select submission_id, active_at from sync_reads where account = ${account} and read = 'events' and submission_id > ${after}
    order by submission_id limit ${limit}`)
  const active = rows.filter(({ active_at }) => active_at !== null && active_at >= activeSince)
  const wakes = active.flatMap(({ submission_id }) => feeds.map((read) => ({ account, submissionId: submission_id, read })))
  if (wakes.length > 0) await db.write('sweep', (tx) => addReadRequests(tx, wakes, { delayMs: 0, moved: false }))
  return rows.length < limit ? null : (rows.at(-1)?.submission_id ?? null)
}

/**
 * Claims the requested sweep of an account; see `sweep`. If a crash interrupts the sweep, it can be claimed again after
 * `everyMs`.
 * @returns whether the caller may sweep. False if no sweep is requested, or if the previous sweep began less than
 * `everyMs` ago.
 */
export async function claimSweep(db: Db, account: string, everyMs: number): Promise<boolean> {
  const isWanted = sql`account = ${account} and sweep_wanted <> ${sweep.none}`
  if (!(await db.read.exists(sql`select 1 from sync_accounts where ${isWanted}`))) return false
  return db.write('sweep-take', async (tx) => {
    const result = await tx.run(sql`
      update sync_accounts set sweep_wanted = ${sweep.begun}, swept_at = ${dbTime(tx)}
      where ${isWanted} and (swept_at is null or swept_at <= ${dbTime(tx, -everyMs)})`)
    return result > 0
  })
}

/** Marks the account's sweep as complete; see `sweep`. A sweep that was requested during this sweep stays requested. */
export async function endSweep(db: Db, account: string): Promise<void> {
  await db.write('sweep-end', (tx) =>
    tx.run(sql`update sync_accounts set sweep_wanted = ${sweep.none} where account = ${account} and sweep_wanted = ${sweep.begun}`),
  )
}

/** @returns the error of the last attempt at this read; null if that attempt succeeded. */
export async function readError(q: Query, claim: ReadClaim<ReadKind>): Promise<string | null> {
  const row = await q.one(
    sql<Columns<'sync_reads', 'error'>>`select error from sync_reads where ${isReadOf({ ...claim, ownId: claim.id })}`,
  )
  return row?.error ?? null
}
