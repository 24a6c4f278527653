import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import type { AccountCompletenessView, CompletenessView } from '../schema/completeness.ts'
import type { Columns } from '../schema/tables.ts'
import { arrivalsMark, uncountedArrivals } from './arrival-counts.ts'

/**
 * Completeness of an account; null if the account was never configured. Includes the arrivals that `countArrivals`,
 * which runs once a minute, hasn't counted yet.
 * Reads every submission, so don't call this function from a timer.
 */
export async function accountCompleteness(q: Query, account: string): Promise<AccountCompletenessView | null> {
  // Reads the view and the mark in one statement, because another process may count arrivals between two statements.
  const view = q.sql.selectFrom('account_completeness').selectAll().select(arrivalsMark.as('mark'))
  const row = await view.where('account', '=', account).executeTakeFirst()
  if (row === undefined) return null
  const { mark, ...known } = row
  const { webhook, poll, backfill, reconcile } = await uncountedArrivals(q, account, mark)
  return {
    ...known,
    known_by_webhook: known.known_by_webhook + webhook,
    known_by_poll: known.known_by_poll + poll,
    known_by_backfill: known.known_by_backfill + backfill,
    known_by_reconcile: known.known_by_reconcile + reconcile,
  }
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
