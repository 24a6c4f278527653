import { sql } from 'kysely'
import { feeds } from '../../model/reads.ts'
import { timeFromMs } from '../../model/time.ts'
import type { Query, Tx } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'
import { syncRestatements } from '../schema/push.ts'
import { specOf } from '../schema/table.ts'

/**
 * Submissions to send again after a restore. A destination may have received changes that the restored change log
 * doesn't contain. No stored change can correct such a destination, so the submission's current state is sent.
 */

export interface Restatement {
  readonly destination: string
  readonly account: string
  readonly submission_id: string
}

const restatements = specOf(syncRestatements)

/**
 * Maximum wait in ms for the new reads of a submission. After this time, the submission is sent even without new reads.
 */
const LONGEST_WAIT_MS = 3_600_000

export async function requestRestatements(tx: Tx, requested: readonly Restatement[]): Promise<void> {
  const requested_at = timeFromMs(tx.clock.now())
  await tx.insertMany(
    restatements,
    requested.map((each) => ({ ...each, requested_at })),
    { ignore: true },
  )
}

/**
 * Finds the next submission to send again. A submission is ready if all its reads were repeated in the newest log
 * epoch. One hour after the request, a submission is ready even without new reads.
 * @returns null if no submission is ready. `isNew`: the submission is tracked only since the newest log epoch began.
 */
export async function nextRestatement(q: Query, destination: string): Promise<(Restatement & { readonly isNew: boolean }) | null> {
  const began = sql`(select began_at from sync_log_epochs order by epoch_no desc limit 1)`
  const lastRead = sql`case when r.read in (${sql.join(feeds)}) then r.last_full_read_at else r.last_read_at end`
  const row = await q.one(sql<Restatement & { fresh: number }>`
    select x.destination, x.account, x.submission_id, case when s.tracked_at >= ${began} then 1 else 0 end as fresh
    from sync_restatements x left join submissions s on s.account = x.account and s.submission_id = x.submission_id
    where x.destination = ${destination} and (x.requested_at < ${dbTime(q, -LONGEST_WAIT_MS)} or not exists (
      select 1 from sync_reads r where r.account = x.account and r.submission_id = x.submission_id
        and coalesce(${lastRead} < ${began}, ${q.kind === 'sqlite' ? sql`1` : sql`true`})))
    order by x.requested_at limit 1`)
  return row && { destination, account: row.account, submission_id: row.submission_id, isNew: row.fresh === 1 }
}

export async function endRestatement(tx: Tx, { destination, account, submission_id }: Restatement): Promise<void> {
  await tx.run(sql`
    delete from sync_restatements where destination = ${destination} and account = ${account} and submission_id = ${submission_id}`)
}
