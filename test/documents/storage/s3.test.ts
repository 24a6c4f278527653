import { readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Secret } from '../../../src/base/secret.ts'
import type { BucketConfig } from '../../../src/config/config.ts'
import { bucketError, S3Storage } from '../../../src/documents/storage/s3.ts'
import { pathOf, StorageUnavailable } from '../../../src/documents/storage/storage.ts'
import { freePort } from '../../tools/free-port.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { type S3Server, startS3 } from './s3-server.ts'
import { anything, body, collected, type Rig, sha256, storageSuite } from './suite.ts'

let server: S3Server
let rigs = 0
beforeAll(async () => {
  server = await startS3()
})
afterAll(() => server.close())

function settings(changed: Partial<BucketConfig> = {}): BucketConfig {
  const { endpoint, bucket } = server
  const key = { accessKeyId: 'S3RVER', secretAccessKey: new Secret('S3RVER') }
  return { bucket, endpoint, region: 'us-east-1', prefix: '', ...key, forcePathStyle: true, allowHttp: false, ...changed }
}

async function newSpool(): Promise<string> {
  const spool = newFolder()
  return spool
}

async function rig(): Promise<Rig> {
  const [prefix, spool] = [`rig/${++rigs}/`, await newSpool()]
  const inSpool = async () => (await readdir(spool)).map((name) => join(spool, name))
  return {
    storage: new S3Storage(settings({ prefix }), spool, {}),
    all: async () => [...(await server.keys()).filter((key) => key.startsWith(prefix)), ...(await inSpool())],
    async age() {
      await server.age()
      const before = new Date(Date.now() - 2 * 60 * 60_000)
      for (const file of await inSpool()) await utimes(file, before, before)
    },
    leaveHalf: () => writeFile(join(spool, '.incoming-left'), 'half'),
  }
}

storageSuite('a bucket', rig)

it('touches no object that is not below its prefix', async () => {
  const spool = await newSpool()
  const [mine, others] = [new S3Storage(settings({ prefix: 'mine/' }), spool, {}), new S3Storage(settings({ prefix: 'other/' }), spool, {})]
  const { path } = await others.keep(body('of others'), anything)
  await server.age()
  expect(await mine.sweep(() => Promise.resolve(new Set()))).toBe(0)
  expect(await mine.size(path)).toBeNull()
  expect(await others.size(path)).toBe(9)
})

it('lists more documents than one answer holds', async () => {
  const paths = Array.from({ length: 1001 }, (_, n) => pathOf(sha256(`document ${n}`)))
  await server.place(paths.map((path) => `many/${path}`))
  expect(await collected(new S3Storage(settings({ prefix: 'many/' }), await newSpool(), {}))).toEqual(paths.sort())
})

it.each<[string, () => Promise<Partial<BucketConfig>>, RegExp]>([
  ['a bucket that does not exist', async () => ({ bucket: 'missing' }), /^the bucket missing \(http:.*\) does not exist: create it/],
  [
    'a key that is not known',
    async () => ({ accessKeyId: 'X', secretAccessKey: new Secret('wrong') }),
    /rejects the key: check documents\.s3\.access_key_id$/,
  ],
  [
    'a service that is away',
    async () => ({ endpoint: `http://127.0.0.1:${await freePort()}` }),
    /cannot store or return documents: .*ECONNREFUSED/,
  ],
])('explains in a sentence a problem with %s', async (_, changed, sentence) => {
  const storage = new S3Storage(settings(await changed()), await newSpool(), {})
  for (const attempt of [() => storage.keep(body('x'), anything), () => storage.check()]) {
    const error = await attempt().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(StorageUnavailable)
    expect((error as Error).message).toMatch(sentence)
    expect((error as Error).message).not.toContain('wrong')
  }
})

it.each([
  ['SignatureDoesNotMatch', 'rejects the key: check documents.s3.secret_access_key'],
  ['AccessDenied', 'rejects the request (AccessDenied): let its key get, put, delete and list objects there'],
  ['SlowDown', 'cannot store or return documents: Please reduce your request rate'],
])('describes %s in words', (name, sentence) => {
  const error = Object.assign(new Error('Please reduce your request rate'), { name })
  expect(bucketError(settings({ endpoint: null, region: 'eu-central-1' }), error).message).toBe(
    `the bucket documents (eu-central-1) ${sentence}`,
  )
})
