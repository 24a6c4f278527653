import { type RawBuilder, sql } from 'kysely'
import type { StateFact, SubmissionRef } from '../../model/facts.ts'
import { isIdRead, stateReads } from '../../model/reads.ts'
import type { Query, Tx } from '../engine/db.ts'
import { isReadOf } from './reads.ts'

/**
 * A state read with an unchanged content hash is not compared with the mirror, while the previous read is the last applied one (`hash_no`) and
 * nothing else of the submission has changed.
 */

/** Applies the number of a read with the same content as the last applied one (invariant 6). @returns false when it differs or came too late. */
export async function isSameAgain(tx: Tx, fact: StateFact): Promise<boolean> {
  const { readNo, contentHash } = fact
  if (contentHash === undefined) return false
  const updated = await tx.run(sql`
    update sync_reads set applied_no = ${readNo}, hash_no = ${readNo}
    where ${isReadOf(fact)} and applied_no < ${readNo} and hash_no = applied_no and content_hash = ${contentHash}`)
  return updated > 0
}

/** Whether a state read may differ from the last one. A submission's own read must have been made before. */
export async function isNewerState(q: Query, fact: StateFact, contentHash: string): Promise<boolean> {
  const rows = await q.all(sql<{ content_hash: string | null; is_current: number | boolean | null; last_read_at: unknown }>`
    select content_hash, hash_no = applied_no as is_current, last_read_at from sync_reads where ${isReadOf(fact)}`)
  const [last] = rows
  if (!isIdRead(fact.read) && (last?.last_read_at ?? null) === null) return false
  return last?.content_hash !== contentHash || !last.is_current
}

/** The hash columns for the settlement of an applied read. */
export function hashColumns(contentHash: string, readNo: number): RawBuilder<unknown> {
  return sql`content_hash = ${contentHash}, hash_no = case when applied_no = ${readNo} then applied_no else null end`
}

/** Makes the next state reads of these submissions compare, because something of them changed. */
export async function forgetContent(tx: Tx, places: readonly SubmissionRef[]): Promise<void> {
  for (const [account, of] of Map.groupBy(places, (place) => place.account)) {
    const ids = sql.join([...new Set(of.map(({ submissionId }) => submissionId))].sort())
    for (const isOf of [sql`submission_id in (${ids}) and read in (${sql.join(stateReads)})`, sql`named_for in (${ids})`]) {
      await tx.run(sql`
        update sync_reads set content_hash = null, hash_no = null
        where account = ${account} and ${isOf} and content_hash is not null`)
    }
  }
}
