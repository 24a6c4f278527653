// Importing the SDK's client is slow, so this file is loaded when a queue is first used.
import {
  GetQueueAttributesCommand,
  type QueueAttributeName,
  SendMessageBatchCommand,
  type SendMessageBatchCommandOutput,
  type SendMessageBatchRequestEntry,
  SQSClient,
} from '@aws-sdk/client-sqs'
import { abortable, withTimeout } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { QueueDestination } from '../../config/config.ts'
import { type Answer, type Failure, localFailure, unanswered, unclear } from '../contract/outcomes.ts'
import type { Transport, TransportResult } from '../transport/transport.ts'
import { reasonOf } from './judge.ts'

/**
 * Result of a request. `output`: the queue's answer. `code`: the error code in the queue's answer.
 * `failure`: no usable answer.
 */
export type Reply<T> = { readonly output: T } | { readonly code: string; readonly answer: Answer } | { readonly failure: Failure }

/** `timeoutMs` limits the whole call, from getting credentials to the last byte of the answer. */
export interface CallLimits {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** The two requests to a queue. Neither rejects. */
export interface Sqs {
  send(entries: SendMessageBatchRequestEntry[], limits: CallLimits): Promise<Reply<SendMessageBatchCommandOutput>>
  attributes(names: QueueAttributeName[], limits: CallLimits): Promise<Reply<Readonly<Record<string, string>>>>
}

/** Options of one call. The SDK passes these options to the request handler. */
interface Call {
  readonly abortSignal: AbortSignal
  readonly timeoutMs: number
  readonly got: {
    /** The result that the request handler stores; null if no request was sent. */
    result: TransportResult | null
  }
}

/** A request signed by the SDK. */
interface SignedRequest {
  readonly protocol: string
  readonly hostname: string
  readonly port?: number
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/**
 * Creates the SDK's client of one queue. Requests go through `transport`, which connects only to allowed addresses and
 * never repeats a request. If the setting `queue.access_key_id` is missing, the SDK searches for credentials, and may
 * send requests to get them.
 */
export function openSqs({ queue }: Pick<QueueDestination, 'queue'>, transport: Transport, clock: Clock): Sqs {
  const client = new SQSClient({ ...clientOptions(queue), requestHandler: { handle: handleBy(transport) } })
  const QueueUrl = queue.url
  return {
    send: (Entries, limits) =>
      call(clock, client, limits, (options) => client.send(new SendMessageBatchCommand({ QueueUrl, Entries }), options)),
    async attributes(AttributeNames, limits) {
      const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames })
      const reply = await call(clock, client, limits, (options) => client.send(command, options))
      return 'output' in reply ? { output: reply.output.Attributes ?? {} } : reply
    },
  }
}

function clientOptions({ url, region, accessKeyId, secretAccessKey }: QueueDestination['queue']) {
  return {
    region,
    // Set explicitly. Otherwise, environment variables could redirect requests.
    endpoint: new URL(url).origin,
    useFipsEndpoint: false,
    useDualstackEndpoint: false,
    // The SDK must not retry, because the outbox schedules retries.
    maxAttempts: 1,
    retryMode: 'standard',
    // Prevents the SDK from writing to the console.
    logger: { trace() {}, debug() {}, info() {}, warn() {}, error() {} },
    ...(accessKeyId && secretAccessKey && { credentials: { accessKeyId, secretAccessKey: secretAccessKey.reveal() } }),
  }
}

async function call<T>(clock: Clock, client: SQSClient, limits: CallLimits, send: (options: Call) => Promise<T>): Promise<Reply<T>> {
  const { signal, timeoutMs } = limits
  const startedAt = clock.steady()
  try {
    const late = new Error(`no source provided credentials within ${timeoutMs} ms`)
    await withTimeout(clock, timeoutMs, signal, (limit) => abortable(client.config.credentials(), limit), late)
  } catch (error) {
    return { failure: localFailure(`there are no credentials for the queue: ${reasonOf(messageOf(error))}`, false) }
  }
  const leftMs = Math.max(1, Math.ceil(timeoutMs - (clock.steady() - startedAt)))
  const options: Call = { abortSignal: signal, timeoutMs: leftMs, got: { result: null } }
  try {
    return { output: await send(options) }
  } catch (error) {
    return failed(error, options.got.result)
  }
}

function failed(error: unknown, result: TransportResult | null): Exclude<Reply<never>, { output: never }> {
  // The first line describes the error. Later lines are advice for programmers.
  const [text = ''] = messageOf(error).split('\n')
  if (result === null) return { failure: localFailure(reasonOf(text), false) }
  if (result.type !== 'answer') return { failure: unanswered(result) }
  // The queue answered 2xx, so it may have accepted some or all messages. The answer can't be read, so the
  // outcome is unknown.
  if (result.status < 300) return { failure: unclear(result, `the answer of the queue cannot be used: ${reasonOf(text)}`) }
  // `Code` is the error code of the queue's older interface. The queue sends it in a header. Without the header, `name`
  // has the error code.
  const { name = '', Code: code = name } = error as { readonly name?: string; readonly Code?: string }
  return { code, answer: { ...result, reason: reasonOf(`${code}: ${text}`) } }
}

/** @returns a request handler for the SDK. The handler stores the result in the call. */
function handleBy(transport: Transport) {
  return async (request: SignedRequest, options: object) => {
    const call = options as Call
    const { protocol, hostname, port, path, method, headers, body = null } = request
    const url = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`
    // Shares the bytes of `body` instead of copying them.
    const content = body instanceof Uint8Array ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : body
    const result = await transport.send({ method, url, headers, body: content, timeoutMs: call.timeoutMs }, call.abortSignal)
    call.got.result = result
    if (result.type !== 'answer') throw new Error(result.error)
    return { response: { statusCode: result.status, headers: result.headers, body: Buffer.from(result.body) } }
  }
}
