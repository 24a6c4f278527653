import { createHash, createHmac, hash, randomUUID } from 'node:crypto'
import { isObject } from '../../src/model/json.ts'
import { type Arrived, type EmulatorServer, type Reply, startServer } from './server.ts'

interface QueuedMessage {
  readonly id: string
  readonly body: string
  readonly group: string | null
  readonly deduplicationId: string | null
  readonly attributes: Readonly<Record<string, string>>
}

export interface SqsEmulator extends EmulatorServer {
  readonly queueUrl: string
  readonly messages: readonly QueuedMessage[]
  readonly batches: readonly number[]
  /** Errors of the next requests, one each. */
  readonly errors: { readonly status: number; readonly code: string; readonly message?: string }[]
  /** Errors of single messages, by their `message-id`, once each. */
  readonly entryErrors: Map<string, { readonly code: string; readonly senderFault: boolean }>
  /** How far its clock is ahead. */
  aheadMs: number
}

export interface SqsOptions {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly queue: string
  /** `MaximumMessageSize`. */
  readonly mostBytes?: number
  /** Largest batch, where it is less than a message may have. */
  readonly mostBatchBytes?: number
}

type Entry = Readonly<Record<string, unknown>>

const JSON_1_0 = 'application/x-amz-json-1.0'
const REGION = 'eu-central-1'
const ACCOUNT = '123456789012'
const DEDUPLICATION_MS = 300_000
/** The characters of XML 1.0. */
const ALLOWED = /^[\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]*$/u
const BUSY = failed(400, 'RequestThrottled', 'Rate exceeded')

/**
 * Amazon SQS, as far as messages are sent: the AWS JSON 1.0 protocol with signatures of version 4. Written from Amazon's API reference and
 * developer guide of SQS, never compared with the real service.
 */
export async function startSqs(options: SqsOptions): Promise<SqsEmulator> {
  const queue = new Queue(options)
  const server = await startServer(
    (request) => queue.answer(request),
    ({ headers }) => String(headers['x-amz-target']).includes('Send'),
    BUSY,
  )
  queue.url = `${server.url}/${ACCOUNT}/${options.queue}`
  return Object.assign(queue.seen, { ...server, queueUrl: queue.url })
}

class Queue {
  readonly #o: SqsOptions
  readonly #isFifo: boolean
  readonly #known = new Map<string, { readonly id: string; readonly atMs: number }>()
  readonly seen = {
    messages: [] as QueuedMessage[],
    batches: [] as number[],
    errors: [] as SqsEmulator['errors'],
    entryErrors: new Map() as SqsEmulator['entryErrors'],
    aheadMs: 0,
  }
  url = ''

  constructor(options: SqsOptions) {
    this.#o = options
    this.#isFifo = options.queue.endsWith('.fifo')
  }

  answer(request: Arrived): Reply {
    const refusal = this.#refusal(request)
    if (refusal !== null) return refusal
    const input: unknown = JSON.parse(request.body)
    if (!isObject(input)) return failed(400, 'SerializationException')
    if (input['QueueUrl'] !== this.url) return failed(400, 'QueueDoesNotExist', 'The specified queue does not exist.', 'NonExistentQueue')
    switch (request.headers['x-amz-target']) {
      case 'AmazonSQS.SendMessageBatch':
        return this.#sendBatch(input['Entries'])
      case 'AmazonSQS.GetQueueAttributes':
        return ok({
          Attributes: { QueueArn: `arn:aws:sqs:${REGION}:${ACCOUNT}:${this.#o.queue}`, MaximumMessageSize: String(this.#mostBytes) },
        })
      default:
        return failed(400, 'InvalidAction')
    }
  }

  get #mostBytes(): number {
    return this.#o.mostBytes ?? 1_048_576
  }

  #refusal(request: Arrived): Reply | null {
    const { method, path, headers } = request
    if (method !== 'POST' || path !== '/' || headers['content-type'] !== JSON_1_0) return failed(404, 'UnknownOperationException')
    const error = this.seen.errors.shift()
    if (error !== undefined) return failed(error.status, error.code, error.message)
    const { accessKeyId, secretAccessKey } = this.#o
    const signature = signatureIn(request)
    if (signature === null) return failed(403, 'MissingAuthenticationToken')
    if (signature.key !== accessKeyId) return failed(403, 'InvalidClientTokenId', 'The security token included in the request is invalid.')
    if (signature.text === signatureOf(request, signature, secretAccessKey)) return null
    return failed(403, 'SignatureDoesNotMatch', 'The request signature we calculated does not match the signature you provided.')
  }

  #sendBatch(given: unknown): Reply {
    const entries = Array.isArray(given) ? (given as Entry[]) : []
    if (entries.length === 0) return failed(400, 'EmptyBatchRequest')
    if (entries.length > 10) return failed(400, 'TooManyEntriesInBatchRequest')
    if (new Set(entries.map(({ Id }) => Id)).size < entries.length) return failed(400, 'BatchEntryIdsNotDistinct')
    const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0)
    if (bytes > (this.#o.mostBatchBytes ?? 1_048_576))
      return failed(400, 'BatchRequestTooLong', `Batch requests cannot be longer than ${bytes}`)
    this.seen.batches.push(entries.length)
    const answers = entries.map((entry) => this.#take(entry))
    const of = (name: 'Successful' | 'Failed') => answers.flatMap((each) => (name in each ? [each[name]] : []))
    return ok({ Successful: of('Successful'), Failed: of('Failed') })
  }

  #take(entry: Entry): Readonly<Record<string, object>> {
    const { Id, MessageBody, MessageGroupId = null, MessageDeduplicationId = null } = entry
    const body = String(MessageBody)
    const attributes = attributesOf(entry)
    const error = this.#entryError(entry, attributes['message-id'] ?? '')
    if (error !== null)
      return { Failed: { Id, Code: error.code, SenderFault: error.senderFault, Message: `${error.code} of this message` } }
    const known = this.#known.get(String(MessageDeduplicationId))
    const now = Date.now() + this.seen.aheadMs
    const isRepeated = this.#isFifo && known !== undefined && now - known.atMs < DEDUPLICATION_MS
    const id = isRepeated ? known.id : randomUUID()
    if (!isRepeated) {
      if (this.#isFifo) this.#known.set(String(MessageDeduplicationId), { id, atMs: now })
      const group = MessageGroupId === null ? null : String(MessageGroupId)
      const deduplicationId = MessageDeduplicationId === null ? null : String(MessageDeduplicationId)
      this.seen.messages.push({ id, body, group, deduplicationId, attributes })
    }
    return { Successful: { Id, MessageId: id, MD5OfMessageBody: hash('md5', body), MD5OfMessageAttributes: md5Of(attributes) } }
  }

  #entryError(entry: Entry, messageId: string): { readonly code: string; readonly senderFault: boolean } | null {
    const { MessageBody, MessageGroupId, MessageDeduplicationId } = entry
    const wanted = this.seen.entryErrors.get(messageId)
    if (this.seen.entryErrors.delete(messageId) && wanted !== undefined) return wanted
    const fault = (code: string) => ({ code, senderFault: true })
    if (!ALLOWED.test(String(MessageBody))) return fault('InvalidMessageContents')
    if (bytesOf(entry) > this.#mostBytes) return fault('InvalidParameterValue')
    if (this.#isFifo && (!isName(MessageGroupId) || !isName(MessageDeduplicationId))) return fault('MissingParameter')
    return !this.#isFifo && MessageDeduplicationId !== undefined ? fault('InvalidParameterValue') : null
  }
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && /^[\x21-\x7e]{1,128}$/.test(value)
}

function attributesOf({ MessageAttributes }: Entry): Record<string, string> {
  const given = isObject(MessageAttributes) ? MessageAttributes : {}
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String((value as Entry)['StringValue'])]))
}

function bytesOf(entry: Entry): number {
  const attributes = Object.entries(attributesOf(entry)).map(([name, value]) => `${name}String${value}`)
  return Buffer.byteLength([String(entry['MessageBody']), ...attributes].join(''))
}

/** The MD5 of attributes of the type String, in their order by name, as Amazon describes it. */
function md5Of(attributes: Readonly<Record<string, string>>): string {
  const digest = createHash('md5')
  const part = (text: string) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(Buffer.byteLength(text))
    digest.update(length).update(text)
  }
  for (const name of Object.keys(attributes).sort()) {
    part(name)
    part('String')
    digest.update(Buffer.of(1))
    part(attributes[name] ?? '')
  }
  return digest.digest('hex')
}

interface Signature {
  readonly key: string
  readonly scope: string
  readonly signed: readonly string[]
  readonly text: string
}

function signatureIn({ headers }: Arrived): Signature | null {
  const pattern = /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})$/
  const [, key = '', scope = '', signed = '', text = ''] = pattern.exec(headers.authorization ?? '') ?? []
  return key === '' ? null : { key, scope, signed: signed.split(';'), text }
}

/** What the signature of a request must be (Signature Version 4). */
function signatureOf({ method, path, headers, body }: Arrived, { scope, signed }: Signature, secret: string): string {
  const lines = signed.map((name) => `${name}:${String(headers[name]).trim()}\n`).join('')
  const canonical = [method, path, '', lines, signed.join(';'), hash('sha256', body)].join('\n')
  const toSign = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hash('sha256', canonical)].join('\n')
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`)
  return hmac(key, toSign).toString('hex')
}

function ok(body: object): Reply {
  return { status: 200, type: JSON_1_0, body }
}

/** @param older the code by which older clients know it. */
function failed(status: number, code: string, message = code, older?: string): Reply {
  const headers = older === undefined ? {} : { 'x-amzn-query-error': `AWS.SimpleQueueService.${older};Sender` }
  return { status, type: JSON_1_0, headers, body: { __type: `com.amazonaws.sqs#${code}`, message } }
}
