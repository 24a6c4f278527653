import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { CheckedBody } from './checked.ts'
import { codeOf, diskError, makeFolder, type OnDisk, syncFolder, writeDurably } from './durable.ts'
import { MissingDocument, StorageUnavailable } from './errors.ts'
import { type DocumentStorage, type Expected, isDocumentPath, type KnownPaths, type StoredDocument } from './storage.ts'
import { sweepFolder, TEMPORARY } from './sweep-folder.ts'

/**
 * A local or mounted folder, created when it does not exist. A document is written to a temporary file beside the others, made durable, then
 * renamed to its hash, which never replaces anything but the same bytes.
 */
export class FolderStorage implements DocumentStorage {
  readonly place: string
  readonly #folder: string
  readonly #onDisk: OnDisk

  /** @param folder its absolute path. */
  constructor(folder: string) {
    this.#folder = folder
    this.place = `the folder ${folder}`
    this.#onDisk = (call) =>
      call.catch((error: unknown) => {
        throw diskError(folder, error)
      })
  }

  async keep(body: AsyncIterable<Uint8Array>, expected: Expected): Promise<StoredDocument> {
    await this.#onDisk(makeFolder(this.#folder))
    const temporary = this.#temporary()
    try {
      const checked = new CheckedBody(body, expected)
      await writeDurably(temporary, checked.chunks(), this.#onDisk)
      const stored = checked.stored()
      const final = join(this.#folder, stored.path)
      await this.#onDisk(makeFolder(dirname(final)))
      await this.#onDisk(rename(temporary, final))
      await this.#onDisk(syncFolder(dirname(final)))
      return stored
    } catch (error) {
      // The cause matters more than a leftover, which a sweep removes.
      await rm(temporary, { force: true }).catch(() => {})
      throw error
    }
  }

  async read(path: string): Promise<Readable> {
    const file = createReadStream(this.#final(path))
    try {
      await once(file, 'open')
      return file
    } catch (error) {
      throw isAbsent(error) ? new MissingDocument(path, this.place, { cause: error }) : diskError(this.#folder, error)
    }
  }

  async size(path: string): Promise<number | null> {
    const final = this.#final(path)
    try {
      return (await stat(final)).size
    } catch (error) {
      if (isAbsent(error)) return null
      throw diskError(this.#folder, error)
    }
  }

  async remove(path: string): Promise<void> {
    const final = this.#final(path)
    await this.#onDisk(rm(final, { force: true }))
    await this.#onDisk(syncFolder(dirname(final)).catch(ignoreAbsent))
  }

  async sweep(known: KnownPaths): Promise<number> {
    const { mtimeMs } = await this.#probe()
    return await sweepFolder(this.#folder, { nowMs: mtimeMs, known, paths: () => this.paths(), onDisk: this.#onDisk })
  }

  async *paths(): AsyncGenerator<string> {
    const shards = await this.#onDisk(readdir(this.#folder).catch(emptyWhenAbsent))
    for (const shard of shards.filter((name) => /^[0-9a-f]{2}$/.test(name))) {
      const names = await this.#onDisk(readdir(join(this.#folder, shard)).catch(emptyWhenAbsent))
      yield* names.map((name) => `${shard}/${name}`).filter(isDocumentPath)
    }
  }

  async check(): Promise<void> {
    await this.#probe()
  }

  /** Writes and reads a temporary file. @returns its state, whose time is by the clock of the folder's machine. */
  async #probe(): Promise<{ readonly mtimeMs: number }> {
    await this.#onDisk(makeFolder(this.#folder))
    const temporary = this.#temporary()
    try {
      await writeDurably(temporary, onlyChunk(Buffer.from('probe')), this.#onDisk)
      const text = await this.#onDisk(readFile(temporary, 'utf8'))
      if (text !== 'probe') throw new StorageUnavailable(`${this.#folder} gives back other bytes than were written: check its disk`)
      return await this.#onDisk(stat(temporary))
    } finally {
      await rm(temporary, { force: true }).catch(() => {})
    }
  }

  #temporary(): string {
    return join(this.#folder, `${TEMPORARY}${randomUUID()}`)
  }

  #final(path: string): string {
    if (!isDocumentPath(path)) throw new MissingDocument('of an unknown form', this.place)
    return join(this.#folder, path)
  }
}

function isAbsent(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error))
}

function ignoreAbsent(error: unknown): void {
  if (!isAbsent(error)) throw error
}

function emptyWhenAbsent(error: unknown): string[] {
  ignoreAbsent(error)
  return []
}

async function* onlyChunk(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk
}
