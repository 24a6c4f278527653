import type { Readable } from 'node:stream'
import { PermanentError, TransientError } from '../../base/errors.ts'
import { foreignOwner } from '../../base/owner-file.ts'

export interface StoredDocument {
  /** Lower-case hex. Documents with the same bytes share one file. */
  readonly sha256: string
  readonly bytes: number
  /** Relative to the folder or the bucket: `<first two hex>/<sha256>`. */
  readonly path: string
}

/** Requirements on a document's bytes. */
export interface Expected {
  readonly maxBytes: number
  /** Announced length; null if missing. */
  readonly bytes: number | null
  /** Whether a PDF was promised, which must begin with `%PDF-`. */
  readonly isPdf: boolean
}

/** @returns those paths that the database knows. */
export type KnownPaths = (paths: readonly string[]) => Promise<ReadonlySet<string>>

/**
 * A folder or bucket for documents. Everything under a final path is complete and durable. Every method throws StorageUnavailable if the
 * disk or bucket fails; the message gives the fix.
 */
export interface DocumentStorage {
  /** For messages, e.g. `the folder /data/documents`. */
  readonly place: string
  /**
   * Hashes, checks and stores a document. After resolving, the bytes are durable under `path`. After rejecting, no path was added, and
   * `sweep` removes leftovers. Record the document within `SPARED_MS`. @throws RefusedDocument if the bytes aren't the expected ones;
   * errors of `body`.
   */
  keep(body: AsyncIterable<Uint8Array>, expected: Expected): Promise<StoredDocument>
  /** @throws MissingDocument if the path doesn't exist. */
  read(path: string): Promise<Readable>
  /** @returns size in bytes; null if the path doesn't exist. */
  size(path: string): Promise<number | null>
  /** Removes a path if it exists. */
  remove(path: string): Promise<void>
  /**
   * Removes half-written files, and documents that the database doesn't know. Leaves foreign files and files younger than `SPARED_MS`,
   * because another process may be about to record them. @returns the number of removed files.
   */
  sweep(known: KnownPaths): Promise<number>
  /** Paths of all documents, unordered. */
  paths(): AsyncIterable<string>
  /** @returns the first log epoch of the mirror that owns this storage; null if none. */
  owner(): Promise<string | null>
  /** Records `mirror` as the owner. */
  takeFor(mirror: string): Promise<void>
  /** Writes a few bytes, reads them back and removes them. */
  check(): Promise<void>
}

/** Minimum age of files that `sweep` removes. Much longer than the time from a document's first byte until it is recorded. */
export const SPARED_MS = 60 * 60_000

const PATH = /^([0-9a-f]{2})\/\1[0-9a-f]{62}$/

/** Maximum paths per query. */
const BATCH = 500

/** Removes the paths that the database doesn't know. @param remove returns whether it removed a document. @returns the number of documents. */
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

/** @param sha256 lower-case hex. */
export function pathOf(sha256: string): string {
  return `${sha256.slice(0, 2)}/${sha256}`
}

/** Only these paths are ever read, written or removed. */
export function isDocumentPath(path: string): boolean {
  return PATH.test(path)
}

/** The bytes aren't the promised document and aren't stored. The message gives the reason. */
export class RefusedDocument extends PermanentError {}

export class TooLongDocument extends RefusedDocument {}

export class MissingDocument extends PermanentError {
  constructor(path: string, place: string, options?: ErrorOptions) {
    super(`the document ${path} is missing in ${place}`, options)
  }
}

/** The folder or bucket can't store or return documents now. The message names both it and the fix. */
export class StorageUnavailable extends TransientError {}

/** The file or object with the first log epoch of the mirror that owns the folder or bucket. */
export const OWNER = 'mirror-of-documents.txt'

/**
 * Whether another mirror owns a storage, so that unknown documents must stay. @param place for the message. @param of `mirror`: this
 * mirror's first log epoch. @returns a sentence with the fix; null if unowned or owned by this mirror.
 */
export function foreignDocuments(place: string, of: { readonly owner: string | null; readonly mirror: string }): string | null {
  const found = foreignOwner(place, 'documents', OWNER, of)
  if (found === null) return null
  return `${found}: check DATABASE_URL, set DOCUMENTS_DIR or the prefix in the bucket to another place, or, if the other mirror is no longer used, remove that file`
}
