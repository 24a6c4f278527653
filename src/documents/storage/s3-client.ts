// Importing the client takes a while and 20 MB, so this file is loaded on first use of a bucket.
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import type { BucketConfig } from '../../config/config.ts'

/** Proxies for outgoing calls, from `proxySettings`. */
export interface Proxies {
  readonly httpsProxy?: string
  readonly httpProxy?: string
  readonly noProxy?: string
}

export interface StoredObject {
  /** Excludes the prefix. */
  readonly key: string
  readonly bytes: number
  /** By the S3 service's clock. */
  readonly modifiedMs: number
}

/** Requests to a bucket. Keys exclude its prefix. Methods throw the client's errors. */
export interface Bucket {
  /** @param sha256 in base64; the service rejects a mismatch. */
  put(key: string, body: Readable | Uint8Array, bytes: number, sha256: string): Promise<void>
  get(key: string): Promise<Readable>
  /** @returns null if the object doesn't exist. */
  head(key: string): Promise<Omit<StoredObject, 'key'> | null>
  remove(key: string): Promise<void>
  list(): AsyncIterable<StoredObject>
}

/** Longest time to connect, and without receiving a byte. */
const CONNECT_MS = 10_000
const SILENT_MS = 60_000

export function openBucket(config: BucketConfig, proxies: Proxies): Bucket {
  const { bucket: Bucket, prefix } = config
  const client = new S3Client(clientOptions(config, proxies))
  const at = (key: string) => ({ Bucket, Key: `${prefix}${key}` })
  return {
    async put(key, body, bytes, sha256) {
      await client.send(new PutObjectCommand({ ...at(key), Body: body, ContentLength: bytes, ChecksumSHA256: sha256 }))
    },
    async get(key) {
      const { Body } = await client.send(new GetObjectCommand(at(key)))
      return Body as Readable
    },
    async head(key) {
      try {
        const { ContentLength = 0, LastModified } = await client.send(new HeadObjectCommand(at(key)))
        return { bytes: ContentLength, modifiedMs: LastModified?.getTime() ?? 0 }
      } catch (error) {
        if (isAbsent(error)) return null
        throw error
      }
    },
    async remove(key) {
      await client.send(new DeleteObjectCommand(at(key)))
    },
    async *list() {
      let after: string | undefined
      do {
        const page = await client.send(new ListObjectsV2Command({ Bucket, Prefix: prefix, ContinuationToken: after }))
        for (const { Key = '', Size = 0, LastModified } of page.Contents ?? []) {
          yield { key: Key.slice(prefix.length), bytes: Size, modifiedMs: LastModified?.getTime() ?? 0 }
        }
        after = page.IsTruncated === true ? page.NextContinuationToken : undefined
      } while (after !== undefined)
    },
  }
}

/** Whether the object doesn't exist. A missing bucket is another error. */
export function isAbsent(error: unknown): boolean {
  return error instanceof Error && ['NoSuchKey', 'NotFound'].includes(error.name)
}

function clientOptions(
  { region, endpoint, accessKeyId, secretAccessKey, forcePathStyle }: BucketConfig,
  { httpsProxy, httpProxy, noProxy }: Proxies,
) {
  const proxyEnv = {
    ...(httpsProxy && { HTTPS_PROXY: httpsProxy }),
    ...(httpProxy && { HTTP_PROXY: httpProxy }),
    ...(noProxy && { NO_PROXY: noProxy }),
  }
  const agent = { keepAlive: true, maxSockets: 16, proxyEnv }
  return {
    region,
    forcePathStyle,
    maxAttempts: 3,
    // By default the SDK writes to the console.
    logger: { trace() {}, debug() {}, info() {}, warn() {}, error() {} },
    ...(endpoint !== null && { endpoint }),
    ...(accessKeyId && secretAccessKey && { credentials: { accessKeyId, secretAccessKey: secretAccessKey.reveal() } }),
    // Each document has its own SHA-256. Some services reject the checksum that the client would add.
    requestChecksumCalculation: 'WHEN_REQUIRED' as const,
    responseChecksumValidation: 'WHEN_REQUIRED' as const,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      socketTimeout: SILENT_MS,
      httpAgent: new HttpAgent(agent),
      httpsAgent: new HttpsAgent(agent),
    },
  }
}
