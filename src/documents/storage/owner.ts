import { foreignOwner } from '../../base/owner-file.ts'

/** The file in the folder, or the object in the bucket, that names the mirror whose documents lie there: its first log epoch. */
export const OWNER = 'mirror-of-documents.txt'

/**
 * Whether a place is for the documents of another mirror, so that what this one does not know is no leftover.
 * @param place in a sentence. @param mirror its first log epoch. @returns a sentence that says what to do; null when it is nobody's or its own.
 */
export function foreignDocuments(place: string, of: { readonly owner: string | null; readonly mirror: string }): string | null {
  const found = foreignOwner(place, 'documents', OWNER, of)
  if (found === null) return null
  return `${found}: check DATABASE_URL, set DOCUMENTS_DIR or the prefix in the bucket to another place, or, where the other mirror is given up, remove that file`
}
