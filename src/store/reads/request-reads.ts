import { type RawBuilder, sql } from 'kysely'
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

/**
 * @returns whether every read of these submissions has ended after `since`: the state reads, both feeds from the beginning, and the ids that
 * they named, as far as those are found.
 */
export async function areReadSince(q: Query, account: string, submissionIds: readonly string[], since: TimeText): Promise<boolean> {
  const isOf = sql`account = ${account} and submission_id in (${sql.join(submissionIds)})`
  const isOn = (kind: string) => sql`${sql.ref(kind)} not in (select off.read from sync_reads_off off where off.account = ${account})`
  const isOlder = (at: RawBuilder<unknown>) => sql`coalesce(${at} <= ${timeValue(q, since)}, ${sql.lit(true)})`
  const missing = await sql`
    select 1 from sync_reads
    where ${isOf} and ${isOn('read')} and ${isOlder(sql`case when read in (${sql.join(feeds)}) then last_replay_at else last_read_at end`)}
    union all
    select 1 from sync_known_ids
    where ${isOf} and ${isOn('kind')} and due_at is not null and not_found = 0 and ${isOlder(sql`last_read_at`)}
    limit 1`.execute(q.sql)
  return missing.rows.length === 0
}
