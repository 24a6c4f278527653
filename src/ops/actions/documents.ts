import type { Readable } from 'node:stream'
import { MissingDocument } from '../../documents/storage/errors.ts'
import type { DocumentStorage } from '../../documents/storage/storage.ts'
import { findDocuments } from '../../store/mirror/documents.ts'
import { auditAction } from '../../store/operators/actions.ts'
import type { DocumentIndexView } from '../../store/schema/documents.ts'
import { ConflictError, NotFoundError } from '../output/refusals.ts'
import type { ActionContext } from './context.ts'

/** A stored document that is handed out. */
export interface OpenDocument {
  readonly row: DocumentIndexView
  readonly bytes: Readable
}

/**
 * Opens a stored document, with a note of who took it.
 * @param account needed when several accounts have a document of that key.
 * @throws NotFoundError when there is none, ConflictError when its file is not stored, or lost.
 */
export async function openDocument(a: ActionContext, storage: DocumentStorage, key: string, account?: string): Promise<OpenDocument> {
  const found = await findDocuments(a.db.read, key, account)
  const [row] = found
  if (row === undefined) throw new NotFoundError([`there is no document ${key}${account === undefined ? '' : ` of account ${account}`}`])
  if (found.length > 1)
    throw new ConflictError([`several accounts have a document ${key}: ${found.map((each) => each.account).join(', ')}; name one`])
  const { stored_path } = row
  if (stored_path === null) throw new ConflictError([`document ${key} is not stored: ${row.error ?? 'it waits to be fetched'}`])
  const detail = { account: row.account, submission_id: row.submission_id, sha256: row.sha256 }
  return await auditAction(a.db, { who: a.who, action: 'document.get', target: key, detail }, async () => {
    const bytes = await storage.read(stored_path).catch((error: unknown) => {
      if (!(error instanceof MissingDocument)) throw error
      throw new ConflictError([`${error.message}; \`document check --repair\` has it fetched again`])
    })
    return { row, bytes, detail: { bytes: row.stored_bytes } }
  })
}

/** A name for the file of a document that no system misreads. */
export function fileNameOf({ name, document_key }: Pick<DocumentIndexView, 'name' | 'document_key'>): string {
  const safe = (name ?? '')
    .replace(/[^\p{L}\p{N} ._()-]+/gu, '_')
    .replace(/^[. ]+/, '')
    .slice(0, 120)
  return safe === '' ? document_key : safe
}
