import { randomUUID } from 'node:crypto'
import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createFile, type OnDisk } from '../../base/durable-file.ts'
import { CheckedBody } from './checked.ts'
import { diskError, makeFolder } from './durable.ts'
import { StorageUnavailable } from './errors.ts'
import type { Expected, StoredDocument } from './storage.ts'
import { removeTemporaries, TEMPORARY } from './sweep-folder.ts'

/** Temporary files in a folder, created when it does not exist: documents of which not every byte is there and checked yet. */
export class Spool {
  readonly onDisk: OnDisk
  readonly #folder: string
  /** Files for this user alone. */
  readonly #own: { readonly mode: number; readonly onDisk: OnDisk }

  /** @param folder its absolute path. */
  constructor(folder: string) {
    this.#folder = folder
    this.onDisk = (call) =>
      call.catch((error: unknown) => {
        throw diskError(folder, error)
      })
    this.#own = { mode: 0o600, onDisk: this.onDisk }
  }

  /**
   * Writes a document to a temporary file, durably, and hands it on once it is checked. No temporary file is left, unless the process dies.
   * @param done moves the file away, or copies it.
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
      // What went wrong matters more than a leftover, which a sweep removes.
      await rm(file, { force: true }).catch(() => {})
    }
  }

  /** Removes what killed processes left. @returns how many files. */
  async sweep(): Promise<number> {
    return await removeTemporaries(this.#folder, { nowMs: await this.check(), onDisk: this.onDisk })
  }

  /** Writes and reads a temporary file. @returns the time by the clock of the folder's machine. */
  async check(): Promise<number> {
    await this.onDisk(makeFolder(this.#folder))
    const file = this.#temporary()
    try {
      await createFile(file, probe(), this.#own)
      const text = await this.onDisk(readFile(file, 'utf8'))
      if (text !== 'probe') throw new StorageUnavailable(`${this.#folder} gives back other bytes than were written: check its disk`)
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
