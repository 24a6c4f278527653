import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { valuesTable } from '../engine/sql.ts'

interface OfSubmission {
  readonly account: string
  readonly submission_id: string | null
}

/** The rows with the name of the insured of each, by which people know a submission; null where the mirror does not know it. */
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
    const { rows: found } = await sql<{ account: string; submission_id: string; insured_name: string | null }>`
      select given.account, given.submission_id, s.insured_name from ${given}
      join submissions s on s.account = given.account and s.submission_id = given.submission_id`.execute(q.sql)
    for (const { account, submission_id, insured_name } of found) names.set(`${account} ${submission_id}`, insured_name)
  }
  return rows.map((row) => ({ ...row, insured_name: names.get(`${row.account} ${row.submission_id}`) ?? null }))
}
