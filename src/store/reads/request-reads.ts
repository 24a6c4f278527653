import { type RawBuilder, sql } from 'kysely'
import { feeds, readKinds } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime, least, timeValue } from '../engine/sql.ts'
import { requestIdsOf } from './known-ids.ts'
import { addReadRequests } from './reads.ts'

/**
 * Makes the reads of submissions due now: state reads, feeds, and reads of the ids that answers named. Failing reads
 * keep their backoff. If a read is in flight, it runs again afterwards.
 * @param submissionIds known ids, at most a few hundred.
 * @param options `fullRead`: whether to read the feeds from the beginning.
 */
export async function requestReads(db: Db, account: string, submissionIds: readonly string[], { fullRead = true } = {}): Promise<void> {
  if (submissionIds.length === 0) return
  const wakes = submissionIds.flatMap((submissionId) => readKinds.map((read) => ({ account, submissionId, read })))
  await db.write('reads-requested', async (tx) => {
    const now = dbTime(tx)
    // If a feed was never read to its end, its `full_read_due_at` stays null. Its next read starts near the beginning
    // anyway.
    if (fullRead)
      await tx.run(sql`
      update sync_reads set full_read_due_at = ${least(tx, sql`full_read_due_at`, now)}
      where account = ${account} and submission_id in (${sql.join(submissionIds)}) and full_read_due_at is not null`)
    await addReadRequests(tx, wakes, { delayMs: 0, moved: false })
    await requestIdsOf(tx, account, submissionIds)
  })
}

/**
 * @returns whether everything about these submissions was read after `since`: the state, the whole feeds, and the
 * objects whose ids were named. Ignores disabled reads, and ids that the service didn't find.
 */
export async function areReadSince(q: Query, account: string, submissionIds: readonly string[], since: TimeText): Promise<boolean> {
  const isOn = sql`account = ${account} and read not in (select off.read from sync_reads_off off where off.account = ${account})`
  const isOlder = (at: RawBuilder<unknown>) => sql`coalesce(${at} <= ${timeValue(q, since)}, ${sql.lit(true)})`
  return !(await q.exists(sql`
    select 1 from sync_reads
    where ${isOn} and submission_id in (${sql.join(submissionIds)}) and ${isOlder(sql`case when read in (${sql.join(feeds)}) then last_full_read_at else last_read_at end`)}
    union all
    select 1 from sync_reads
    where ${isOn} and named_for in (${sql.join(submissionIds)}) and due_at is not null and not_found = 0 and ${isOlder(sql`last_read_at`)}
    limit 1`))
}
