import type { Readable } from 'node:stream'
import type { Row } from '../../model/entity.ts'
import type { QueuedChange } from '../../store/outbox/rows.ts'

/** A document that is kept, whole. */
export interface OpenedDocument {
  readonly bytes: number
  /** What the service says of it. The name is personal. */
  readonly name: string | null
  readonly contentType: string | null
  /** A new stream of its bytes each time. @throws TransientError when it cannot be read now. */
  open(): Promise<Readable>
}

/** Looks for a document. @returns null when it is not kept any more. @throws TransientError when it cannot be read now. */
export type OpenDocument = (document: AttachedDocument) => Promise<OpenedDocument | null>

/** What is looked at of a change. */
interface StoringChange extends Pick<QueuedChange, 'account' | 'submissionId' | 'entity' | 'entityId' | 'operation'> {
  readonly after: Row | null
  readonly leftFilter: boolean
}

/** The file that a change says was stored, whole. */
export interface AttachedDocument {
  readonly path: string
  /** Lower-case hex. */
  readonly sha256: string
  readonly account: string
  readonly submissionId: string | null
  readonly documentKey: string
}

/**
 * @returns the document that was stored by a change; null for every other change, for one that only tells of a document, and for one with
 * which the record ceases to pass the `filter` of the destination: its file is not for the receiver.
 */
export function attachedDocument(change: StoringChange): AttachedDocument | null {
  const { entity, entityId, operation, account, submissionId, after, leftFilter } = change
  if (leftFilter || entity !== 'documents' || (operation !== 'insert' && operation !== 'update')) return null
  const path = after?.['stored_path']
  if (typeof path !== 'string') return null
  const [documentKey] = JSON.parse(entityId) as readonly unknown[]
  return { path, sha256: path.slice(3), account, submissionId: submissionId === '' ? null : submissionId, documentKey: String(documentKey) }
}
