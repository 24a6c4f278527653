import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { loadOnce } from '../../base/load-once.ts'
import type { QueueDestination } from '../../config/config.ts'
import { MASK } from '../../model/masking.ts'
import type { BuiltRequest, DeliveryKind, KindContext, Outcome, ProbeResult, PushItem } from '../contract/delivery.ts'
import { type Failure, localFailure, ofWholeBatch } from '../contract/outcomes.ts'
import type { CallLimits, Reply, Sqs } from '../sqs/client.ts'
import { judged, judgedEntry } from '../sqs/judge.ts'
import { inBatches, MOST_BYTES, MOST_MESSAGES, type QueueMessage, queueMessage } from '../sqs/message.ts'
import { openTransport, type Transport } from '../transport/transport.ts'

type SentBatch = Awaited<ReturnType<Sqs['send']>>

/**
 * Makes a kind that sends each change as a message to an Amazon SQS queue. A request has up to ten messages, at most
 * one of each submission.
 */
export function createQueue(destination: QueueDestination, context: KindContext): DeliveryKind {
  return new QueueKind(destination, openTransport(destination, context.proxy, context), context.clock)
}

class QueueKind implements DeliveryKind {
  readonly batch = { type: 'many', maxItems: MOST_MESSAGES, gatherMs: 0, groupOf: () => '' } as const
  readonly withoutSubmission = true
  readonly #destination: QueueDestination
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #isFifo: boolean
  /** Returns the SDK's client, which is created on first use. */
  readonly #sqs: () => Promise<Sqs>

  constructor(destination: QueueDestination, transport: Transport, clock: Clock) {
    this.#destination = destination
    this.#transport = transport
    this.#clock = clock
    this.#isFifo = new URL(destination.queue.url).pathname.endsWith('.fifo')
    this.#sqs = loadOnce(async () => (await import('../sqs/client.ts')).openSqs(destination, transport, clock))
  }

  async send(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const endsAt = this.#clock.steady() + this.#destination.timeoutMs
    const messages = items.map((item) => queueMessage(item, this.#isFifo))
    const outcomes = new Map<QueueMessage, Outcome>()
    for (const message of messages) if (message.bytes > MOST_BYTES) outcomes.set(message, tooLarge(message))
    for (const batch of inBatches(messages.filter((message) => !outcomes.has(message)))) {
      const timeoutMs = Math.ceil(endsAt - this.#clock.steady())
      const sent = timeoutMs > 0 ? await this.#sendBatch(batch, { timeoutMs, signal }) : []
      for (const [index, message] of batch.entries()) outcomes.set(message, sent[index] ?? NOT_ATTEMPTED)
    }
    return messages.map((message) => outcomes.get(message) ?? NOT_ATTEMPTED)
  }

  async preview(item: PushItem): Promise<BuiltRequest> {
    const { url } = this.#destination.queue
    const headers = {
      'content-type': 'application/x-amz-json-1.0',
      'x-amz-target': 'AmazonSQS.SendMessageBatch',
      authorization: `AWS4-HMAC-SHA256 ${MASK}`,
    }
    const body = JSON.stringify({ QueueUrl: url, Entries: numbered([queueMessage(item, this.#isFifo)]) })
    return { method: 'POST', url: `${new URL(url).origin}/`, headers, body }
  }

  async probe(signal: AbortSignal): Promise<ProbeResult> {
    const limits = { timeoutMs: this.#destination.timeoutMs, signal }
    const reply = await this.#ask(limits, (sqs) => sqs.attributes(['MaximumMessageSize', 'QueueArn'], limits))
    if (!('output' in reply)) return { ok: false, text: this.#failure(reply).error }
    const { MaximumMessageSize: most, QueueArn: name } = reply.output
    return {
      ok: true,
      text: `the ${this.#isFifo ? 'FIFO' : 'standard'} queue ${name} answers and accepts messages of at most ${most} bytes`,
    }
  }

  async close(): Promise<void> {
    await this.#transport.close()
  }

  async #sendBatch(messages: readonly QueueMessage[], limits: CallLimits): Promise<readonly Outcome[]> {
    const reply = await this.#ask(limits, (sqs) => sqs.send(numbered(messages), limits))
    return 'output' in reply ? this.#outcomes(reply.output, messages.length) : ofWholeBatch(this.#failure(reply), messages.length)
  }

  #outcomes({ Successful = [], Failed = [] }: Extract<SentBatch, { output: unknown }>['output'], count: number): Outcome[] {
    const taken = new Map(Successful.map((each) => [each.Id, each.MessageId]))
    const refused = new Map(Failed.map((each) => [each.Id, each]))
    return Array.from({ length: count }, (_, index) => {
      const [id, error] = [taken.get(String(index)), refused.get(String(index))]
      if (id !== undefined) return { type: 'delivered', status: 200, remoteId: null, detail: `message ${id} of the queue` }
      return error === undefined ? UNTOLD : judgedEntry(error, this.#destination.idempotent)
    })
  }

  #failure(reply: Exclude<Reply<never>, { output: never }>): Failure {
    return 'failure' in reply ? reply.failure : judged(reply.code, reply.answer, this.#destination.idempotent)
  }

  async #ask<T>({ signal }: CallLimits, ask: (sqs: Sqs) => Promise<Reply<T>>): Promise<Reply<T>> {
    if (signal.aborted) return { failure: localFailure('sending was stopped before this request', false) }
    try {
      return await ask(await this.#sqs())
    } catch (error) {
      return { failure: localFailure(messageOf(error), false) }
    }
  }
}

const NOT_ATTEMPTED: Outcome = { type: 'not_attempted' }
const UNTOLD: Outcome = { type: 'unknown', error: 'the answer of the queue contains no message id' }

function tooLarge({ bytes }: QueueMessage): Outcome {
  const error = `the message has ${bytes} bytes, but a queue accepts at most ${MOST_BYTES}; exclude large columns that the receiver does not need`
  return { ...localFailure(error, true), isFinal: true }
}

function numbered(messages: readonly QueueMessage[]) {
  return messages.map(({ entry }, index) => ({ ...entry, Id: String(index) }))
}
