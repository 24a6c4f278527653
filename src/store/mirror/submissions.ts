import { sql } from 'kysely'
import { type SubmissionRow, submissions } from '../../model/entities/submissions.ts'
import type { KnownId, KnownKind } from '../../model/known-ids.ts'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { valuesTable } from '../engine/sql.ts'
import { relationOf, specOf } from '../schema/table.ts'
import type { Columns } from '../schema/tables.ts'

/** Reads only the key columns of `submissions`, because whole rows are long. */
const keysOnly = specOf(relationOf(submissions), 'account', 'submission_id')

/** @returns the submissions in `keys` that are tracked, each as the text `<account> <submission_id>`. */
export async function knownSubmissions(
  q: Query,
  keys: readonly { account: string; submission_id: string }[],
): Promise<ReadonlySet<string>> {
  const distinct = [...new Map(keys.map((key) => [`${key.account} ${key.submission_id}`, key])).values()]
  const rows = await q.selectMany(keysOnly, distinct)
  return new Set(rows.map((row) => `${row['account']} ${row['submission_id']}`))
}

/** True if a submission became unreachable before a time. Unreachable means that the service confirmed "not found". */
export async function wasUnreachable(q: Query, account: string, submissionId: string, before: TimeText): Promise<boolean> {
  const [row] = (await q.selectMany(submissions, [{ account, submission_id: submissionId }])) as SubmissionRow[]
  return row !== undefined && row.unreachable_since !== null && row.unreachable_since < before
}

/** @returns the ids in `submissionIds` of submissions that became unreachable at or after `since`. */
export async function unreachableSince(q: Query, account: string, submissionIds: readonly string[], since: TimeText): Promise<string[]> {
  const keys = [...new Set(submissionIds)].map((submission_id) => ({ account, submission_id }))
  const rows = (await q.selectMany(submissions, keys)) as SubmissionRow[]
  return rows.filter((row) => row.unreachable_since !== null && row.unreachable_since >= since).map((row) => row.submission_id)
}

/** @returns the account's reachable submission with the latest activity; null if no submission is reachable. */
export async function newestSubmission(q: Query, account: string): Promise<string | null> {
  const shown = q.sql
    .selectFrom('submissions')
    .select('submission_id')
    .where('account', '=', account)
    .where('unreachable_since', 'is', null)
  const active = shown.where('last_activity_at', 'is not', null).orderBy('last_activity_at', 'desc')
  const row = (await active.limit(1).executeTakeFirst()) ?? (await shown.limit(1).executeTakeFirst())
  return row?.submission_id ?? null
}

/**
 * Finds an id of this kind whose submission is known. Skips ids whose newest read failed.
 * @returns null if there is no such id.
 */
export async function someKnownId(q: Query, account: string, kind: KnownKind): Promise<KnownId | null> {
  const row = await q.one(sql<Columns<'known_ids', 'id' | 'submission_id'>>`
    select id, submission_id from known_ids where account = ${account} and kind = ${kind} and error is null and submission_id is not null
    limit 1`)
  return row === null ? null : { kind, id: row.id, submissionId: row.submission_id ?? '' }
}

interface OfSubmission {
  readonly account: string
  readonly submission_id: string | null
}

/** Adds `insured_name` to each row: the name of the submission's insured; null if unknown. */
export async function withInsured<T extends OfSubmission>(
  q: Query,
  rows: readonly T[],
): Promise<(T & { readonly insured_name: string | null })[]> {
  const keys = new Map<string, { account: string; submission_id: string }>()
  for (const { account, submission_id } of rows)
    if (submission_id !== null) keys.set(`${account} ${submission_id}`, { account, submission_id })
  const names = new Map<string, string | null>()
  if (keys.size > 0) {
    const given = valuesTable(q, { account: 'text', submission_id: 'text' }, [...keys.values()])
    const found = await q.all(sql<{ account: string; submission_id: string; insured_name: string | null }>`
      select given.account, given.submission_id, s.insured_name from ${given}
      join submissions s on s.account = given.account and s.submission_id = given.submission_id`)
    for (const { account, submission_id, insured_name } of found) names.set(`${account} ${submission_id}`, insured_name)
  }
  return rows.map((row) => ({ ...row, insured_name: names.get(`${row.account} ${row.submission_id}`) ?? null }))
}
