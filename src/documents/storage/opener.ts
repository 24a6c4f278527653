import type { Readable } from 'node:stream'
import { MissingDocument } from './errors.ts'
import type { DocumentStorage } from './storage.ts'

/** @returns a function that opens a document, with its length; null when it is missing. It throws StorageUnavailable when it cannot be read now. */
export function documentOpener(storage: DocumentStorage) {
  return async (path: string): Promise<{ readonly bytes: number; readonly body: Readable } | null> => {
    try {
      const bytes = await storage.size(path)
      return bytes === null ? null : { bytes, body: await storage.read(path) }
    } catch (error) {
      if (error instanceof MissingDocument) return null
      throw error
    }
  }
}
