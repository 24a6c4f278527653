import type { DocumentStorage } from './storage.ts'

/** The file in the folder, or the object in the bucket, that names the mirror whose documents lie there: its first log epoch. */
export const OWNER = 'mirror-of-documents.txt'

/**
 * Whether a place is for the documents of another mirror, so that what this one does not know is no leftover.
 * @param mirror its first log epoch. @returns a sentence that says what to do; null when the place is nobody's or its own.
 * @throws StorageUnavailable
 */
export async function foreignDocuments(storage: DocumentStorage, mirror: string): Promise<string | null> {
  const owner = await storage.owner()
  if (owner === null || owner === mirror) return null
  const found = `${storage.place} is for the documents of another mirror (${OWNER} there names ${owner}, and this one is ${mirror})`
  return `${found}: check DATABASE_URL, set DOCUMENTS_DIR or the prefix in the bucket to another place, or, where the other mirror is given up, remove that file`
}
