import { sql } from 'kysely'
import type { StateRead } from '../../model/reads.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { ViewPart } from '../../model/view.ts'
import type { Db } from '../engine/db.ts'
import { valuesTable } from '../engine/sql.ts'
import { addReads, nextReadNumber } from '../reads/reads.ts'
import { type RunClaim, renewLease } from './claims.ts'
import type { RunCounts } from './runs.ts'

/** A submission that a run has visited. */
export interface Visited {
  readonly submissionId: string
  /** When reading it began. */
  readonly at: TimeText
  /** It was equal to what the service shows, or was repaired. */
  readonly proved: boolean
  /** Parts of the requirements view that the answer left out, if any. */
  readonly unconfirmed?: readonly ViewPart[]
}

/**
 * Saves a run's progress and renews its lease.
 * @throws LeaseLostError when another process has taken over the run.
 */
export async function saveProgress(db: Db, claim: RunClaim, counts: RunCounts, visited: readonly Visited[]): Promise<void> {
  const { account, run_id } = claim.run
  await db.write('reconcile-progress', async (tx) => {
    await renewLease(tx, claim)
    await tx.sql
      .updateTable('reconcile_runs')
      .set({ ...counts, updated_at: timeFromMs(tx.clock.now()) })
      .where('run_id', '=', run_id)
      .execute()
    if (visited.length === 0) return
    const rows = visited.map(({ submissionId, at, proved, unconfirmed }) => ({
      submission_id: submissionId,
      at,
      proved: proved ? 1 : 0,
      unconfirmed: unconfirmed?.join(', ') || null,
    }))
    const given = valuesTable(tx, { submission_id: 'text', at: 'text', proved: 'int', unconfirmed: 'text' }, rows)
    // By the database's clock (invariant 14): a later run in another process compares with it.
    const ahead = sql`(${timeFromMs(tx.clock.now())}::timestamptz - statement_timestamp())`
    const at = tx.kind === 'sqlite' ? sql`given.at` : sql`(given.at::timestamptz - ${ahead})`
    await sql`
      insert into sync_proofs (account, submission_id, run_id, visited_at, proved_at, unconfirmed)
      select ${account}, given.submission_id, ${run_id}, ${at}, case when given.proved = 1 then ${at} end, given.unconfirmed
      from ${given} where true
      on conflict (account, submission_id) do update set visited_at = excluded.visited_at,
        run_id = case when excluded.proved_at is null and sync_proofs.proved_at is not null then sync_proofs.run_id else excluded.run_id end,
        unconfirmed = case when excluded.proved_at is null then sync_proofs.unconfirmed else excluded.unconfirmed end,
        proved_at = coalesce(excluded.proved_at, sync_proofs.proved_at)`.execute(tx.sql)
  })
}

/** Takes a number for a state read (invariant 6); null when the submission is not polled. */
export async function takeReadNumber(db: Db, account: string, submissionId: string, read: StateRead): Promise<number | null> {
  return db.write('reconcile-number', async (tx) => {
    const row = await tx.sql
      .updateTable('sync_reads')
      .set({ issued_no: nextReadNumber(tx) })
      .where('account', '=', account)
      .where('submission_id', '=', submissionId)
      .where('read', '=', read)
      .returning('issued_no')
      .executeTakeFirst()
    return row?.issued_no ?? null
  })
}

/** Restores the missing reads of a submission, so that it is polled again. */
export async function restoreReads(db: Db, account: string, submissionId: string): Promise<void> {
  await db.write('reconcile-reads', (tx) => addReads(tx, [{ account, submissionId }], timeFromMs(tx.clock.now()), false))
}
