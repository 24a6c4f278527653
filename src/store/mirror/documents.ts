import { type RawBuilder, sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import type { DocumentIndexView, DocumentState } from '../schema/documents.ts'

export interface DocumentFilter {
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
  readonly state?: DocumentState | undefined
  /** Only those behind this one. */
  readonly after?: { readonly key: string; readonly account: string } | undefined
}

/** Documents in the order of their keys. */
export async function listDocuments(
  q: Query,
  { account, submissionId, state, after }: DocumentFilter,
  limit: number,
): Promise<DocumentIndexView[]> {
  const is = (column: string, value: string | undefined): RawBuilder<unknown>[] =>
    value === undefined ? [] : [sql`${sql.ref(column)} = ${value}`]
  const wanted = [sql`1 = 1`, ...is('account', account), ...is('submission_id', submissionId), ...is('state', state)]
  // Few have failed of many: by the index of those.
  if (state === 'failed') wanted.push(sql`error is not null`)
  if (after !== undefined) wanted.push(sql`(document_key, account) > (${after.key}, ${after.account})`)
  return await q.sql
    .selectFrom('document_index')
    .selectAll()
    .where(sql<boolean>`${sql.join(wanted, sql` and `)}`)
    .orderBy('document_key')
    .orderBy('account')
    .limit(limit)
    .execute()
}

/** The document with a key, in each account that has it. */
export async function findDocuments(q: Query, key: string, account?: string): Promise<DocumentIndexView[]> {
  const found = q.sql.selectFrom('document_index').selectAll().where('document_key', '=', key).orderBy('account')
  return await (account === undefined ? found : found.where('account', '=', account)).execute()
}

/** @returns how many documents were longer than the limit of one file. */
export async function countTooLong(q: Query): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from sync_documents where refused_over_bytes is not null`.execute(q.sql)
  return Number(rows[0]?.n ?? 0)
}

/** @returns where the files of a submission's documents lie, each once. */
export async function storedPathsOf(q: Query, account: string, submissionId: string): Promise<string[]> {
  const rows = await q.sql
    .selectFrom('documents')
    .select('stored_path')
    .distinct()
    .where('account', '=', account)
    .where('submission_id', '=', submissionId)
    .where('stored_path', 'is not', null)
    .execute()
  return rows.flatMap(({ stored_path }) => stored_path ?? [])
}
