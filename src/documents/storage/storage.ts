import type { Readable } from 'node:stream'

/** What is kept of a document. */
export interface StoredDocument {
  /** Lower-case hex. Its content's name: two documents with the same bytes are one file. */
  readonly sha256: string
  readonly bytes: number
  /** Where it lies, relative to the folder or the bucket: `<first two hex>/<sha256>`. */
  readonly path: string
}

/** What must be true of a document's bytes, else it is not kept. */
export interface Expected {
  /** Its longest allowed length, in bytes. */
  readonly maxBytes: number
  /** Its length as the answer promised it; null when nothing was said. */
  readonly bytes: number | null
  /** Whether a PDF was promised: its first bytes are then `%PDF-`. */
  readonly isPdf: boolean
}

/** Which of some paths the database knows. */
export type KnownPaths = (paths: readonly string[]) => Promise<ReadonlySet<string>>

/**
 * Where documents' bytes are kept: a folder or a bucket. Whatever it has under a final path is whole and durable.
 * Every method throws StorageUnavailable when the disk or the bucket does not answer or refuses; the sentence says what to do.
 */
export interface DocumentStorage {
  /** The place, for messages: `the folder /data/documents`. */
  readonly place: string
  /**
   * Takes a document in, hashed and checked on the way. When it resolves, the bytes are durable under `path`; when it rejects, or the
   * process dies, nothing new is under any path, and what is left half done is removed by `sweep`. It must be recorded within `SPARED_MS`.
   * @throws RefusedDocument when the bytes are not what was expected (they are not kept); what `body` throws.
   */
  keep(body: AsyncIterable<Uint8Array>, expected: Expected): Promise<StoredDocument>
  /** The bytes under a path. @throws MissingDocument when there are none. */
  read(path: string): Promise<Readable>
  /** @returns the length of what is kept under a path, in bytes; null when there is nothing. */
  size(path: string): Promise<number | null>
  /** Removes what lies under a path; nothing when there is none. */
  remove(path: string): Promise<void>
  /**
   * Removes what a crash left: half-written files, and documents that the database does not know (asked in batches). What was written within
   * `SPARED_MS` stays: another process may be about to record it. Files of others in the folder stay.
   * @returns how many were removed.
   */
  sweep(known: KnownPaths): Promise<number>
  /** The paths of all documents kept, in no order. */
  paths(): AsyncIterable<string>
  /** @returns the mirror whose documents lie there, by its first log epoch; null when nobody took the place. */
  owner(): Promise<string | null>
  /** Takes the place for a mirror. */
  takeFor(mirror: string): Promise<void>
  /** Writes a few bytes, reads them back and removes them. */
  check(): Promise<void>
}

/** Age below which `sweep` leaves a file alone. Much longer than a document may take from its first byte until it is recorded. */
export const SPARED_MS = 60 * 60_000

const PATH = /^([0-9a-f]{2})\/\1[0-9a-f]{62}$/

/** @returns where a document lies, relative to the folder or the bucket. @param sha256 lower-case hex. */
export function pathOf(sha256: string): string {
  return `${sha256.slice(0, 2)}/${sha256}`
}

/** Whether a text is the path of a document. No other path is ever read, written or removed. */
export function isDocumentPath(path: string): boolean {
  return PATH.test(path)
}
