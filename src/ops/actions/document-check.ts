import { inApplyTransaction } from '../../apply/apply.ts'
import type { DocumentStorage } from '../../documents/storage/storage.ts'
import type { DocumentFact } from '../../model/facts.ts'
import { timeFromMs } from '../../model/time.ts'
import { type DocumentFilter, listDocuments } from '../../store/mirror/documents.ts'
import { auditAction } from '../../store/operators/actions.ts'
import type { DocumentIndexView } from '../../store/schema/documents.ts'
import type { ActionContext } from './context.ts'

const PAGE = 500
/** Files that are looked at together. */
const AT_ONCE = 16

type LostDocument = NonNullable<Awaited<ReturnType<typeof lookFor>>>

/**
 * Looks for the file of each stored document, by its length. Files that a program damaged without changing their length are not found: that
 * takes reading them all.
 * @throws StorageUnavailable when the folder or bucket cannot be asked; AbortError when the command is stopped.
 */
export async function checkDocumentFiles({ db, signal }: ActionContext, storage: DocumentStorage) {
  const lost: LostDocument[] = []
  let looked = 0
  let after: DocumentFilter['after']
  for (;;) {
    const page = await listDocuments(db.read, { state: 'stored', after }, PAGE)
    for (let from = 0; from < page.length; from += AT_ONCE) {
      signal.throwIfAborted()
      const found = await Promise.all(page.slice(from, from + AT_ONCE).map((document) => lookFor(storage, document)))
      lost.push(...found.filter((each) => each !== null))
    }
    looked += page.length
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return { looked, lost }
    after = { key: last.document_key, account: last.account }
  }
}

/** Records that the files are lost, so that a running `serve` fetches them again. */
export async function fetchAgain(a: ActionContext, lost: readonly LostDocument[]): Promise<void> {
  const { db, clock, observer, who } = a
  const detail = { documents: lost.length }
  await auditAction(db, { who, action: 'document.check', target: 'lost', detail }, async () => {
    for (const { account, document_key, submission_id } of lost) {
      const about = { account, submissionId: submission_id ?? '', documentKey: document_key, triedAt: timeFromMs(clock.now()) }
      const fact: DocumentFact = { kind: 'document', cause: 'reconcile', ...about, stored: null, error: 'its file was lost', isLost: true }
      await inApplyTransaction(db, observer, 'document-failed', ({ apply }) => apply([fact]))
    }
    return { detail }
  })
}

/** A document whose row says that its file is stored, which it is not; null when it is. */
async function lookFor(storage: DocumentStorage, document: DocumentIndexView) {
  const { account, document_key, submission_id, name, stored_path, stored_bytes } = document
  if (stored_path === null) return null
  const found_bytes = await storage.size(stored_path)
  return found_bytes === stored_bytes ? null : { account, document_key, submission_id, name, stored_path, stored_bytes, found_bytes }
}
