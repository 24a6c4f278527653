import { sql } from 'kysely'
import { feeds, mainReads } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, least, timePlus, timeValue } from '../engine/sql.ts'
import { submissionIdsAfter } from './account-reads.ts'

/**
 * After a branch of the change log was lost, every submission is replayed: deliveries that the lost database had acknowledged are found in the
 * feeds only.
 */

/** An epoch whose replays have not all ended. */
export interface UnreplayedEpoch {
  readonly log_epoch: string
  readonly began_at: TimeText
  /** When they were requested; null when they have not all been. */
  readonly replays_at: TimeText | null
}

/** The newest epoch that still waits for replays; null when none does. */
export async function findUnreplayed(q: Query): Promise<UnreplayedEpoch | null> {
  const row = await q.sql
    .selectFrom('sync_log_epochs')
    .select(['log_epoch', 'began_at', 'replays_at'])
    .where('replayed_at', 'is', null)
    .orderBy('epoch_no', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}

/** How long the reads of a submission may take at a usual rate: they are spread over so much for each. */
const SECONDS_EACH = 0.5
/** The reads of a submission that was active so many seconds ago are due after one. */
const AGE_DIVISOR = 60

export async function countSubmissions(q: Query, account: string): Promise<number> {
  const row = await q.sql
    .selectFrom('submissions')
    .select((eb) => eb.fn.countAll<number>().as('n'))
    .where('account', '=', account)
    .executeTakeFirstOrThrow()
  return Number(row.n)
}

/**
 * Requests replays of the submissions behind `after`, and reads of their state. The newest activity comes first; the account's rate does the
 * rest. Failing reads keep their backoff, and replay when they come.
 * @param submissions of the account, for the spread.
 * @returns the last submission; null when there are no more.
 */
export async function requestReplays(db: Db, account: string, after: string, limit: number, submissions: number): Promise<string | null> {
  return db.write('replays-requested', async (tx) => {
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
    await sql`
      update sync_reads set
        replay_due_at = case when replay_due_at is null then null else ${dbTime(tx)} end,
        wake_no = wake_no + case when lease_token is null then 0 else 1 end,
        due_at = case when lease_token is null and failures + not_found + stalled_walks = 0 then ${least(tx, sql`due_at`, due)} else due_at end
      where account = ${account} and submission_id in (${sql.join(ids)})`.execute(tx.sql)
    wake(tx, 'reads')
    return ids.at(-1) ?? null
  })
}

/** Records that all replays of an epoch, and of those before it, were requested. What is probed for submissions is probed now. */
export async function endRequests(db: Db, logEpoch: string): Promise<void> {
  await db.write('replays-requested-all', async (tx) => {
    await sql`update sync_path_reads set due_at = ${dbTime(tx)} where path <> '' and lease_token is null and failures = 0`.execute(tx.sql)
    await sql`update sync_log_epochs set replays_at = ${dbTime(tx)} where log_epoch = ${logEpoch} and replays_at is null`.execute(tx.sql)
  })
}

/**
 * Looks for a submission behind `after` that has not been read in full since. A submission that the service doesn't show can't be read, and one
 * that was never read to its end is read from the beginning anyway.
 * @returns the last submission that was looked at, and whether it is replayed; null when all are.
 */
export async function findUnreplayedSubmission(
  q: Query,
  account: string,
  after: string,
  since: TimeText,
  limit: number,
): Promise<{ readonly at: string; readonly isReplayed: boolean } | null> {
  const { rows } = await sql<{ submission_id: string; waits: number }>`
    select s.submission_id, max(case
      when s.unreachable_since is not null then 0
      when r.read in (${sql.join(feeds)}) and r.last_replay_at < ${timeValue(q, since)} then 1
      when r.read in (${sql.join(mainReads)}) and r.last_read_at < ${timeValue(q, since)} then 1
      else 0 end) as waits
    from (
      select account, submission_id, unreachable_since from submissions where account = ${account} and submission_id > ${after}
      order by submission_id limit ${sql.lit(limit)}) as s
    left join sync_reads r on r.account = s.account and r.submission_id = s.submission_id
    group by s.submission_id order by s.submission_id`.execute(q.sql)
  const waiting = rows.findIndex((row) => Number(row.waits) === 1)
  if (waiting === 0) return { at: after, isReplayed: false }
  const last = rows[waiting === -1 ? rows.length - 1 : waiting - 1]
  return last === undefined ? null : { at: last.submission_id, isReplayed: true }
}

/** Records that everything was replayed in this epoch: also what those before it waited for. */
export async function endReplays(db: Db, logEpoch: string): Promise<void> {
  await db.write('replays-ended', (tx) =>
    sql`
      update sync_log_epochs set replayed_at = ${dbTime(tx)}, replays_at = coalesce(replays_at, ${dbTime(tx)})
      where replayed_at is null and epoch_no <= (select epoch_no from sync_log_epochs where log_epoch = ${logEpoch})`.execute(tx.sql),
  )
}
