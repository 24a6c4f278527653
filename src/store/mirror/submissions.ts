import type { SubmissionRow } from '../../model/entities/submissions.ts'
import { submissions } from '../../model/entities/submissions.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { relationOf, specOf } from '../schema/table.ts'

/** Few columns, because the whole row is long. */
const keysOnly = specOf(relationOf(submissions), 'account', 'submission_id')

/** @returns the tracked ones of the given submissions, each as `account submission_id`. */
export async function knownSubmissions(
  q: Query,
  keys: readonly { account: string; submission_id: string }[],
): Promise<ReadonlySet<string>> {
  const distinct = [...new Map(keys.map((key) => [`${key.account} ${key.submission_id}`, key])).values()]
  const rows = await q.selectMany(keysOnly, distinct)
  return new Set(rows.map((row) => `${row['account']} ${row['submission_id']}`))
}

/** Whether a submission was marked unreachable before a time: its "not found" was confirmed. */
export async function wasUnreachable(q: Query, account: string, submissionId: string, before: TimeText): Promise<boolean> {
  const [row] = (await q.selectMany(submissions, [{ account, submission_id: submissionId }])) as SubmissionRow[]
  return row !== undefined && row.unreachable_since !== null && row.unreachable_since < before
}

/** @returns the given submissions that were marked unreachable at or after `since`. */
export async function unreachableSince(q: Query, account: string, submissionIds: readonly string[], since: TimeText): Promise<string[]> {
  const keys = [...new Set(submissionIds)].map((submission_id) => ({ account, submission_id }))
  const rows = (await q.selectMany(submissions, keys)) as SubmissionRow[]
  return rows.filter((row) => row.unreachable_since !== null && row.unreachable_since >= since).map((row) => row.submission_id)
}
