import type { Readable } from 'node:stream'
import { PermanentError, TransientError } from '../../base/errors.ts'
import { foreignOwner } from '../../base/owner-file.ts'

export interface StoredDocument {
  /** SHA-256 of the bytes in lower-case hex. Documents with the same bytes share one file. */
  readonly sha256: string
  readonly bytes: number
  /** Path in the folder or bucket: `<first two hex digits>/<sha256>`. */
  readonly path: string
}

/** Requirements for the bytes of a document. */
export interface Expected {
  readonly maxBytes: number
  /** Length in bytes that the answer announced; null if it announced none. */
  readonly bytes: number | null
  /** Whether the document should be a PDF. If so, it must begin with `%PDF-`. */
  readonly isPdf: boolean
}

/** @returns the given paths that belong to a document in the database. */
export type KnownPaths = (paths: readonly string[]) => Promise<ReadonlySet<string>>

/**
 * A folder or bucket for documents. A file under its final path is always complete and durable. Each method throws
 * StorageUnavailable if the disk or the bucket fails. The error's message says what to do.
 */
export interface DocumentStorage {
  /** Text for messages, such as `the folder /data/documents`. */
  readonly place: string
  /**
   * Hashes, checks, and stores a document. If the promise resolves, the bytes are durable under `path`. If the promise
   * rejects, `sweep` later removes what remains of the document. Insert the document's row within `SPARED_MS`.
   * Otherwise a sweep may remove the file.
   * @throws RefusedDocument if the bytes aren't as expected. Errors of `body`.
   */
  keep(body: AsyncIterable<Uint8Array>, expected: Expected): Promise<StoredDocument>
  /** @throws MissingDocument if the path doesn't exist. */
  read(path: string): Promise<Readable>
  /** @returns the size in bytes; null if the path doesn't exist. */
  size(path: string): Promise<number | null>
  /** Removes a file if it exists. */
  remove(path: string): Promise<void>
  /**
   * Removes unfinished files, and documents that aren't in the database. Keeps files younger than `SPARED_MS`, because
   * another process may be about to insert their rows. Keeps files whose names aren't paths of documents.
   * @returns the number of removed files.
   */
  sweep(known: KnownPaths): Promise<number>
  /** Lists the paths of all stored documents, in any order. */
  paths(): AsyncIterable<string>
  /** @returns the first log epoch of the mirror that owns this storage; null if no mirror owns it. */
  owner(): Promise<string | null>
  /**
   * Makes a mirror the owner of this storage.
   * @param mirror first log epoch of the mirror.
   */
  takeFor(mirror: string): Promise<void>
  /** Tests the storage: writes a few bytes, reads them back, and removes them. */
  check(): Promise<void>
}

/** `sweep` keeps files younger than this many ms. Fetching a document and inserting its row takes much less time. */
export const SPARED_MS = 60 * 60_000

const PATH = /^([0-9a-f]{2})\/\1[0-9a-f]{62}$/

/** Maximum number of paths in one database query. */
const BATCH = 500

/**
 * Removes documents that aren't in the database.
 * @param remove removes a document. Returns whether the document was removed.
 * @returns the number of removed documents.
 */
export async function removeUnknown(
  paths: AsyncIterable<string>,
  known: KnownPaths,
  remove: (path: string) => Promise<boolean>,
): Promise<number> {
  let removed = 0
  let batch: string[] = []
  const removeBatch = async (): Promise<void> => {
    const names = batch.length === 0 ? batch : await known(batch)
    const unknown = batch.filter((path) => !new Set(names).has(path))
    for (const path of unknown) if (await remove(path)) removed += 1
    batch = []
  }
  for await (const path of paths) if (batch.push(path) === BATCH) await removeBatch()
  await removeBatch()
  return removed
}

/** @param sha256 hash in lower-case hex. */
export function pathOf(sha256: string): string {
  return `${sha256.slice(0, 2)}/${sha256}`
}

/** @returns whether the text is the path of a document. No other path is read, written, or removed. */
export function isDocumentPath(path: string): boolean {
  return PATH.test(path)
}

/** The bytes weren't stored, because they aren't the expected document. The message says why. */
export class RefusedDocument extends PermanentError {}

export class TooLongDocument extends RefusedDocument {}

export class MissingDocument extends PermanentError {
  constructor(path: string, place: string, options?: ErrorOptions) {
    super(`the document ${path} is missing in ${place}`, options)
  }
}

/** The folder or bucket can't store or return documents now. The message names it and says what to do. */
export class StorageUnavailable extends TransientError {}

/** Name of the file or object that says which mirror owns the storage. Its content is that mirror's first log epoch. */
export const OWNER = 'mirror-of-documents.txt'

/**
 * Checks whether another mirror owns a storage. If so, documents that aren't in this mirror's database must be kept.
 * @param place text that names the storage in the message.
 * @param of `owner`: first log epoch of the owner. `mirror`: first log epoch of this mirror.
 * @returns a sentence that says what to do; null if this mirror or no mirror owns the storage.
 */
export function foreignDocuments(place: string, of: { readonly owner: string | null; readonly mirror: string }): string | null {
  const found = foreignOwner(place, 'documents', OWNER, of)
  if (found === null) return null
  return `${found}: check DATABASE_URL, or set DOCUMENTS_DIR or the prefix in the bucket to another place. If the other mirror is no longer used, remove that file`
}
