import type { Readable } from 'node:stream'
import { MissingDocument, StorageUnavailable } from './errors.ts'
import type { DocumentStorage } from './storage.ts'

/** @returns a function that looks for a document; null when it is missing. All throw StorageUnavailable when the storage cannot be read now. */
export function documentOpener(storage: DocumentStorage) {
  return async (path: string): Promise<{ readonly bytes: number; open(): Promise<Readable> } | null> => {
    const bytes = await storage.size(path)
    return bytes === null ? null : { bytes, open: () => storage.read(path).catch(disappeared) }
  }
}

/** It was there a moment ago: the next attempt finds it missing. */
function disappeared(error: unknown): never {
  throw error instanceof MissingDocument ? new StorageUnavailable(error.message, { cause: error }) : error
}
