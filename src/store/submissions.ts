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
