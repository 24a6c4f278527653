import { type RawBuilder, sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { distinctIn, unindexed } from '../engine/sql.ts'
import type { DocumentIndexView, DocumentState } from '../schema/documents.ts'
import type { Columns } from '../schema/tables.ts'
import { accountsWithSubmissions } from './submission-list.ts'
import { conditionsOf, rarestOf } from './submission-search.ts'

export interface DocumentFilter {
  readonly account?: string | undefined
  readonly submissionId?: string | undefined
  readonly state?: DocumentState | undefined
  /** Part of the file name, word beginnings of the insured's name, or the beginning of a submission id. */
  readonly search?: string | undefined
  readonly after?: { readonly key: string; readonly account: string } | undefined
}

/** Lists documents in order of their keys. */
export async function listDocuments(
  q: Query,
  { account, submissionId, state, search, after }: DocumentFilter,
  limit: number,
): Promise<DocumentIndexView[]> {
  const wanted = [sql`1 = 1`]
  if (submissionId !== undefined) {
    wanted.push(account === undefined ? sql`account in ${distinctIn('documents', 'account')}` : sql`account = ${account}`)
    wanted.push(sql`submission_id = ${submissionId}`)
  } else if (account !== undefined) wanted.push(sql`${unindexed(q, 'account')} = ${account}`)
  if (state !== undefined) wanted.push(sql`state = ${state}`)
  // Lets the database use the index of documents without a stored file.
  if (state !== undefined && state !== 'stored') wanted.push(sql`stored_at is null`)
  const found = search === undefined ? null : await matchingSearch(q, search.trim(), account)
  if (found !== null) wanted.push(found.test)
  if (after !== undefined) wanted.push(sql`(document_key, account) > (${after.key}, ${after.account})`)
  const key = submissionId !== undefined || found?.isRare ? unindexed(q, 'document_key') : sql`document_key`
  return await q.all(sql<DocumentIndexView>`
    select * from document_index where ${sql.join(wanted, sql` and `)} order by ${key}, account limit ${sql.lit(limit)}`)
}

/**
 * Maximum matching submissions of an account to look up first.
 * If more submissions match, the query reads the documents in list order and tests the submission of each.
 */
const MOST_SUBMISSIONS = 5_000
const OF_DOCUMENT = sql`s.account = document_index.account and s.submission_id = document_index.submission_id`

/**
 * SQL condition: the file name contains `text`, or the submission matches `text`.
 * @returns `test`: the condition; `isRare`: true if few submissions match.
 */
async function matchingSearch(q: Query, text: string, account: string | undefined) {
  const name = sql`lower(coalesce(name, source_label, ''))`
  const isNamed = q.kind === 'sqlite' ? sql`instr(${name}, lower(${text})) > 0` : sql`position(lower(${text}) in ${name}) > 0`
  const [condition] = conditionsOf(q, { named: text })
  const parts: RawBuilder<unknown>[] = []
  for (const of of account === undefined ? await accountsWithSubmissions(q) : [account]) {
    const rarest = await rarestOf(q, condition?.among(of) ?? [], MOST_SUBMISSIONS)
    if (rarest === null)
      return { test: sql`(${isNamed} or exists (select 1 from submissions s where ${OF_DOCUMENT} and ${condition?.test}))`, isRare: false }
    parts.push(sql`select s.account, s.submission_id from submissions s
      where s.account = ${of} and s.submission_id in (${rarest}) and ${condition?.test}`)
  }
  const ofSubmissions = parts.length === 0 ? sql`1 = 0` : sql`(account, submission_id) in (${sql.join(parts, sql` union all `)})`
  return { test: sql`(${isNamed} or ${ofSubmissions})`, isRare: true }
}

/** Finds the document with a key, in each account that has the document. */
export async function findDocuments(q: Query, key: string, account?: string): Promise<DocumentIndexView[]> {
  const found = q.sql.selectFrom('document_index').selectAll().where('document_key', '=', key).orderBy('account')
  return await (account === undefined ? found : found.where('account', '=', account)).execute()
}

/** Counts documents that exceeded the size limit of one file. */
export async function countTooLong(q: Query): Promise<number> {
  return await q.count(sql<{ n: number }>`select count(*) as n from sync_documents where refused_over_bytes is not null`)
}

/** Distinct file paths of a submission's stored documents. */
export async function storedPathsOf(q: Query, account: string, submissionId: string): Promise<string[]> {
  const rows = await q.all(sql<{ path: string }>`
    select distinct stored_path as path from documents
    where account = ${account} and submission_id = ${submissionId} and stored_path is not null`)
  return rows.map(({ path }) => path)
}

/**
 * Name and media type of a document, as the service gave them; null if the document isn't found, such as after a purge.
 */
export async function documentMetadata(
  q: Query,
  { account, documentKey }: { readonly account: string; readonly documentKey: string },
): Promise<{ readonly name: string | null; readonly contentType: string | null } | null> {
  const row = await q.one(sql<Columns<'documents', 'name' | 'content_type'>>`
    select name, content_type from documents where account = ${account} and document_key = ${documentKey}`)
  return row === null ? null : { name: row.name, contentType: row.content_type }
}
