import { sql } from 'kysely'
import type { Change } from '../../model/change.ts'
import { type DocumentRow, documents } from '../../model/entities/documents.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'
import { dbTime, valuesTable } from '../engine/sql.ts'

/**
 * Schedule of document downloads. A row in `documents` and its row in `sync_documents` are inserted in
 * the same transaction.
 */

/** Lease of a download in ms. Longer than any download can take. */
export const FETCH_LEASE_MS = 900_000
export const LONGEST_FETCH_WAIT_MS = 12 * 3_600_000

interface ClaimedFetch {
  readonly account: string
  readonly documentKey: string
  readonly leaseToken: string
  readonly failures: number
  /** Time of the first failure since the last success; null if the last attempt succeeded. */
  readonly failingSince: TimeText | null
}

/** A document that this process may download until the lease ends. */
export interface FetchClaim extends ClaimedFetch {
  readonly document: DocumentRow
}

export const claimedFetches = new Leased<ClaimedFetch>({
  table: 'sync_documents',
  what: 'document',
  key: { account: 'account', document_key: 'documentKey' },
})

export interface FetchSettlement {
  /** ms until the next attempt; null for no further attempts. */
  readonly dueInMs: number | null
  readonly failures: number
  /** Size limit in bytes that the document exceeded. */
  readonly refusedOverBytes?: number
}

/**
 * Makes documents due for download: new documents, documents whose file was lost, documents that the service shows
 * again, and documents whose link changed. A change in only the link's query (after `?`) doesn't count.
 * @param newLinks documents without a stored file whose link changed, even if only in the query. If such a document has
 * a scheduled attempt, the attempt is due now.
 */
export async function requestFetches(
  tx: Tx,
  changes: readonly Change[],
  newLinks: readonly { readonly account: string; readonly document_key: string }[],
): Promise<void> {
  if (newLinks.length > 0) {
    await tx.run(sql`
      update sync_documents set due_at = ${dbTime(tx)} from ${valuesTable(tx, { account: 'text', document_key: 'text' }, newLinks)}
      where sync_documents.account = given.account and sync_documents.document_key = given.document_key
        and due_at is not null and lease_token is null`)
  }
  const rows = changes.filter(needsFetch).map(({ account, entity_id }) => ({ account, document_key: String(JSON.parse(entity_id)[0]) }))
  if (rows.length === 0) return
  await tx.run(sql`
    insert into sync_documents (account, document_key, due_at, failures)
    select given.account, given.document_key, ${dbTime(tx)}, 0 from ${valuesTable(tx, { account: 'text', document_key: 'text' }, rows)}
    where 1 = 1
    on conflict (account, document_key) do update set due_at = excluded.due_at, failures = 0, failing_since = null, lease_token = null,
      refused_over_bytes = null`)
}

function needsFetch({ entity, operation, after }: Change): boolean {
  if (entity !== documents.table || operation === 'purged') return false
  if (operation === 'insert') return true
  return (
    ['stored_path', 'gone_at'].some((column) => column in after && after[column] === null) ||
    'download_path' in after ||
    'document_url' in after
  )
}

/**
 * @returns whether a document is due. Call this before `claimFetches`, to avoid a write transaction that claims
 * nothing.
 */
export async function isFetchDue(q: Query, account: string): Promise<boolean> {
  return await q.exists(sql`select 1 from sync_documents where account = ${account} and due_at <= ${dbTime(q)} limit 1`)
}

/**
 * Claims due documents to download, the longest due first. Skips documents that are stored or gone, and clears their
 * due times.
 */
export async function claimFetches(db: Db, account: string, limit: number): Promise<FetchClaim[]> {
  const leaseToken = newLeaseToken(db)
  return db.write('document-claim', async (tx) => {
    const selection = claimedFetches.select(tx, { where: sql`account = ${account}`, limit })
    const claims = await claimedFetches.claim(tx, leaseToken, selection, {
      leaseMs: FETCH_LEASE_MS,
      returning: { failures: 'failures', failingSince: 'failing_since' },
    })
    const keys = claims.map(({ documentKey }) => ({ account, document_key: documentKey }))
    const found = keys.length === 0 ? [] : ((await tx.selectMany(documents, keys)) as DocumentRow[])
    const open = new Map(found.filter(isOpen).map((row) => [row.document_key, row]))
    const over = claims.map(({ documentKey }) => documentKey).filter((key) => !open.has(key))
    if (over.length > 0)
      await tx.sql.updateTable('sync_documents').set(NOT_DUE).where('account', '=', account).where('document_key', 'in', over).execute()
    return claims.flatMap((claim) => {
      const document = open.get(claim.documentKey)
      return document === undefined ? [] : [{ ...claim, document }]
    })
  })
}

const NOT_DUE = { due_at: null, lease_token: null } as const

function isOpen({ stored_at, gone_at }: DocumentRow): boolean {
  return stored_at === null && gone_at === null
}

/**
 * Ends a claim, in the transaction that stores the outcome.
 * @throws LeaseLostError if this process lost the lease.
 */
export async function settleFetch(tx: Tx, claim: FetchClaim, { dueInMs, failures, refusedOverBytes }: FetchSettlement): Promise<void> {
  await claimedFetches.settle(
    tx,
    claim,
    sql`failures = ${failures}, due_at = ${dueInMs === null ? null : dbTime(tx, dueInMs)},
      failing_since = ${failures === 0 ? null : sql`coalesce(failing_since, ${dbTime(tx)})`}, refused_over_bytes = ${refusedOverBytes ?? null}`,
  )
}

/** Releases a claim. The document is due in `dueInMs`. */
export async function releaseFetch(db: Db, claim: FetchClaim, dueInMs = 0): Promise<void> {
  await db.write('document-release', (tx) => claimedFetches.release(tx, claim, dueInMs))
}

/** Requests again the documents that exceeded a size limit lower than `maxBytes`. */
export async function requestRefused(tx: Tx, account: string, maxBytes: number): Promise<void> {
  await tx.run(sql`
    update sync_documents set due_at = ${dbTime(tx)}, failures = 0, failing_since = null, refused_over_bytes = null
    where account = ${account} and refused_over_bytes < ${maxBytes}`)
}

/** Makes documents due whose last error is one of `errors` and that have no attempt scheduled. */
export async function requestFailed(tx: Tx, account: string, errors: readonly string[]): Promise<void> {
  if (errors.length === 0) return
  await tx.run(sql`
    update sync_documents set due_at = ${dbTime(tx)}, failures = 0, failing_since = null
    where account = ${account} and due_at is null and document_key in (
      select document_key from documents where account = ${account} and error in (${sql.join(errors)}))`)
}

/**
 * Makes these documents due, except documents that are being downloaded.
 * @returns the number of changed documents.
 */
export async function retryFetches(db: Db, account: string, keys: readonly string[]): Promise<number> {
  return await db.write('document-retry', async (tx) => {
    return await tx.run(sql`
      update sync_documents set due_at = ${dbTime(tx)}, refused_over_bytes = null
      where account = ${account} and lease_token is null and document_key in (${sql.join(keys)})`)
  })
}

/**
 * Counts failed documents that have no further attempt scheduled, by account and error. Only errors that begin with
 * `prefix` count. Returns the 100 most frequent errors. `since`: time of the first failure of these documents.
 */
export async function unfetchedBy(q: Query, prefix: string) {
  return await q.all(sql<{ account: string; error: string; count: number; since: TimeText | null }>`
    select d.account, d.error, count(*) as count, min(f.failing_since) as since
    from sync_documents f join documents d on d.account = f.account and d.document_key = f.document_key
    where f.due_at is null and f.failures > 0 and d.stored_at is null and d.gone_at is null and substr(d.error, 1, ${sql.lit(prefix.length)}) = ${prefix}
    group by d.account, d.error order by count(*) desc, d.account, d.error limit 100`)
}

/** @returns the total size in bytes of the stored files. If several documents share a file, it counts once. */
export async function storedBytes(q: Query): Promise<number> {
  return await q.count(sql<{ bytes: number | null }>`
    select sum(bytes) as bytes from (select max(stored_bytes) as bytes from documents where stored_path is not null group by stored_path) as files`)
}

/** @returns the given paths that belong to a document. */
export async function knownPaths(q: Query, paths: readonly string[]): Promise<Set<string>> {
  if (paths.length === 0) return new Set()
  const rows = await q.sql.selectFrom('documents').select('stored_path').distinct().where('stored_path', 'in', paths).execute()
  return new Set(rows.flatMap(({ stored_path }) => stored_path ?? []))
}
