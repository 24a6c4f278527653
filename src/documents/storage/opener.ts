import { type DocumentStorage, MissingDocument, StorageUnavailable } from './storage.ts'

/** A document's database record. */
interface Named {
  readonly account: string
  readonly documentKey: string
  readonly path: string
}

/** A document's name and type, from the service. */
type MetadataOf = (document: Named) => Promise<{ readonly name: string | null; readonly contentType: string | null } | null>

/**
 * @param metadataOf null if the document's row is gone. @returns a function that opens a document; null if missing. Both throw
 * StorageUnavailable if the storage can't be read now.
 */
export function documentOpener(storage: DocumentStorage, metadataOf: MetadataOf) {
  return async (document: Named) => {
    const [bytes, metadata] = [await storage.size(document.path), await metadataOf(document)]
    return bytes === null || metadata === null ? null : { ...metadata, bytes, open: () => storage.read(document.path).catch(disappeared) }
  }
}

/** The file existed a moment ago. A retry finds it missing. */
function disappeared(error: unknown): never {
  throw error instanceof MissingDocument ? new StorageUnavailable(error.message, { cause: error }) : error
}
