import { sql } from 'kysely'
import { feeds, mainReads } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, least, timePlus, timeValue } from '../engine/sql.ts'
import type { Columns } from '../schema/tables.ts'
import { submissionIdsAfter } from './account-reads.ts'

/**
 * A log epoch for which not all submissions have been read again. After a log divergence, every submission is read
 * again, because the lost database may have acknowledged deliveries that the mirror lacks. Only the feeds still have
 * the content of these deliveries.
 */
export interface UnreadEpoch {
  readonly log_epoch: string
  readonly began_at: TimeText
  /** When full re-reads of all submissions were requested; null if some aren't requested yet. */
  readonly full_reads_at: TimeText | null
}

/** @returns the newest epoch for which not all submissions have been read again; null if there is none. */
export async function findUnreadEpoch(q: Query): Promise<UnreadEpoch | null> {
  return await q.one(sql<Columns<'sync_log_epochs', 'log_epoch' | 'began_at' | 'full_reads_at'>>`
    select log_epoch, began_at, full_reads_at from sync_log_epochs where fully_read_at is null order by epoch_no desc limit 1`)
}

/** Seconds allowed for each submission. All re-reads of an account are due within the sum of these times. */
const SECONDS_EACH = 0.5
/**
 * The delay of a submission's re-read is the age of its last activity, divided by this. If the submission was active an
 * hour ago, the re-read is due in a minute.
 */
const AGE_DIVISOR = 60

export async function countSubmissions(q: Query, account: string): Promise<number> {
  return await q.count(sql`select count(*) as n from submissions where account = ${account}`)
}

/**
 * Requests full re-reads and state reads of up to `limit` submissions after `after`. The more recently a submission was
 * active, the sooner its reads are due. Failing reads keep their backoff.
 * @param submissions number of submissions of the account, which limits the delays.
 * @returns the last submission of this step; null if no submissions remain.
 */
export async function requestFullReads(db: Db, account: string, after: string, limit: number, submissions: number): Promise<string | null> {
  return db.write('full-reads-requested', async (tx) => {
    const ids = await submissionIdsAfter(tx, account, after, limit)
    if (ids.length === 0) return null
    const age =
      tx.kind === 'sqlite'
        ? sql`max(0, (julianday(${dbTime(tx)}) - julianday(active_at)) * 86400)`
        : sql`greatest(0, extract(epoch from clock_timestamp() - active_at))::float8`
    const wait = least(
      tx,
      sql`${age} / ${sql.lit(AGE_DIVISOR)}`,
      sql`cast(${submissions * SECONDS_EACH} as ${sql.raw(tx.kind === 'sqlite' ? 'real' : 'float8')})`,
    )
    const due = timePlus(tx, dbTime(tx), sql`1000 * ${wait}`)
    await tx.run(sql`
      update sync_reads set
        full_read_due_at = case when full_read_due_at is null then null else ${dbTime(tx)} end,
        request_no = request_no + case when lease_token is null then 0 else 1 end,
        due_at = case when lease_token is null and failures + not_found + stalled_feed_reads = 0 then ${least(tx, sql`due_at`, due)} else due_at end
      where account = ${account} and submission_id in (${sql.join(ids)})`)
    wake(tx, 'reads')
    return ids.at(-1) ?? null
  })
}

/** Stores that the re-reads of all submissions were requested for this epoch. Also makes discovery paths due now. */
export async function endRequests(db: Db, logEpoch: string): Promise<void> {
  await db.write('full-reads-requested-all', async (tx) => {
    await tx.run(sql`update sync_path_reads set due_at = ${dbTime(tx)} where path <> '' and lease_token is null and failures = 0`)
    await tx.run(sql`update sync_log_epochs set full_reads_at = ${dbTime(tx)} where log_epoch = ${logEpoch} and full_reads_at is null`)
  })
}

/**
 * Checks, in order, whether up to `limit` submissions after `after` were read again since `since`. Unreachable
 * submissions and reads that never succeeded count as read again.
 * @returns null if no submissions remain. `isRead`: whether the first checked submission was read again. `at`: all
 * submissions up to this id were read again. Pass `at` as `after` to the next call.
 */
export async function findUnreadSubmission(
  q: Query,
  account: string,
  after: string,
  since: TimeText,
  limit: number,
): Promise<{ readonly at: string; readonly isRead: boolean } | null> {
  const rows = await q.all(sql<{ submission_id: string; waits: number }>`
    select s.submission_id, max(case
      when s.unreachable_since is not null then 0
      when r.read in (${sql.join(feeds)}) and r.last_full_read_at < ${timeValue(q, since)} then 1
      when r.read in (${sql.join(mainReads)}) and r.last_read_at < ${timeValue(q, since)} then 1
      else 0 end) as waits
    from (
      select account, submission_id, unreachable_since from submissions where account = ${account} and submission_id > ${after}
      order by submission_id limit ${sql.lit(limit)}) as s
    left join sync_reads r on r.account = s.account and r.submission_id = s.submission_id
    group by s.submission_id order by s.submission_id`)
  const waiting = rows.findIndex((row) => row.waits === 1)
  if (waiting === 0) return { at: after, isRead: false }
  const last = rows[waiting === -1 ? rows.length - 1 : waiting - 1]
  return last === undefined ? null : { at: last.submission_id, isRead: true }
}

/** Stores that all submissions were read again for this epoch. Earlier epochs count as read again too. */
export async function endFullReads(db: Db, logEpoch: string): Promise<void> {
  await db.write('full-reads-ended', (tx) =>
    tx.run(sql`
      update sync_log_epochs set fully_read_at = ${dbTime(tx)}, full_reads_at = coalesce(full_reads_at, ${dbTime(tx)})
      where fully_read_at is null and epoch_no <= (select epoch_no from sync_log_epochs where log_epoch = ${logEpoch})`),
  )
}
