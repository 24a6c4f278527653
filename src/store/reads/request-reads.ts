import { sql } from 'kysely'
import { feeds, readKinds } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { dbTime, least, timeValue } from '../engine/sql.ts'
import { requestIdsOf } from './known-ids.ts'
import { wakeReads } from './reads.ts'

/**
 * Requests reads of submissions now, by whichever process polls: their state, and both feeds. Failing reads keep their backoff; a read in
 * flight comes again afterwards.
 * @param submissionIds known ones; at most some hundreds.
 * @param replay whether the feeds are read from the beginning, or on from where they were read to.
 */
export async function requestReads(db: Db, account: string, submissionIds: readonly string[], { replay = true } = {}): Promise<void> {
  if (submissionIds.length === 0) return
  const wakes = submissionIds.flatMap((submissionId) => readKinds.map((read) => ({ account, submissionId, read })))
  await db.write('reads-asked', async (tx) => {
    const now = dbTime(tx)
    // A feed never read to its end has no replay time: it is being read from the beginning anyway.
    if (replay)
      await sql`
      update sync_reads set replay_due_at = ${least(tx, sql`replay_due_at`, now)}
      where account = ${account} and submission_id in (${sql.join(submissionIds)}) and replay_due_at is not null`.execute(tx.sql)
    await wakeReads(tx, wakes, { delayMs: 0, moved: false })
    await requestIdsOf(tx, account, submissionIds)
  })
}

/** @returns whether every read of these submissions has ended after `since`: the state reads, and both feeds from the beginning. */
export async function areReadSince(q: Query, account: string, submissionIds: readonly string[], since: TimeText): Promise<boolean> {
  const missing = await sql`
    select 1 from sync_reads
    where account = ${account} and submission_id in (${sql.join(submissionIds)})
      and read not in (select off.read from sync_reads_off off where off.account = ${account})
      and coalesce(case when read in (${sql.join(feeds)}) then last_replay_at else last_read_at end <= ${timeValue(q, since)}, ${sql.lit(true)})
    limit 1`.execute(q.sql)
  return missing.rows.length === 0
}
