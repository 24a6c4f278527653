import type { Readable } from 'node:stream'
import { MissingDocument, StorageUnavailable } from './errors.ts'
import type { DocumentStorage } from './storage.ts'

/** A document as the database names it. */
interface Named {
  readonly account: string
  readonly documentKey: string
  readonly path: string
}

/** What the service says of a document. */
export interface DocumentMetadata {
  readonly name: string | null
  readonly contentType: string | null
}

/** What is kept of it, and what is said. */
export interface Opened extends DocumentMetadata {
  readonly bytes: number
  open(): Promise<Readable>
}

/**
 * @param metadataOf reads what the service says of a document; null when its row is gone.
 * @returns a function that looks for a document; null when it is missing. All throw StorageUnavailable when the storage cannot be read now.
 */
export function documentOpener(storage: DocumentStorage, metadataOf: (document: Named) => Promise<DocumentMetadata | null>) {
  return async (document: Named): Promise<Opened | null> => {
    const [bytes, words] = [await storage.size(document.path), await metadataOf(document)]
    if (bytes === null || words === null) return null
    const { name, contentType } = words
    return { bytes, name, contentType, open: () => storage.read(document.path).catch(disappeared) }
  }
}

/** It was there a moment ago: the next attempt finds it missing. */
function disappeared(error: unknown): never {
  throw error instanceof MissingDocument ? new StorageUnavailable(error.message, { cause: error }) : error
}
