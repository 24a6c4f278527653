import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { syncFolder } from '../../base/durable-file.ts'
import { codeOf } from '../../base/errors.ts'
import { readOwner, writeOwner } from '../../base/owner-file.ts'
import { diskError, makeFolder, Spool } from './spool.ts'
import {
  type DocumentStorage,
  type Expected,
  isDocumentPath,
  type KnownPaths,
  MissingDocument,
  OWNER,
  type StoredDocument,
} from './storage.ts'
import { sweepFolder } from './sweep-folder.ts'

/**
 * Stores documents in a local or mounted folder. Creates the folder if it is missing. A document is written to a
 * temporary file, made durable, then renamed to its hash. If a file with that name exists, it has the same bytes.
 */
export class FolderStorage implements DocumentStorage {
  readonly place: string
  readonly #folder: string
  readonly #spool: Spool

  /** @param folder absolute path. */
  constructor(folder: string) {
    this.#folder = folder
    this.#spool = new Spool(folder)
    this.place = `the folder ${folder}`
  }

  async keep(body: AsyncIterable<Uint8Array>, expected: Expected): Promise<StoredDocument> {
    const { onDisk } = this.#spool
    return await this.#spool.spooled(body, expected, async (file, { path }) => {
      const final = join(this.#folder, path)
      await onDisk(makeFolder(dirname(final)))
      await onDisk(rename(file, final))
      await onDisk(syncFolder(dirname(final)))
    })
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
    await this.#spool.onDisk(rm(final, { force: true }))
    await this.#spool.onDisk(syncFolder(dirname(final)).catch(ignoreAbsent))
  }

  async sweep(known: KnownPaths): Promise<number> {
    const nowMs = await this.#spool.check()
    return await sweepFolder(this.#folder, { nowMs, known, paths: () => this.paths(), onDisk: this.#spool.onDisk })
  }

  async *paths(): AsyncGenerator<string> {
    const { onDisk } = this.#spool
    const shards = await onDisk(readdir(this.#folder).catch(emptyWhenAbsent))
    for (const shard of shards.filter((name) => /^[0-9a-f]{2}$/.test(name))) {
      const names = await onDisk(readdir(join(this.#folder, shard)).catch(emptyWhenAbsent))
      yield* names.map((name) => `${shard}/${name}`).filter(isDocumentPath)
    }
  }

  owner(): Promise<string | null> {
    return this.#spool.onDisk(readOwner(join(this.#folder, OWNER)))
  }

  async takeFor(mirror: string): Promise<void> {
    const { onDisk } = this.#spool
    await onDisk(makeFolder(this.#folder))
    await onDisk(writeOwner(join(this.#folder, OWNER), mirror))
  }

  async check(): Promise<void> {
    await this.#spool.check()
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
