import { type RawBuilder, sql } from 'kysely'
import type { Place, StateFact } from '../../model/facts.ts'
import { isIdRead } from '../../model/reads.ts'
import type { Query, Tx } from '../engine/db.ts'

/*
 * A state read that shows what the one before showed changes nothing, and is not compared with the mirror: its hash says so. That holds only
 * while the one before is the last that was applied (`hash_no`), and as long as nothing else has changed of the submission since.
 */

/**
 * Takes the number of a read that shows the same as the last applied one did (invariant 6).
 * @returns false when it shows something else, or came too late; then nothing was taken.
 */
export async function isSameAgain(tx: Tx, fact: StateFact): Promise<boolean> {
  const { readNo, contentHash } = fact
  if (contentHash === undefined) return false
  const { numAffectedRows } = await sql`
    update ${tableOf(fact)} set applied_no = ${readNo}, hash_no = ${readNo}
    where ${whichOf(fact)} and applied_no < ${readNo} and hash_no = applied_no and content_hash = ${contentHash}`.execute(tx.sql)
  return numAffectedRows !== undefined && numAffectedRows > 0n
}

/** Whether a state read shows something else than the last one did, as far as is known. A submission's own read must have been made before. */
export async function isNewerState(q: Query, fact: StateFact, contentHash: string): Promise<boolean> {
  const { rows } = await sql<{ content_hash: string | null; is_current: number | boolean | null; last_read_at: unknown }>`
    select content_hash, hash_no = applied_no as is_current, last_read_at from ${tableOf(fact)} where ${whichOf(fact)}`.execute(q.sql)
  const [last] = rows
  if (!isIdRead(fact.read) && (last?.last_read_at ?? null) === null) return false
  return last?.content_hash !== contentHash || !last.is_current
}

/** What the settlement of an applied read keeps of what it showed. */
export function hashColumns(contentHash: string, readNo: number): RawBuilder<unknown> {
  return sql`content_hash = ${contentHash}, hash_no = case when applied_no = ${readNo} then applied_no else null end`
}

/** Something of these submissions changed: the next state reads are compared, whatever they show. */
export async function forgetContent(tx: Tx, places: readonly Place[]): Promise<void> {
  for (const [account, of] of Map.groupBy(places, (place) => place.account)) {
    const isOf = isOfSubmission([...new Set(of.map(({ submissionId }) => submissionId))].sort())
    for (const table of ['sync_reads', 'sync_known_ids']) {
      await sql`
        update ${sql.table(table)} set content_hash = null, hash_no = null
        where account = ${account} and ${isOf} and content_hash is not null`.execute(tx.sql)
    }
  }
}

/** Whether a row is of one of these submissions; `''` stands for none. */
export function isOfSubmission(ids: readonly string[]): RawBuilder<unknown> {
  const listed = sql`submission_id in (${sql.join(ids)})`
  return ids.includes('') ? sql`(${listed} or submission_id is null)` : listed
}

function tableOf({ read }: StateFact): RawBuilder<unknown> {
  return sql.table(isIdRead(read) ? 'sync_known_ids' : 'sync_reads')
}

function whichOf({ account, submissionId, read, ownId = '' }: StateFact): RawBuilder<unknown> {
  if (isIdRead(read)) return sql`account = ${account} and kind = ${read} and id = ${ownId}`
  return sql`account = ${account} and submission_id = ${submissionId} and read = ${read}`
}
