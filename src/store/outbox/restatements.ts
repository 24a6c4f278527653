import { sql } from 'kysely'
import { feeds } from '../../model/reads.ts'
import { timeFromMs } from '../../model/time.ts'
import type { Query, Tx } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'
import { syncRestatements } from '../schema/push.ts'
import { specOf } from '../schema/table.ts'

/**
 * Submissions whose present state a destination is sent after a branch of the change log was lost: it may have got another one from that
 * branch, which then changed back, so that no change tells it.
 */

/** A submission for a destination. */
export interface Restatement {
  readonly destination: string
  readonly account: string
  readonly submission_id: string
}

const restatements = specOf(syncRestatements)

/** The replay of a submission that fails is not waited for longer than this. */
const LONGEST_WAIT_MS = 3_600_000

export async function requestRestatements(tx: Tx, requested: readonly Restatement[]): Promise<void> {
  const requested_at = timeFromMs(tx.clock.now())
  await tx.insertMany(
    restatements,
    requested.map((each) => ({ ...each, requested_at })),
    { ignore: true },
  )
}

/** The submission to restate next: it was read since the newest log epoch began, or has waited for that too long. Null when there is none. */
export async function nextRestatement(q: Query, destination: string): Promise<(Restatement & { readonly isNew: boolean }) | null> {
  const began = sql`(select began_at from sync_log_epochs order by epoch_no desc limit 1)`
  const lastRead = sql`case when r.read in (${sql.join(feeds)}) then r.last_replay_at else r.last_read_at end`
  const { rows } = await sql<Restatement & { fresh: number }>`
    select x.destination, x.account, x.submission_id, case when s.tracked_at >= ${began} then 1 else 0 end as fresh
    from sync_restatements x left join submissions s on s.account = x.account and s.submission_id = x.submission_id
    where x.destination = ${destination} and (x.requested_at < ${dbTime(q, -LONGEST_WAIT_MS)} or not exists (
      select 1 from sync_reads r where r.account = x.account and r.submission_id = x.submission_id
        and coalesce(${lastRead} < ${began}, ${q.kind === 'sqlite' ? sql`1` : sql`true`})))
    order by x.requested_at limit 1`.execute(q.sql)
  const [row] = rows
  return row === undefined ? null : { destination, account: row.account, submission_id: row.submission_id, isNew: Number(row.fresh) === 1 }
}

export async function endRestatement(tx: Tx, { destination, account, submission_id }: Restatement): Promise<void> {
  await tx.sql
    .deleteFrom('sync_restatements')
    .where('destination', '=', destination)
    .where('account', '=', account)
    .where('submission_id', '=', submission_id)
    .execute()
}
