import type { Query } from '../engine/db.ts'
import type { CompletenessView } from '../schema/completeness.ts'

/** Which submissions to list; fields left out do not narrow. */
export interface CompletenessFilter {
  readonly account: string
  readonly submissionId?: string | undefined
  /** Only submissions behind this one: the next page. */
  readonly after?: string | undefined
}

/** The ledger of an account's submissions, by id. */
export function listCompleteness(q: Query, filter: CompletenessFilter, limit: number): Promise<CompletenessView[]> {
  let query = q.sql.selectFrom('completeness').selectAll().where('account', '=', filter.account)
  if (filter.submissionId !== undefined) query = query.where('submission_id', '=', filter.submissionId)
  if (filter.after !== undefined) query = query.where('submission_id', '>', filter.after)
  return query.orderBy('submission_id').limit(limit).execute()
}
