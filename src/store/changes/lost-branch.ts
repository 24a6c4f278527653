import { sql } from 'kysely'
import type { Tx } from '../engine/db.ts'
import { dbTime, greatest } from '../engine/sql.ts'
import { requestRestatements } from '../outbox/restatements.ts'
import type { Fork } from './log-branch.ts'

/** Submissions named in the audit entry; the rest is counted. */
const NAMED = 100

/**
 * Records what is known of a branch of the log that was lost: its newest number, an audit entry that names the submissions it told of, and
 * that each destination is sent their present state, for it may have got another one from that branch.
 * @param logEpoch the epoch that followed.
 */
export async function noteLostBranch(tx: Tx, logEpoch: string, { afterSeq, knownSeq, lost }: Fork): Promise<void> {
  await sql`update sync_log_epochs set known_seq = ${greatest(tx, sql`coalesce(known_seq, 0)`, sql`cast(${knownSeq} as bigint)`)}
    where log_epoch = ${logEpoch}`.execute(tx.sql)
  const touched = [...new Map(lost.flatMap((mark) => mark.touched).map((pair) => [pair.join(' '), pair])).values()]
  const detail = {
    log_epoch: logEpoch,
    after_seq: afterSeq,
    known_seq: knownSeq,
    submissions: touched.length,
    named: touched.slice(0, NAMED),
  }
  await tx.sql
    .insertInto('operator_actions')
    .values({ at: dbTime(tx), who: 'program', action: 'log.lost-branch', target: null, detail: JSON.stringify(detail), outcome: 'done' })
    .execute()
  const destinations = await tx.sql.selectFrom('sync_destinations').select('destination').execute()
  await requestRestatements(
    tx,
    destinations.flatMap(({ destination }) => touched.map(([account, submission_id]) => ({ destination, account, submission_id }))),
  )
}
