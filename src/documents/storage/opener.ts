import { type DocumentStorage, MissingDocument, StorageUnavailable } from './storage.ts'

/** A document in the database. */
interface Named {
  readonly account: string
  readonly documentKey: string
  readonly path: string
}

/** Reads a document's name and media type, as the service gave them. Null if the document's row is gone. */
type MetadataOf = (document: Named) => Promise<{ readonly name: string | null; readonly contentType: string | null } | null>

/**
 * @returns a function that looks up a document. The function returns null if the document's file or row is missing. The
 * function, and the `open` in its result, throw StorageUnavailable if the storage can't be read now.
 */
export function documentOpener(storage: DocumentStorage, metadataOf: MetadataOf) {
  return async (document: Named) => {
    const [bytes, metadata] = [await storage.size(document.path), await metadataOf(document)]
    return bytes === null || metadata === null ? null : { ...metadata, bytes, open: () => storage.read(document.path).catch(disappeared) }
  }
}

/**
 * Replaces MissingDocument with StorageUnavailable, so that callers retry the lookup. If the file is still missing, the
 * second lookup returns null. Throws other errors unchanged.
 */
function disappeared(error: unknown): never {
  throw error instanceof MissingDocument ? new StorageUnavailable(error.message, { cause: error }) : error
}
