import { sql } from 'kysely'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { ViewPart } from '../../model/view.ts'
import type { Db } from '../engine/db.ts'
import { valuesTable } from '../engine/sql.ts'
import { addReads } from '../reads/reads.ts'
import { type RunClaim, renewLease } from './claims.ts'
import type { RunCounts } from './runs.ts'

export interface Visited {
  readonly submissionId: string
  readonly at: TimeText
  /** Whether the submission matches the service, possibly after a correction. */
  readonly isReconciled: boolean
  /** Parts of the requirements view that the service's answer lacked, so they couldn't be compared. */
  readonly unconfirmed?: readonly ViewPart[]
}

/**
 * Stores a run's progress and renews its lease.
 * @throws LeaseLostError if this process lost the lease.
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
    const rows = visited.map(({ submissionId, at, isReconciled, unconfirmed }) => ({
      submission_id: submissionId,
      at,
      is_reconciled: isReconciled ? 1 : 0,
      unconfirmed: unconfirmed?.join(', ') || null,
    }))
    const given = valuesTable(tx, { submission_id: 'text', at: 'text', is_reconciled: 'int', unconfirmed: 'text' }, rows)
    // Convert the times to the database's clock, because later runs in other processes compare with them.
    const ahead = sql`(${timeFromMs(tx.clock.now())}::timestamptz - statement_timestamp())`
    const at = tx.kind === 'sqlite' ? sql`given.at` : sql`(given.at::timestamptz - ${ahead})`
    await tx.run(sql`
      insert into sync_reconciled (account, submission_id, run_id, visited_at, reconciled_at, unconfirmed)
      select ${account}, given.submission_id, ${run_id}, ${at}, case when given.is_reconciled = 1 then ${at} end, given.unconfirmed
      from ${given} where true
      on conflict (account, submission_id) do update set visited_at = excluded.visited_at,
        run_id = case when excluded.reconciled_at is null and sync_reconciled.reconciled_at is not null then sync_reconciled.run_id else excluded.run_id end,
        unconfirmed = case when excluded.reconciled_at is null then sync_reconciled.unconfirmed else excluded.unconfirmed end,
        reconciled_at = coalesce(excluded.reconciled_at, sync_reconciled.reconciled_at)`)
  })
}

export async function restoreReads(db: Db, account: string, submissionId: string): Promise<void> {
  await db.write('reconcile-reads', (tx) => addReads(tx, [{ account, submissionId }], timeFromMs(tx.clock.now()), false))
}
