import { createHash, randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'

interface Put {
  readonly bucket: string
  readonly key: string
  readonly content: IncomingMessage
  readonly metadata: unknown
}

/** The used part of the package, which has no types. */
interface Server {
  readonly store: {
    putObject(put: Put): Promise<{ readonly size: number; readonly md5: string }>
    putMetadata(bucket: string, key: string, metadata: unknown, md5: string): Promise<void>
    getResourcePath(bucket: string, key: string, resource: 'object'): string
  }
  run(): Promise<AddressInfo>
  close(): Promise<void>
}

export interface S3Server {
  readonly endpoint: string
  readonly bucket: string
  keys(): Promise<string[]>
  place(keys: readonly string[]): Promise<void>
  /** Makes all objects two hours old. */
  age(): Promise<void>
  close(): Promise<void>
}

const OBJECT = '._S3rver_object'
const require = createRequire(import.meta.url)

/** The package hides the place of a list's next page with DES, which Node refuses by this name. Three equal keys give the same cipher. */
function bringBackDes(): void {
  const crypto = require('node:crypto') as Record<'createCipheriv' | 'createDecipheriv', (...values: unknown[]) => unknown>
  for (const name of ['createCipheriv', 'createDecipheriv'] as const) {
    const original = crypto[name]
    crypto[name] = (algorithm, key, ...rest) =>
      algorithm === 'des' ? original('des-ede3-cbc', Buffer.concat(Array(3).fill(key)), ...rest) : original(algorithm, key, ...rest)
  }
}

/** Starts an S3-compatible server on loopback, with one bucket and the key S3RVER, S3RVER. */
export async function startS3(): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 'submission-mirror-s3-'))
  const bucket = 'documents'
  bringBackDes()
  const S3rver = require('s3rver') as new (options: object) => Server
  const server = new S3rver({ port: 0, address: '127.0.0.1', silent: true, directory, configureBuckets: [{ name: bucket }] })
  // The package answers before the bytes are written. A real service answers once the object has all its bytes.
  server.store.putObject = async ({ bucket, key, content, metadata }) => {
    const bytes = await buffer(content)
    const sha256 = createHash('sha256').update(bytes).digest('base64')
    if (content.headers['x-amz-checksum-sha256'] !== sha256) throw new Error('the bytes are not those of the checksum')
    const path = server.store.getResourcePath(bucket, key, 'object')
    const temporary = `${path}.${randomUUID()}`
    await mkdir(dirname(path), { recursive: true })
    await writeFile(temporary, bytes)
    await rename(temporary, path)
    const md5 = createHash('md5').update(bytes).digest('hex')
    await server.store.putMetadata(bucket, key, metadata, md5)
    return { size: bytes.length, md5 }
  }
  const { port } = await server.run()
  const objects = async () => {
    const entries = await readdir(join(directory, bucket), { recursive: true })
    return entries.filter((name) => name.endsWith(OBJECT))
  }
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bucket,
    keys: async () => (await objects()).map((name) => name.slice(0, -OBJECT.length)),
    async place(keys) {
      for (const key of keys) {
        const path = server.store.getResourcePath(bucket, key, 'object')
        await mkdir(dirname(path), { recursive: true })
        await writeFile(path, key)
      }
    },
    async age() {
      const before = new Date(Date.now() - 2 * 60 * 60_000)
      for (const name of await objects()) await utimes(join(directory, bucket, name), before, before)
    },
    async close() {
      await server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
