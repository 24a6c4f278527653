import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createFile, type OnDisk, syncFolder } from '../../base/durable-file.ts'
import { codeOf, messageOf } from '../../base/errors.ts'
import { type Expected, pathOf, RefusedDocument, StorageUnavailable, type StoredDocument, TooLongDocument } from './storage.ts'
import { removeTemporaries, TEMPORARY } from './sweep-folder.ts'

/** Keeps each document in a temporary file until the document is complete. Creates the folder if it is missing. */
export class Spool {
  readonly onDisk: OnDisk
  readonly #folder: string
  /** Options for creating files that only this user can read. */
  readonly #own: { readonly mode: number; readonly onDisk: OnDisk }

  /** @param folder absolute path. */
  constructor(folder: string) {
    this.#folder = folder
    this.onDisk = (call) =>
      call.catch((error: unknown) => {
        throw diskError(folder, error)
      })
    this.#own = { mode: 0o600, onDisk: this.onDisk }
  }

  /**
   * Writes a document to a durable temporary file, checks it, passes the file to `done`, and removes the file. If this
   * process is killed before the removal, a sweep removes the file later.
   * @param done moves or copies the file to its final path.
   */
  async spooled(
    body: AsyncIterable<Uint8Array>,
    expected: Expected,
    done: (file: string, stored: StoredDocument) => Promise<void>,
  ): Promise<StoredDocument> {
    await this.onDisk(makeFolder(this.#folder))
    const file = this.#temporary()
    try {
      const checked = new CheckedBody(body, expected)
      await createFile(file, checked.chunks(), this.#own)
      const stored = checked.stored()
      await done(file, stored)
      return stored
    } finally {
      // Ignore an error of this removal, because it would hide the original error. A sweep removes the file later.
      await rm(file, { force: true }).catch(() => {})
    }
  }

  /**
   * Removes temporary files that killed processes left.
   * @returns the number of removed files.
   */
  async sweep(): Promise<number> {
    return await removeTemporaries(this.#folder, { nowMs: await this.check(), onDisk: this.onDisk })
  }

  /**
   * Tests the folder: writes, reads, and removes a temporary file.
   * @returns the current time in ms since the epoch, by the clock of the file system, which may be on another machine.
   */
  async check(): Promise<number> {
    await this.onDisk(makeFolder(this.#folder))
    const file = this.#temporary()
    try {
      await createFile(file, probe(), this.#own)
      const text = await this.onDisk(readFile(file, 'utf8'))
      if (text !== 'probe') throw new StorageUnavailable(`${this.#folder} returns other bytes than were written: check its disk`)
      return (await this.onDisk(stat(file))).mtimeMs
    } finally {
      await rm(file, { force: true }).catch(() => {})
    }
  }

  #temporary(): string {
    return join(this.#folder, `${TEMPORARY}${randomUUID()}`)
  }
}

async function* probe(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('probe')
}

const PDF = Buffer.from('%PDF-')

/** Counts and hashes the bytes of a document, and checks them against the expected length and type. */
class CheckedBody {
  readonly #body: AsyncIterable<Uint8Array>
  readonly #expected: Expected
  readonly #hash = createHash('sha256')
  #bytes = 0
  #head = Buffer.alloc(0)

  constructor(body: AsyncIterable<Uint8Array>, expected: Expected) {
    this.#body = body
    this.#expected = expected
  }

  /**
   * Passes the body's chunks on, and checks them.
   * @throws RefusedDocument if the body is longer than expected, or should be a PDF and doesn't begin like one.
   */
  async *chunks(): AsyncGenerator<Uint8Array> {
    const { maxBytes, bytes, isPdf } = this.#expected
    if (bytes !== null && bytes > maxBytes) throw tooLong(`${bytes} bytes`, maxBytes)
    for await (const chunk of this.#body) {
      this.#bytes += chunk.length
      if (this.#bytes > maxBytes) throw tooLong(`more than ${maxBytes} bytes`, maxBytes)
      if (bytes !== null && this.#bytes > bytes) throw new RefusedDocument(`the answer is longer than the ${bytes} bytes that it declared`)
      if (isPdf && this.#head.length < PDF.length) this.#look(chunk)
      this.#hash.update(chunk)
      yield chunk
    }
  }

  /**
   * Finishes the check. Call this after the last chunk.
   * @throws RefusedDocument if the body is empty, shorter than expected, or too short for a PDF.
   */
  stored(): StoredDocument {
    const { bytes, isPdf } = this.#expected
    if (bytes !== null && this.#bytes !== bytes) {
      throw new RefusedDocument(`the answer ended after ${this.#bytes} of the ${bytes} bytes that it declared`)
    }
    if (this.#bytes === 0) throw new RefusedDocument('the answer is empty')
    if (isPdf && this.#head.length < PDF.length) throw notPdf(this.#head)
    const sha256 = this.#hash.digest('hex')
    return { sha256, bytes: this.#bytes, path: pathOf(sha256) }
  }

  #look(chunk: Uint8Array): void {
    this.#head = Buffer.concat([this.#head, chunk.subarray(0, PDF.length - this.#head.length)])
    if (!PDF.subarray(0, this.#head.length).equals(this.#head)) throw notPdf(this.#head)
  }
}

function tooLong(length: string, maxBytes: number): TooLongDocument {
  return new TooLongDocument(
    `the document has ${length}, but at most ${maxBytes} bytes are allowed; raise DOCUMENTS_MAX_BYTES to fetch the document`,
  )
}

/** @returns the error that the answer isn't a PDF. Shows the first bytes in hex, because they may not be text. */
function notPdf(head: Buffer): RefusedDocument {
  return new RefusedDocument(`the answer is declared as a PDF, but does not begin with %PDF- (its first bytes are ${head.toString('hex')})`)
}

/** Creates a folder and its missing parents. All of them are durable when the promise resolves. */
export async function makeFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let made = path; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made))
}

const RIGHTS = (path: string) => `no permission to write in ${path}: let the user of this process create, rename and remove files there`

const SENTENCES: Readonly<Record<string, (path: string) => string>> = {
  EACCES: RIGHTS,
  EPERM: RIGHTS,
  EROFS: (path) => `${path} is read-only: mount it writable, or name another folder in DOCUMENTS_DIR`,
  ENOSPC: (path) => `the disk of ${path} is full: free space there, or move the folder and name it in DOCUMENTS_DIR`,
  EDQUOT: (path) => `the disk quota of ${path} is used up: raise it, or move the folder and name it in DOCUMENTS_DIR`,
  EFBIG: (path) => `a file in ${path} may not be that large: raise the limit of file sizes of this process (ulimit -f)`,
  ENOTDIR: (path) => `${path} is not a folder: name a folder in DOCUMENTS_DIR`,
  EEXIST: (path) => `${path} is not a folder: name a folder in DOCUMENTS_DIR`,
  ENOENT: (path) => `the folder ${path} disappeared: mount its disk again`,
  EIO: (path) => `the disk of ${path} fails (EIO): check it, then restart`,
}

/** @returns an error that names the folder and says what to do. */
export function diskError(folder: string, error: unknown): StorageUnavailable {
  return new StorageUnavailable(SENTENCES[codeOf(error)]?.(folder) ?? `cannot keep documents in ${folder}: ${messageOf(error)}`, {
    cause: error,
  })
}
