import { type RawBuilder, sql } from 'kysely'
import type { StateObservation, SubmissionRef } from '../../model/observations.ts'
import { isIdRead, stateReads } from '../../model/reads.ts'
import type { Query, Tx } from '../engine/db.ts'
import { isReadOf } from './reads.ts'

/**
 * Marks a state read as applied if its content equals that of the last applied read, and the submission hasn't changed
 * since that read. The caller then skips the comparison with the mirror.
 * @returns whether the read was marked.
 */
export async function isSameAgain(tx: Tx, observation: StateObservation): Promise<boolean> {
  const { readNo, contentHash } = observation
  if (contentHash === undefined) return false
  const updated = await tx.run(sql`
    update sync_reads set applied_no = ${readNo}, hash_no = ${readNo}
    where ${isReadOf(observation)} and applied_no < ${readNo} and hash_no = applied_no and content_hash = ${contentHash}`)
  return updated > 0
}

/**
 * @returns whether the content of a state read may differ from the mirror. False if the content equals that of the last
 * applied read, and the submission hasn't changed since that read. Also false if the submission's scheduled read never
 * succeeded, because then no earlier content exists to compare with.
 */
export async function isNewerState(q: Query, observation: StateObservation, contentHash: string): Promise<boolean> {
  const rows = await q.all(sql<{ content_hash: string | null; is_current: number | boolean | null; last_read_at: unknown }>`
    select content_hash, hash_no = applied_no as is_current, last_read_at from sync_reads where ${isReadOf(observation)}`)
  const [last] = rows
  if (!isIdRead(observation.read) && (last?.last_read_at ?? null) === null) return false
  return last?.content_hash !== contentHash || !last.is_current
}

/** @returns SQL that sets the hash columns of a read that was applied. */
export function hashColumns(contentHash: string, readNo: number): RawBuilder<unknown> {
  return sql`content_hash = ${contentHash}, hash_no = case when applied_no = ${readNo} then applied_no else null end`
}

/**
 * Clears the hashes of submissions that changed. The next state reads of these submissions are then compared
 * with the mirror.
 */
export async function forgetContent(tx: Tx, places: readonly SubmissionRef[]): Promise<void> {
  for (const [account, of] of Map.groupBy(places, (place) => place.account)) {
    const ids = sql.join([...new Set(of.map(({ submissionId }) => submissionId))].sort())
    for (const isOf of [sql`submission_id in (${ids}) and id = '' and read in (${sql.join(stateReads)})`, sql`named_for in (${ids})`]) {
      await tx.run(sql`
        update sync_reads set content_hash = null, hash_no = null
        where account = ${account} and ${isOf} and content_hash is not null`)
    }
  }
}
