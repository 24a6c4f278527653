import { sql } from 'kysely'
import { type IdRead, idReads, NOT_FOUND_TO_CONFIRM } from '../../model/reads.ts'
import type { Query } from '../engine/db.ts'

/** An id of a submission. */
export interface IdOfSubmission {
  readonly kind: IdRead
  readonly id: string
  /** Whether it is among the known ids, so that it is polled. */
  readonly isKnown: boolean
}

/** The ids of a submission that are read by themselves: the known ones, and those that rows have. Bind requests come first. */
export async function idsOfSubmission(q: Query, account: string, submissionId: string): Promise<IdOfSubmission[]> {
  const of = sql`account = ${account} and submission_id = ${submissionId}`
  const { rows } = await sql<{ kind: IdRead; id: string; known: number }>`
    select kind, id, max(known) as known from (
      select kind, id, 1 as known from sync_known_ids where ${of} and kind in (${sql.join(idReads)})
      union all select 'bind_request', bind_request_id, 0 from bind_requests where ${of}
      union all select 'policy', policy_id, 0 from policies where ${of}
      union all select 'insured', insured_id, 0 from insureds where ${of}) as found
    group by kind, id order by kind, id`.execute(q.sql)
  return rows.filter(({ id }) => typeof id === 'string').map(({ kind, id, known }) => ({ kind, id, isKnown: Number(known) === 1 }))
}

/** Whether a 404 of an id may be a fault that passes: it was read before, and polling has not missed it often enough yet. */
export async function mayComeBack(q: Query, account: string, kind: IdRead, id: string): Promise<boolean> {
  const query = q.sql.selectFrom('sync_known_ids').select('id').where('account', '=', account).where('kind', '=', kind).where('id', '=', id)
  const found = await query.where('last_read_at', 'is not', null).where('not_found', '<', NOT_FOUND_TO_CONFIRM).executeTakeFirst()
  return found !== undefined
}
