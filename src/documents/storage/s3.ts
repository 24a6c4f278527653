import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { messageOf } from '../../base/errors.ts'
import { loadOnce } from '../../base/load-once.ts'
import { withoutQueryValues } from '../../base/secret.ts'
import type { BucketConfig } from '../../config/config.ts'
import type { Bucket, Proxies, StoredObject } from './s3-client.ts'
import { Spool } from './spool.ts'
import {
  type DocumentStorage,
  type Expected,
  isDocumentPath,
  type KnownPaths,
  MissingDocument,
  OWNER,
  removeUnknown,
  SPARED_MS,
  StorageUnavailable,
  type StoredDocument,
} from './storage.ts'

/** Prefix of the keys of temporary objects, which test the bucket. */
const PROBE = '.probe-'

/**
 * Stores documents in a bucket of an S3-compatible service. A document is first written to a temporary file, where its
 * hash and length are checked, then uploaded. An upload is atomic.
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
    const oldestMs = (await this.#probe()) - SPARED_MS
    let removed = await this.#spool.sweep()
    const objects = this.#objects()
    const ask = this.#ask.bind(this)
    async function* oldPaths(): AsyncGenerator<string> {
      for await (const { key, modifiedMs } of objects) {
        if (modifiedMs >= oldestMs) continue
        if (isDocumentPath(key)) yield key
        if (!key.startsWith(PROBE)) continue
        await ask((bucket) => bucket.remove(key))
        removed += 1
      }
    }
    const unknown = await removeUnknown(oldPaths(), known, (key) => this.#removeOld(key, oldestMs))
    return removed + unknown
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
   * Removes an object, unless it was written again since it was listed. If another process writes the object between
   * the check and the removal, the new object is removed too. Its document is later fetched again.
   * @returns whether the object was removed.
   */
  async #removeOld(key: string, oldestMs: number): Promise<boolean> {
    const now = await this.#ask((bucket) => bucket.head(key))
    if (now === null || now.modifiedMs >= oldestMs) return false
    await this.#ask((bucket) => bucket.remove(key))
    return true
  }

  /**
   * Tests the bucket: writes, reads, and removes an object.
   * @returns the time by the S3 service's clock, in ms since the epoch.
   */
  async #probe(): Promise<number> {
    const [key, bytes] = [`${PROBE}${randomUUID()}`, Buffer.from('probe')]
    return await this.#ask(async (bucket) => {
      await bucket.put(key, bytes, bytes.length, base64Hash(bytes))
      try {
        const [back, head] = [await buffer(await bucket.get(key)), await bucket.head(key)]
        if (!back.equals(bytes) || head === null) throw new Error('it returns other bytes than were written')
        return head.modifiedMs
      } finally {
        await bucket.remove(key)
      }
    })
  }

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

const RIGHTS = 'let its key get, put, delete and list objects there'

/** Explanation and fix for each error code of the S3 service. */
const SENTENCES: Readonly<Record<string, string>> = {
  NoSuchBucket: 'does not exist: create it, or name another one in documents.s3.bucket',
  InvalidAccessKeyId: 'rejects the key: check documents.s3.access_key_id',
  SignatureDoesNotMatch: 'rejects the key: check documents.s3.secret_access_key',
  AccessDenied: `rejects the request (AccessDenied): ${RIGHTS}`,
  Forbidden: `rejects the request (403): ${RIGHTS}`,
  '403': `rejects the request (403): ${RIGHTS}`,
  PermanentRedirect: 'is in another region: set documents.s3.region or documents.s3.endpoint',
  AuthorizationHeaderMalformed: 'is in another region: set documents.s3.region',
  CredentialsProviderError: 'needs a key: set documents.s3.access_key_id and documents.s3.secret_access_key, or give this machine a role',
}

/** @returns an error that names the bucket and says what to do. */
export function bucketError({ bucket, endpoint, region }: BucketConfig, error: unknown): StorageUnavailable {
  const where = `the bucket ${bucket} (${endpoint === null ? region : withoutQueryValues(endpoint)})`
  const sentence = (error instanceof Error && SENTENCES[error.name]) || `cannot store or return documents: ${messageOf(error)}`
  return new StorageUnavailable(`${where} ${sentence}`, { cause: error })
}
