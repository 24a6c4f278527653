import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { QueueDestination } from '../../config/config.ts'
import type { BuiltRequest, DeliveryKind, KindContext, Outcome, ProbeResult, PushItem } from '../contract/delivery.ts'
import { isRefusal, localFailure } from '../contract/outcomes.ts'
import { Batches } from '../sqs/batches.ts'
import type { CallLimits, Reply, Sqs } from '../sqs/client.ts'
import { judged, judgedEntry } from '../sqs/judge.ts'
import { MOST_BYTES, type QueueMessage, queueMessage } from '../sqs/message.ts'
import { openTransport, type Transport } from '../transport/transport.ts'

type SentBatch = Awaited<ReturnType<Sqs['send']>>

/** Puts each change into a queue of Amazon SQS, as a message of its own; those that are sent side by side go in one request. */
export function createQueue(destination: QueueDestination, context: KindContext): DeliveryKind {
  return new QueueKind(destination, openTransport(destination, context.proxy, context), context.clock)
}

class QueueKind implements DeliveryKind {
  readonly batch = { type: 'one' } as const
  readonly withoutSubmission = true
  readonly #destination: QueueDestination
  readonly #transport: Transport
  readonly #clock: Clock
  readonly #isFifo: boolean
  readonly #batches: Batches
  #sqs: Promise<Sqs> | null = null

  constructor(destination: QueueDestination, transport: Transport, clock: Clock) {
    this.#destination = destination
    this.#transport = transport
    this.#clock = clock
    this.#isFifo = new URL(destination.queue.url).pathname.endsWith('.fifo')
    this.#batches = new Batches((messages, signal) => this.#sendBatch(messages, signal))
  }

  async send(items: readonly PushItem[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const outcomes: Outcome[] = []
    for (const item of items) outcomes.push(await this.#sendOne(item, signal))
    return outcomes
  }

  async preview(item: PushItem): Promise<BuiltRequest> {
    const { url } = this.#destination.queue
    const { entry } = queueMessage(item, this.#isFifo)
    const headers = { 'content-type': 'application/x-amz-json-1.0', 'x-amz-target': 'AmazonSQS.SendMessageBatch' }
    return {
      method: 'POST',
      url: `${new URL(url).origin}/`,
      headers,
      body: JSON.stringify({ QueueUrl: url, Entries: [numbered(entry, 0)] }),
    }
  }

  async probe(signal: AbortSignal): Promise<ProbeResult> {
    const limits = { timeoutMs: this.#destination.timeoutMs, signal }
    const reply = await this.#ask(limits, (sqs) => sqs.attributes(['MaximumMessageSize', 'QueueArn'], limits))
    if ('failure' in reply) return { ok: false, text: 'error' in reply.failure ? reply.failure.error : 'it was not asked' }
    if ('code' in reply) {
      const failure = judged(reply.code, reply.answer, true)
      return { ok: false, text: 'error' in failure ? failure.error : `it answered ${reply.answer.status}` }
    }
    const { MaximumMessageSize: most, QueueArn: name } = reply.output
    const kind = this.#isFifo ? 'FIFO' : 'standard'
    return { ok: true, text: `the ${kind} queue ${name} answers; it takes messages of at most ${most} bytes` }
  }

  async close(): Promise<void> {
    await this.#transport.close()
  }

  async #sendOne(item: PushItem, signal: AbortSignal): Promise<Outcome> {
    const message = queueMessage(item, this.#isFifo)
    if (message.bytes > MOST_BYTES) {
      const error = `the message has ${message.bytes} bytes, and a queue takes at most ${MOST_BYTES}; leave columns out that it does not need`
      return { ...localFailure(error, true), isFinal: true }
    }
    return await this.#batches.add(message, signal)
  }

  /** A request that is refused whole may be so because of one message: then each is judged by itself, in the time that is left. */
  async #sendBatch(messages: readonly QueueMessage[], signal: AbortSignal): Promise<readonly Outcome[]> {
    const endsAt = this.#clock.steady() + this.#destination.timeoutMs
    const reply = await this.#request(messages, { timeoutMs: this.#destination.timeoutMs, signal })
    const outcomes = this.#outcomes(reply, messages.length)
    const isSplit = messages.length > 1 && 'code' in reply && outcomes[0]?.type === 'failed' && isRefusal(reply.answer.status)
    if (!isSplit) return outcomes
    const timeoutMs = Math.ceil(endsAt - this.#clock.steady())
    if (timeoutMs <= 0) return messages.map(() => ({ type: 'not_attempted' }))
    const alone = messages.map(async (message) => this.#outcomes(await this.#request([message], { timeoutMs, signal }), 1))
    return (await Promise.all(alone)).flat()
  }

  async #request(messages: readonly QueueMessage[], limits: CallLimits): Promise<SentBatch> {
    const entries = messages.map(({ entry }, index) => numbered(entry, index))
    return await this.#ask(limits, (sqs) => sqs.send(entries, limits))
  }

  /** One outcome for each of `count` messages. */
  #outcomes(reply: SentBatch, count: number): readonly Outcome[] {
    const { idempotent } = this.#destination
    if (!('output' in reply)) {
      const failure = 'failure' in reply ? reply.failure : judged(reply.code, reply.answer, idempotent)
      return Array.from({ length: count }, () => failure)
    }
    const { Successful = [], Failed = [] } = reply.output
    const taken = new Map(Successful.map((each) => [each.Id, each.MessageId]))
    const refused = new Map(Failed.map((each) => [each.Id, each]))
    return Array.from({ length: count }, (_, index) => {
      const [id, error] = [taken.get(String(index)), refused.get(String(index))]
      if (id !== undefined) return { type: 'delivered', status: 200, remoteId: null, detail: `message ${id} of the queue` }
      return error === undefined ? { type: 'unknown', error: 'its answer does not name the message' } : judgedEntry(error, idempotent)
    })
  }

  /** Asks by the SDK's client, which is loaded when it is first needed. */
  async #ask<T>({ signal }: CallLimits, ask: (sqs: Sqs) => Promise<Reply<T>>): Promise<Reply<T>> {
    if (signal.aborted) return { failure: localFailure('stopped before it was sent', false) }
    try {
      this.#sqs ??= import('../sqs/client.ts').then(({ openSqs }) => openSqs(this.#destination, this.#transport, this.#clock))
      return await ask(await this.#sqs)
    } catch (error) {
      return { failure: localFailure(messageOf(error), false) }
    }
  }
}

function numbered(entry: QueueMessage['entry'], index: number) {
  return { ...entry, Id: String(index) }
}
