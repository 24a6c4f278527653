import type { Readable } from 'node:stream'
import type { Row } from '../../model/entity.ts'
import type { QueuedChange } from '../../store/outbox/rows.ts'

/** A complete stored document. */
export interface OpenedDocument {
  readonly bytes: number
  /** File name from the service. Personal data. */
  readonly name: string | null
  readonly contentType: string | null
  /** Opens a new stream. @throws TransientError if the document can't be read now. */
  open(): Promise<Readable>
}

/**
 * Opens a stored document.
 * @returns null if the document is no longer stored.
 * @throws TransientError if the document can't be read now.
 */
export type OpenDocument = (document: AttachedDocument) => Promise<OpenedDocument | null>

interface StoringChange extends Pick<QueuedChange, 'account' | 'submissionId' | 'entity' | 'entityId' | 'operation'> {
  readonly after: Row | null
  readonly leftFilter: boolean
}

/** A stored document file whose path is in a change (`stored_path`). */
export interface AttachedDocument {
  readonly path: string
  /** Lower-case hex. */
  readonly sha256: string
  readonly account: string
  readonly submissionId: string | null
  readonly documentKey: string
}

/**
 * @returns the document file whose path is in the change (`stored_path`). Null if the change has no path, or if the
 * record no longer passes the destination's `filter`.
 */
export function attachedDocument(change: StoringChange): AttachedDocument | null {
  const { entity, entityId, operation, account, submissionId, after, leftFilter } = change
  if (leftFilter || entity !== 'documents' || (operation !== 'insert' && operation !== 'update')) return null
  const path = after?.['stored_path']
  if (typeof path !== 'string') return null
  const [documentKey] = JSON.parse(entityId) as readonly unknown[]
  return { path, sha256: path.slice(3), account, submissionId: submissionId === '' ? null : submissionId, documentKey: String(documentKey) }
}
