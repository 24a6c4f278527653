import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { loadOnce } from '../../base/load-once.ts'
import type { BucketConfig } from '../../config/config.ts'
import { MissingDocument, StorageUnavailable } from './errors.ts'
import { OWNER } from './owner.ts'
import type { Bucket, Proxies, StoredObject } from './s3-client.ts'
import { bucketError } from './s3-errors.ts'
import { Spool } from './spool.ts'
import { type DocumentStorage, type Expected, isDocumentPath, type KnownPaths, SPARED_MS, type StoredDocument } from './storage.ts'

/** How the keys of objects begin that only tell whether the bucket works. */
const PROBE = '.probe-'
/** Paths that the database is asked about at a time. */
const BATCH = 500

/**
 * A bucket of an S3-compatible service. A document is first written to a temporary file in a folder, so that its hash and length are known
 * and checked before its key exists. The upload of one object is atomic: it has all its bytes or is not there.
 */
export class S3Storage implements DocumentStorage {
  readonly place: string
  readonly #opened: () => Promise<Bucket>
  readonly #spool: Spool
  readonly #config: BucketConfig

  /** @param folder absolute path of the folder for temporary files. */
  constructor(config: BucketConfig, folder: string, proxies: Proxies) {
    this.#config = config
    this.#spool = new Spool(folder)
    this.place = `the bucket ${config.bucket}`
    this.#opened = loadOnce(async () => (await import('./s3-client.ts')).openBucket(config, proxies))
  }

  async keep(body: AsyncIterable<Uint8Array>, expected: Expected): Promise<StoredDocument> {
    return await this.#spool.spooled(body, expected, async (file, stored) => {
      const sha256 = Buffer.from(stored.sha256, 'hex').toString('base64')
      await this.#ask((bucket) => bucket.put(stored.path, createReadStream(file), stored.bytes, sha256))
    })
  }

  async read(path: string): Promise<Readable> {
    this.#mustBeDocument(path)
    const found = await this.#get(path)
    if (found === null) throw new MissingDocument(path, this.place)
    return found
  }

  async size(path: string): Promise<number | null> {
    this.#mustBeDocument(path)
    return (await this.#ask((bucket) => bucket.head(path)))?.bytes ?? null
  }

  async remove(path: string): Promise<void> {
    this.#mustBeDocument(path)
    await this.#ask((bucket) => bucket.remove(path))
  }

  async sweep(known: KnownPaths): Promise<number> {
    const nowMs = await this.#probe()
    let removed = await this.#spool.sweep()
    let batch: string[] = []
    for await (const { key, modifiedMs } of this.#objects()) {
      if (nowMs - modifiedMs <= SPARED_MS) continue
      if (key.startsWith(PROBE)) {
        await this.#ask((bucket) => bucket.remove(key))
        removed += 1
      }
      if (!isDocumentPath(key)) continue
      batch.push(key)
      if (batch.length < BATCH) continue
      removed += await this.#removeUnknown(batch, nowMs, known)
      batch = []
    }
    return removed + (await this.#removeUnknown(batch, nowMs, known))
  }

  async *paths(): AsyncGenerator<string> {
    for await (const { key } of this.#objects()) if (isDocumentPath(key)) yield key
  }

  async owner(): Promise<string | null> {
    const found = await this.#get(OWNER)
    return found === null ? null : (await this.#ask(() => text(found))).trim()
  }

  async takeFor(mirror: string): Promise<void> {
    const bytes = Buffer.from(`${mirror}\n`)
    await this.#ask((bucket) => bucket.put(OWNER, bytes, bytes.length, base64Hash(bytes)))
  }

  async check(): Promise<void> {
    await this.#spool.check()
    await this.#probe()
  }

  /**
   * An object that was written again since it was listed stays. Between the last look and the removal lie milliseconds, in which another
   * process would have to keep the same bytes, unknown for an hour, once more; the document is then fetched again when it is missed.
   */
  async #removeUnknown(batch: readonly string[], nowMs: number, known: KnownPaths): Promise<number> {
    if (batch.length === 0) return 0
    const names = await known(batch)
    let removed = 0
    for (const key of batch.filter((each) => !names.has(each))) {
      const now = await this.#ask((bucket) => bucket.head(key))
      if (now === null || nowMs - now.modifiedMs <= SPARED_MS) continue
      await this.#ask((bucket) => bucket.remove(key))
      removed += 1
    }
    return removed
  }

  /** Writes, reads and removes an object. @returns the time by the clock of the service. */
  async #probe(): Promise<number> {
    const [key, bytes] = [`${PROBE}${randomUUID()}`, Buffer.from('probe')]
    return await this.#ask(async (bucket) => {
      await bucket.put(key, bytes, bytes.length, base64Hash(bytes))
      try {
        const [back, head] = [await buffer(await bucket.get(key)), await bucket.head(key)]
        if (!back.equals(bytes) || head === null) throw new Error('it gives back other bytes than were written')
        return head.modifiedMs
      } finally {
        await bucket.remove(key)
      }
    })
  }

  /** null when there is no such object. */
  async #get(key: string): Promise<Readable | null> {
    const { isAbsent } = await import('./s3-client.ts')
    try {
      return await (await this.#opened()).get(key)
    } catch (error) {
      if (isAbsent(error)) return null
      throw bucketError(this.#config, error)
    }
  }

  async *#objects(): AsyncGenerator<StoredObject> {
    try {
      yield* (await this.#opened()).list()
    } catch (error) {
      throw error instanceof StorageUnavailable ? error : bucketError(this.#config, error)
    }
  }

  async #ask<T>(request: (bucket: Bucket) => Promise<T>): Promise<T> {
    try {
      return await request(await this.#opened())
    } catch (error) {
      throw bucketError(this.#config, error)
    }
  }

  #mustBeDocument(path: string): void {
    if (!isDocumentPath(path)) throw new MissingDocument('of an unknown form', this.place)
  }
}

function base64Hash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64')
}
