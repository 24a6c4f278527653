import type { SubmissionRow } from '../model/entities.ts'
import { submissions } from '../model/entities.ts'
import type { Query } from './db.ts'

/** @returns those of the given submissions that are tracked, each as `account submission_id`. */
export async function knownSubmissions(
  q: Query,
  keys: readonly { account: string; submission_id: string }[],
): Promise<ReadonlySet<string>> {
  const distinct = [...new Map(keys.map((key) => [`${key.account} ${key.submission_id}`, key])).values()]
  const rows = (await q.selectMany(submissions, distinct)) as SubmissionRow[]
  return new Set(rows.map((row) => `${row.account} ${row.submission_id}`))
}

/** Ids of an account's tracked submissions behind `after`, in their order: a page of all of them. */
export async function submissionIdsAfter(q: Query, account: string, after: string, limit: number): Promise<string[]> {
  const rows = await q.sql
    .selectFrom('submissions')
    .select('submission_id')
    .where('account', '=', account)
    .where('submission_id', '>', after)
    .orderBy('submission_id')
    .limit(limit)
    .execute()
  return rows.map((row) => row.submission_id)
}
