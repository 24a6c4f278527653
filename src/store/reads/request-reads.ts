import { sql } from 'kysely'
import { readKinds } from '../../model/reads.ts'
import type { Db } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'
import { wakeReads } from './reads.ts'

/**
 * Requests reads of submissions now, by whichever process polls: their state, and both feeds from the beginning. Failing reads keep their
 * backoff; a read in flight comes again afterwards.
 * @param submissionIds known ones; at most some hundreds.
 */
export async function requestReads(db: Db, account: string, submissionIds: readonly string[]): Promise<void> {
  if (submissionIds.length === 0) return
  const wakes = submissionIds.flatMap((submissionId) => readKinds.map((read) => ({ account, submissionId, read })))
  await db.write('reads-asked', async (tx) => {
    const now = dbTime(tx)
    // A feed never read to its end has no replay time: it is being read from the beginning anyway.
    await sql`
      update sync_reads set replay_due_at = ${tx.kind === 'sqlite' ? sql`min(replay_due_at, ${now})` : sql`least(replay_due_at, ${now})`}
      where account = ${account} and submission_id in (${sql.join(submissionIds)}) and replay_due_at is not null`.execute(tx.sql)
    await wakeReads(tx, wakes, { delayMs: 0, moved: false })
  })
}
