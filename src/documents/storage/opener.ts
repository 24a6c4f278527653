import { type DocumentStorage, MissingDocument, StorageUnavailable } from './storage.ts'

/** A document in the database. */
interface Named {
  readonly account: string
  readonly documentKey: string
  readonly path: string
}

/** Finds a document's name and type, as the service gave them. Null if the document's row is gone. */
type MetadataOf = (document: Named) => Promise<{ readonly name: string | null; readonly contentType: string | null } | null>

/**
 * @returns a function that opens a document. Its result is null if the file or the row is missing. The function and
 * `open` throw StorageUnavailable if the storage can't be read now.
 */
export function documentOpener(storage: DocumentStorage, metadataOf: MetadataOf) {
  return async (document: Named) => {
    const [bytes, metadata] = [await storage.size(document.path), await metadataOf(document)]
    return bytes === null || metadata === null ? null : { ...metadata, bytes, open: () => storage.read(document.path).catch(disappeared) }
  }
}

/** The file existed a moment ago, so the caller may retry. The retry finds that the file is missing. */
function disappeared(error: unknown): never {
  throw error instanceof MissingDocument ? new StorageUnavailable(error.message, { cause: error }) : error
}
