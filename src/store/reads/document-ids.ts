import type { Query } from '../engine/db.ts'

/** @returns the documents that answers named for a submission. */
export async function documentIdsOf(q: Query, account: string, submissionId: string): Promise<readonly string[]> {
  return (await documentIdsOfAll(q, account, [submissionId])).get(submissionId) ?? []
}

/** @returns the documents that answers named, by submission. */
export async function documentIdsOfAll(q: Query, account: string, submissionIds: readonly string[]): Promise<Map<string, string[]>> {
  if (submissionIds.length === 0) return new Map()
  const rows = await q.sql
    .selectFrom('sync_known_ids')
    .select(['id', 'submission_id'])
    .where('account', '=', account)
    .where('submission_id', 'in', submissionIds)
    .where('kind', '=', 'document')
    .execute()
  const groups = Map.groupBy(rows, ({ submission_id }) => submission_id ?? '')
  return new Map([...groups].map(([id, own]) => [id, own.map((row) => row.id)]))
}
