// This module is imported when a bucket is first used. Importing the S3 client takes a while and 20 MB of memory.
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

/** Proxies for outgoing calls; the result of `proxySettings`. */
export interface Proxies {
  readonly httpsProxy?: string
  readonly httpProxy?: string
  readonly noProxy?: string
}

export interface StoredObject {
  /** Key without the bucket's prefix. */
  readonly key: string
  readonly bytes: number
  /** Time of the last change, in ms since the epoch, by the S3 service's clock. */
  readonly modifiedMs: number
}

/** Requests to one bucket. Keys are without the bucket's prefix. Methods throw the errors of the S3 client. */
export interface Bucket {
  /** @param sha256 hash of `body` in base64. If `body` doesn't match it, the S3 service rejects the request. */
  put(key: string, body: Readable | Uint8Array, bytes: number, sha256: string): Promise<void>
  get(key: string): Promise<Readable>
  /** @returns the size and time of an object; null if the object doesn't exist. */
  head(key: string): Promise<Omit<StoredObject, 'key'> | null>
  remove(key: string): Promise<void>
  list(): AsyncIterable<StoredObject>
}

/** Time limits in ms: for connecting, and for a connection without traffic. */
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

/** @returns whether the error says that the object doesn't exist. A missing bucket is a different error. */
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
    // Turn off the SDK's log, which is written to the console by default.
    logger: { trace() {}, debug() {}, info() {}, warn() {}, error() {} },
    ...(endpoint !== null && { endpoint }),
    ...(accessKeyId && secretAccessKey && { credentials: { accessKeyId, secretAccessKey: secretAccessKey.reveal() } }),
    // Turn off the SDK's own checksum, which some S3 services reject. `put` sends a SHA-256 instead.
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
