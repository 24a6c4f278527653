import { sql } from 'kysely'
import type { Place } from '../../model/facts.ts'
import { feeds, type ReadKind } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime, rowLock } from '../engine/sql.ts'
import { sweep } from './accounts.ts'
import { claimedReads } from './claims.ts'
import { resetNotFoundIds } from './known-ids.ts'
import { rank, wakeReads } from './reads.ts'

/** A page of an account's tracked submission ids behind `after`, in order. */
export async function submissionIdsAfter(q: Query, account: string, after: string, limit: number): Promise<string[]> {
  const rows = await q.sql
    .selectFrom('submissions')
    .select('submission_id')
    .where('account', '=', account)
    .where('submission_id', '>', after)
    .orderBy('submission_id')
    .limit(limit)
    .execute()
  return rows.map((row) => row.submission_id)
}

/** How many submissions of the account have been read, counted up to `limit`. */
export async function countReadSubmissions(q: Query, account: string, limit: number): Promise<number> {
  return (await sampleReadSubmissions(q, account, limit)).length
}

/** When the submission read longest ago was read by one kind of read; null when none was. */
export async function oldestRead(q: Query, account: string, read: ReadKind): Promise<TimeText | null> {
  const row = await q.sql
    .selectFrom('sync_reads')
    .select('last_read_at')
    .where('account', '=', account)
    .where('read', '=', read)
    .where('last_read_at', 'is not', null)
    .orderBy('last_read_at')
    .limit(1)
    .executeTakeFirst()
  return row?.last_read_at ?? null
}

/** Some submissions of the account that have been read, the most recent first. */
export async function sampleReadSubmissions(q: Query, account: string, limit: number): Promise<string[]> {
  const rows = await q.sql
    .selectFrom('sync_reads')
    .select('submission_id')
    .where('account', '=', account)
    .where('read', '=', 'events')
    .where('last_read_at', 'is not', null)
    .orderBy('last_read_at', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => row.submission_id)
}

/** Some submissions with news that have not been read since: those named by deliveries, and some never read. */
export async function sampleUnreadSubmissions(q: Query, account: string, limit: number): Promise<string[]> {
  const some = q.sql.selectFrom('sync_reads').select('submission_id').where('account', '=', account).limit(limit)
  const woken = await some.where('rank', '=', rank.live).where('read', '=', 'thread').orderBy('due_at', 'desc').execute()
  const never = await some.where('read', '=', 'events').where('last_read_at', 'is', null).execute()
  return [...woken, ...never].map((row) => row.submission_id)
}

/** Reads per transaction: an old account has many submissions that are gone. */
const RESET_BATCH = 200

/**
 * Makes every read that got "not found" due soon, and resets unconfirmed counts of it: the account was at fault, not its submissions. Those
 * of a submission already marked unreachable stay, so that finding it again removes the mark. Runs in batches to keep transactions short; the
 * account must be stopped, or reads would count "not found" faster than it is reset.
 */
export async function resetNotFound(db: Db, account: string): Promise<void> {
  await resetNotFoundIds(db, account)
  const confirmed = sql`exists (select 1 from submissions as s
    where s.account = sync_reads.account and s.submission_id = sync_reads.submission_id and s.unreachable_since is not null)`
  for (let reset = 1; reset > 0; ) {
    reset = await db.write('not-found-reset', (tx) => {
      const failing = sql`select account, submission_id, read from sync_reads
        where account = ${account} and rank = ${sql.lit(rank.failing)} and not_found > 0 and lease_token is null
        order by due_at limit ${sql.lit(RESET_BATCH)} ${rowLock(tx, 'for update')}`
      const unlessConfirmed = sql`case when ${confirmed} then not_found else 0 end`
      return claimedReads.change(tx, failing, sql`not_found = ${unlessConfirmed}, rank = ${sql.lit(rank.routine)}, due_at = ${dbTime(tx)}`)
    })
  }
}

/**
 * Wakes the feeds of those among the next `limit` submissions behind `after`, by id, that were active since `activeSince`. The wake does not
 * count as activity, or sweeps would keep submissions active for ever. Runs in steps, so that no query and no transaction is long.
 * @returns the last id of the step, or null when there are no more.
 */
export async function sweepStep(db: Db, account: string, after: string, activeSince: TimeText, limit: number): Promise<string | null> {
  const rows = await db.read.sql
    .selectFrom('sync_reads')
    .select(['submission_id', 'active_at'])
    .where('account', '=', account)
    .where('read', '=', 'events')
    .where('submission_id', '>', after)
    .orderBy('submission_id')
    .limit(limit)
    .execute()
  const active = rows.filter(({ active_at }) => active_at !== null && active_at >= activeSince)
  const wakes = active.flatMap(({ submission_id }) => feeds.map((read) => ({ account, submissionId: submission_id, read })))
  if (wakes.length > 0) await db.write('sweep', (tx) => wakeReads(tx, wakes, { delayMs: 0, moved: false }))
  return rows.length < limit ? null : (rows.at(-1)?.submission_id ?? null)
}

/**
 * Claims a requested sweep of the account, unless the last one was less than `everyMs` ago. It counts as begun until `endSweep`: when its
 * process dies, it is claimed again as late as a new one would be.
 */
export async function claimSweep(db: Db, account: string, everyMs: number): Promise<boolean> {
  const wanted = await db.read.sql
    .selectFrom('sync_accounts')
    .select('account')
    .where('account', '=', account)
    .where('sweep_wanted', '<>', sweep.none)
    .executeTakeFirst()
  if (!wanted) return false
  return db.write('sweep-take', async (tx) => {
    const result = await tx.sql
      .updateTable('sync_accounts')
      .set({ sweep_wanted: sweep.begun, swept_at: dbTime(tx) })
      .where('account', '=', account)
      .where('sweep_wanted', '<>', sweep.none)
      .where((eb) => eb.or([eb('swept_at', 'is', null), eb('swept_at', '<=', dbTime(tx, -everyMs))]))
      .executeTakeFirst()
    return result.numUpdatedRows > 0n
  })
}

/** Marks the sweep as complete. One requested meanwhile stays requested. */
export async function endSweep(db: Db, account: string): Promise<void> {
  await db.write('sweep-end', (tx) =>
    tx.sql
      .updateTable('sync_accounts')
      .set({ sweep_wanted: sweep.none })
      .where('account', '=', account)
      .where('sweep_wanted', '=', sweep.begun)
      .execute(),
  )
}

/** The error of the read's last attempt; null when it succeeded. */
export async function readError(q: Query, place: Place, read: ReadKind): Promise<string | null> {
  const row = await q.sql
    .selectFrom('sync_reads')
    .select('error')
    .where('account', '=', place.account)
    .where('submission_id', '=', place.submissionId)
    .where('read', '=', read)
    .executeTakeFirst()
  return row?.error ?? null
}
