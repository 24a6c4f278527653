import { type DocumentStorage, MissingDocument, StorageUnavailable } from './storage.ts'

/** A document in the database. */
interface Named {
  readonly account: string
  readonly documentKey: string
  readonly path: string
}

/** Name and type of a document, from the service. */
type MetadataOf = (document: Named) => Promise<{ readonly name: string | null; readonly contentType: string | null } | null>

/**
 * @param metadataOf null if the document's row is gone. @returns a function that opens a document, or gives null if it is missing. All
 * throw StorageUnavailable if the storage can't be read now.
 */
export function documentOpener(storage: DocumentStorage, metadataOf: MetadataOf) {
  return async (document: Named) => {
    const [bytes, metadata] = [await storage.size(document.path), await metadataOf(document)]
    return bytes === null || metadata === null ? null : { ...metadata, bytes, open: () => storage.read(document.path).catch(disappeared) }
  }
}

/** It existed a moment ago: the next attempt finds it missing. */
function disappeared(error: unknown): never {
  throw error instanceof MissingDocument ? new StorageUnavailable(error.message, { cause: error }) : error
}
