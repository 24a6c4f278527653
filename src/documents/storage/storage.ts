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

/** Where documents' bytes are kept: a folder or a bucket. Whatever it has under a final path is whole and durable. */
export interface DocumentStorage {
  /**
   * Takes a document in, hashed and checked on the way. When it resolves, the bytes are durable under `path`; when it rejects, or the
   * process dies, nothing new is under any path, and what is left half done is removed by `sweep`.
   * @throws RefusedDocument when the bytes are not what was expected (they are not kept).
   * @throws Error when the disk or the bucket does not take them.
   */
  keep(body: AsyncIterable<Uint8Array>, expected: Expected): Promise<StoredDocument>
  /** The bytes under a path. @throws MissingDocument when there are none. */
  read(path: string): Promise<Readable>
  /** Removes what lies under a path; nothing when there is none. */
  remove(path: string): Promise<void>
  /**
   * Removes what a crash left: half-written files, and files that `known` does not name (asked in batches of paths, answered with those known).
   * @returns how many were removed.
   */
  sweep(known: (paths: readonly string[]) => Promise<ReadonlySet<string>>): Promise<number>
  /** The paths of all documents kept, in no order. */
  paths(): AsyncIterable<string>
}
