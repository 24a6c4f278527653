import { sql } from 'kysely'
import { type IdRead, idReads, NOT_FOUND_TO_CONFIRM } from '../../model/reads.ts'
import type { Query } from '../engine/db.ts'
import { isReadOf } from '../reads/reads.ts'

export interface IdOfSubmission {
  readonly kind: IdRead
  readonly id: string
  /** Whether the id has its own row in `sync_reads`, and so is polled. */
  readonly isKnown: boolean
}

/**
 * Lists a submission's bind requests, policies, and insureds by id: ids that are polled, and ids in the submission's
 * rows. Bind requests come first.
 */
export async function idsOfSubmission(q: Query, account: string, submissionId: string): Promise<IdOfSubmission[]> {
  const of = sql`account = ${account} and submission_id = ${submissionId}`
  const rows = await q.all(sql<{ kind: IdRead; id: string; known: number }>`
    select kind, id, max(known) as known from (
      select read as kind, id, 1 as known from sync_reads where account = ${account} and named_for = ${submissionId} and read in (${sql.join(idReads)})
      union all select 'bind_request', bind_request_id, 0 from bind_requests where ${of}
      union all select 'policy', policy_id, 0 from policies where ${of}
      union all select 'insured', insured_id, 0 from insureds where ${of}) as found
    group by kind, id order by kind, id`)
  return rows.filter(({ id }) => typeof id === 'string').map(({ kind, id, known }) => ({ kind, id, isKnown: known === 1 }))
}

/**
 * @returns whether a 404 for an id may be temporary. True if a read of the id once succeeded, and polling got 404 fewer
 * than three times since then.
 */
export async function mayComeBack(q: Query, account: string, read: IdRead, id: string): Promise<boolean> {
  const isRead = isReadOf({ account, submissionId: '', read, ownId: id })
  return await q.exists(sql`select 1 from sync_reads where ${isRead} and last_read_at is not null and not_found < ${NOT_FOUND_TO_CONFIRM}`)
}
