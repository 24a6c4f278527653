import { type RawBuilder, sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { countCapped, distinctIn, unindexed } from '../engine/sql.ts'
import type { DocumentIndexView, DocumentState } from '../schema/documents.ts'
import type { Columns } from '../schema/tables.ts'
import { accountsWithSubmissions } from './submission-list.ts'
import { conditionsOf, rarestOf, someRow } from './submission-search.ts'

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
  // With this condition, the database can use the index on documents without a stored file.
  if (state !== undefined && state !== 'stored') wanted.push(sql`stored_at is null`)
  if (after !== undefined) wanted.push(sql`(document_key, account) > (${after.key}, ${after.account})`)
  const documents = (condition: RawBuilder<unknown>) =>
    sql`select * from document_index where ${sql.join([...wanted, condition], sql` and `)}`
  const inOrder = (from: RawBuilder<unknown>, key = sql`document_key`) =>
    q.all(sql<DocumentIndexView>`${from} order by ${key}, account limit ${sql.lit(limit)}`)
  if (search === undefined)
    return await inOrder(documents(sql`1 = 1`), submissionId === undefined ? undefined : unindexed(q, 'document_key'))
  const text = search.trim()
  const named = nameContains(q, text)
  const { test, among } = await submissionsMatching(q, text, account)
  const first = sql`(${documents(sql`1 = 1`)} order by document_key, account limit ${sql.lit(PROBED)}) as few where ${named}`
  const isCommon = among === null || (await countCapped(q, first, limit)) === limit
  if (isCommon) return await inOrder(documents(sql`(${named} or ${test})`))
  return await inOrder(sql`select * from (${documents(named)} union ${documents(sql`(account, submission_id) in (${among})`)}) as found`)
}

/**
 * Maximum documents to probe for a search text, in order of their keys. If the matching names fill a page, the text
 * counts as common. The query then reads documents in order of their keys until the page is full.
 */
const PROBED = 2_000

function nameContains(q: Query, text: string): RawBuilder<unknown> {
  const name = sql`lower(coalesce(name, source_label, ''))`
  return q.kind === 'sqlite' ? sql`instr(${name}, lower(${text})) > 0` : sql`position(lower(${text}) in ${name}) > 0`
}

/**
 * Maximum matching submissions of an account. If more submissions match, the query tests the submission of each
 * document instead.
 */
const MOST_SUBMISSIONS = 5_000
const OF_DOCUMENT = sql`s.account = document_index.account and s.submission_id = document_index.submission_id`

/**
 * Builds a search for documents whose submission matches `text`.
 * @returns `test`: SQL condition on a document; `among`: SQL query for the matching submissions, or null if more than
 * `MOST_SUBMISSIONS` of an account match.
 */
async function submissionsMatching(q: Query, text: string, account: string | undefined) {
  const [condition] = conditionsOf(q, { named: text })
  const test = someRow(sql`select 1 from submissions s where ${OF_DOCUMENT} and ${condition?.test}`)
  const parts = [sql`select account, submission_id from submissions where 1 = 0`]
  for (const of of account === undefined ? await accountsWithSubmissions(q) : [account]) {
    const rarest = await rarestOf(q, condition?.among(of) ?? [], MOST_SUBMISSIONS)
    if (rarest === null) return { test, among: null }
    parts.push(sql`select s.account, s.submission_id from submissions s
      where s.account = ${of} and s.submission_id in (${rarest}) and ${condition?.test}`)
  }
  return { test, among: sql.join(parts, sql` union all `) }
}

/** Finds a document by its key: in `account`, or in each account that has the document. */
export async function findDocuments(q: Query, key: string, account?: string): Promise<DocumentIndexView[]> {
  const found = q.sql.selectFrom('document_index').selectAll().where('document_key', '=', key).orderBy('account')
  return await (account === undefined ? found : found.where('account', '=', account)).execute()
}

/** Counts documents that were not stored because they exceeded the size limit of a file. */
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
