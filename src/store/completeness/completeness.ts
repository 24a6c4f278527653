import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import type { AccountCompletenessView, CompletenessView } from '../schema/completeness.ts'
import type { Columns } from '../schema/tables.ts'

/**
 * Completeness of an account; null if the account was never configured.
 * Reads every submission, so don't call this function from a timer.
 */
export async function accountCompleteness(q: Query, account: string): Promise<AccountCompletenessView | null> {
  const row = await q.sql.selectFrom('account_completeness').selectAll().where('account', '=', account).executeTakeFirst()
  return row ?? null
}

/** Oldest `reconciled_at` of an account's submissions; null if no submission is reconciled. Uses an index. */
export async function oldestReconciled(q: Query, account: string): Promise<TimeText | null> {
  const row = await q.one(sql<Columns<'sync_reconciled', 'reconciled_at'>>`
    select reconciled_at from sync_reconciled where account = ${account} and reconciled_at is not null order by reconciled_at limit 1`)
  return row?.reconciled_at ?? null
}

export interface CompletenessFilter {
  readonly account: string
  readonly submissionId?: string | undefined
  readonly after?: string | undefined
}

/** Completeness of an account's submissions, in order of their ids. */
export function listCompleteness(q: Query, filter: CompletenessFilter, limit: number): Promise<CompletenessView[]> {
  let query = q.sql.selectFrom('completeness').selectAll().where('account', '=', filter.account)
  if (filter.submissionId !== undefined) query = query.where('submission_id', '=', filter.submissionId)
  if (filter.after !== undefined) query = query.where('submission_id', '>', filter.after)
  return query.orderBy('submission_id').limit(limit).execute()
}
