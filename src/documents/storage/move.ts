import { MissingDocument, RefusedDocument } from './errors.ts'
import type { DocumentStorage } from './storage.ts'

/** A document as the database has it. */
interface Named {
  readonly path: string
  readonly bytes: number
}

export interface Moved {
  /** How many files the database names. */
  readonly files: number
  readonly bytes: number
  /** How many were copied now; the others were there already. */
  readonly copied: number
  /** Paths of files that are missing, or are not what their name says. */
  readonly faulty: readonly string[]
}

/** How many faulty paths are told. */
const MAX_FAULTY = 100

/**
 * Copies documents into another storage, each checked against its hash and length. What is there already with its length is left as it is, for
 * nothing is under its final path before it is whole; so an interrupted copy goes on where it was.
 * @param to null: nothing is copied, and each file of `from` is only looked for.
 * @throws StorageUnavailable when a storage cannot be read or written.
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

/** @returns false when the document is missing, or has other bytes than its name says. */
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
