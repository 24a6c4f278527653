import type { Readable } from 'node:stream'
import { inApplyTransaction } from '../../apply/apply.ts'
import { pagesOf } from '../../base/paged.ts'
import { type DocumentStorage, MissingDocument } from '../../documents/storage/storage.ts'
import type { DocumentObservation } from '../../model/observations.ts'
import { timeFromMs } from '../../model/time.ts'
import { type DocumentFilter, findDocuments, listDocuments } from '../../store/mirror/documents.ts'
import { auditAction } from '../../store/operators/actions.ts'
import { retryFetches } from '../../store/reads/fetches.ts'
import type { DocumentIndexView } from '../../store/schema/documents.ts'
import { ConflictError, NotFoundError } from '../output/refusals.ts'
import { type ActionContext, idsForAudit } from './context.ts'

interface OpenDocument {
  readonly row: DocumentIndexView
  readonly bytes: Readable
}

/**
 * Opens a stored document and records in the audit trail who read it.
 * @param account required if several accounts have a document with this key.
 * @throws NotFoundError if the document does not exist.
 * @throws ConflictError if several accounts have the document, or if its file is not stored.
 */
export async function openDocument(a: ActionContext, storage: DocumentStorage, key: string, account?: string): Promise<OpenDocument> {
  const found = await findDocuments(a.db.read, key, account)
  const [row] = found
  if (row === undefined) throw new NotFoundError([`document ${key} does not exist${account === undefined ? '' : ` in account ${account}`}`])
  if (found.length > 1)
    throw new ConflictError([`several accounts have document ${key}: ${found.map((each) => each.account).join(', ')}. Name one`])
  const { stored_path } = row
  if (stored_path === null) throw new ConflictError([`document ${key} is not stored: ${row.error ?? 'it has not been fetched yet'}`])
  const detail = { account: row.account, submission_id: row.submission_id, sha256: row.sha256 }
  return await auditAction(a.db, { who: a.who, action: 'document.get', target: key, detail }, async () => {
    const bytes = await storage.read(stored_path).catch((error: unknown) => {
      if (!(error instanceof MissingDocument)) throw error
      throw new ConflictError([`${error.message}; \`document check --repair\` fetches it again`])
    })
    return { row, bytes, detail: { bytes: row.stored_bytes } }
  })
}

/** @returns a safe file name for a document, of at most 120 characters; the key if the document has no usable name. */
export function fileNameOf({ name, document_key }: Pick<DocumentIndexView, 'name' | 'document_key'>): string {
  const safe = (name ?? '')
    .replace(/[^\p{L}\p{N} ._()-]+/gu, '_')
    .replace(/^[. ]+/, '')
    .slice(0, 120)
  return safe === '' ? document_key : safe
}

/** Documents per page. A larger page would delay a running `serve`. */
const PAGE = 200
const PARALLEL_CHECKS = 16

function documentPages({ db, signal }: ActionContext, filter: DocumentFilter): AsyncGenerator<readonly DocumentIndexView[]> {
  return pagesOf(PAGE, async (last?: DocumentIndexView) => {
    signal.throwIfAborted()
    return await listDocuments(db.read, { ...filter, after: last && { key: last.document_key, account: last.account } }, PAGE)
  })
}

/**
 * Schedules an immediate retry of failed documents.
 * @param keys documents to retry; undefined for all failed documents.
 * @param account undefined for all accounts.
 * @returns the number of scheduled documents.
 */
export async function retryDocuments(a: ActionContext, keys: readonly string[] | undefined, account: string | undefined): Promise<number> {
  const note = { who: a.who, action: 'document.retry', target: account ?? null, detail: keys === undefined ? {} : idsForAudit(keys) }
  const { changed } = await auditAction(a.db, note, async () => {
    let changed = 0
    for await (const page of documentPages(a, { state: 'failed', account })) {
      const chosen = page.filter(({ document_key }) => keys?.includes(document_key) ?? true)
      for (const [of, documents] of Map.groupBy(chosen, (document) => document.account)) {
        const found = documents.map(({ document_key }) => document_key)
        changed += await retryFetches(a.db, of, found)
      }
    }
    return { changed, detail: { changed } }
  })
  return changed
}

type LostDocument = NonNullable<Awaited<ReturnType<typeof lostFileOf>>>

/**
 * Checks that the file of each stored document exists and has the stored length. Does not compare the content.
 * @returns `looked`, the number of checked documents, and `lost`, the documents without a correct file.
 * @throws StorageUnavailable if the folder or bucket does not answer, AbortError if the command is stopped.
 */
export async function checkDocumentFiles(a: ActionContext, storage: DocumentStorage) {
  const lost: LostDocument[] = []
  let looked = 0
  for await (const page of documentPages(a, { state: 'stored' })) {
    for (let from = 0; from < page.length; from += PARALLEL_CHECKS) {
      a.signal.throwIfAborted()
      const found = await Promise.all(page.slice(from, from + PARALLEL_CHECKS).map((document) => lostFileOf(storage, document)))
      lost.push(...found.filter((each) => each !== null))
    }
    looked += page.length
  }
  return { looked, lost }
}

/** @returns the document if its file is missing or has a wrong length, else null. */
async function lostFileOf(storage: DocumentStorage, document: DocumentIndexView) {
  const { account, document_key, submission_id, name, stored_path, stored_bytes } = document
  if (stored_path === null) return null
  const found_bytes = await storage.size(stored_path)
  return found_bytes === stored_bytes ? null : { account, document_key, submission_id, name, stored_path, stored_bytes, found_bytes }
}

/** Records that the files were lost. A running `serve` then fetches the documents again. */
export async function fetchAgain(a: ActionContext, lost: readonly LostDocument[]): Promise<void> {
  const { db, clock, observer, who } = a
  const detail = { documents: lost.length }
  await auditAction(db, { who, action: 'document.check', target: 'lost', detail }, async () => {
    for (const { account, document_key, submission_id } of lost) {
      const about = { account, submissionId: submission_id ?? '', documentKey: document_key, triedAt: timeFromMs(clock.now()) }
      const observation: DocumentObservation = {
        kind: 'document',
        cause: 'reconcile',
        ...about,
        stored: null,
        error: 'its file was lost',
        isLost: true,
      }
      await inApplyTransaction(db, observer, 'document-failed', ({ apply }) => apply([observation]))
    }
    return { detail }
  })
}
