import { type DocumentStorage, MissingDocument, RefusedDocument } from './storage.ts'

/** A document in the database. */
interface Named {
  readonly path: string
  readonly bytes: number
}

export interface Moved {
  /** Number of documents that the database lists. */
  readonly files: number
  readonly bytes: number
  /** Number of files that this run copied. */
  readonly copied: number
  /** Paths of files that are missing or don't match their hash or length; at most 100. */
  readonly faulty: readonly string[]
}

const MAX_FAULTY = 100

/**
 * Copies documents into another storage, and checks the hash and length of each. Skips a document that the other
 * storage already has with the same length, because a stored file is always complete. An interrupted move can therefore
 * be run again.
 * @param to the other storage. Null copies nothing, and only checks that `from` has each file with its length.
 * @throws StorageUnavailable if a storage can't be read or written.
 */
export async function moveDocuments(
  documents: AsyncIterable<Named>,
  from: DocumentStorage,
  to: DocumentStorage | null,
  signal: AbortSignal,
): Promise<Moved> {
  const faulty: string[] = []
  let [files, bytes, copied] = [0, 0, 0]
  for await (const document of documents) {
    signal.throwIfAborted()
    files += 1
    bytes += document.bytes
    if ((await (to ?? from).size(document.path)) === document.bytes) continue
    if (to !== null && (await isCopied(document, from, to))) copied += 1
    else if (faulty.length < MAX_FAULTY) faulty.push(document.path)
  }
  return { files, bytes, copied, faulty }
}

/**
 * Copies a document. Removes the copy if the hash differs.
 * @returns false if the document is missing in `from`, or doesn't match its hash or length.
 */
async function isCopied({ path, bytes }: Named, from: DocumentStorage, to: DocumentStorage): Promise<boolean> {
  try {
    const kept = await to.keep(await from.read(path), { maxBytes: bytes, bytes, isPdf: false })
    if (kept.path === path) return true
    await to.remove(kept.path)
    return false
  } catch (error) {
    if (error instanceof MissingDocument || error instanceof RefusedDocument) return false
    throw error
  }
}
