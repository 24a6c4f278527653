import type { Outcome } from '../contract/delivery.ts'
import { MOST_BYTES, MOST_MESSAGES, type QueueMessage } from './message.ts'

/** Sends a batch, of at most so many messages and bytes as a queue takes. Never rejects. @returns one outcome each, in their order. */
export type SendBatch = (messages: readonly QueueMessage[], signal: AbortSignal) => Promise<readonly Outcome[]>

interface Waiting {
  readonly message: QueueMessage
  readonly signal: AbortSignal
  readonly settle: (outcome: Outcome) => void
}

/**
 * Sends messages that come at the same moment together: those of lanes that are sent side by side, of which each has one in flight. So a batch
 * never holds two of a submission, and one that is refused overtakes nothing.
 */
export class Batches {
  readonly #send: SendBatch
  readonly #waiting: Waiting[] = []

  constructor(send: SendBatch) {
    this.#send = send
  }

  add(message: QueueMessage, signal: AbortSignal): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    // When this turn of the event loop ends, all that are sent now have come.
    if (this.#waiting.length === 0) setImmediate(() => this.#flush())
    this.#waiting.push({ message, signal, settle: resolve })
    return promise
  }

  #flush(): void {
    let batch: Waiting[] = []
    let bytes = 0
    for (const each of this.#waiting.splice(0)) {
      const isFull = batch.length === MOST_MESSAGES || bytes + each.message.bytes > MOST_BYTES || batch[0]?.signal !== each.signal
      if (isFull && batch.length > 0) {
        void this.#sendTogether(batch)
        batch = []
        bytes = 0
      }
      batch.push(each)
      bytes += each.message.bytes
    }
    void this.#sendTogether(batch)
  }

  async #sendTogether(batch: readonly Waiting[]): Promise<void> {
    const [first] = batch
    if (first === undefined) return
    const messages = batch.map(({ message }) => message)
    const outcomes = await this.#send(messages, first.signal)
    for (const [index, { settle }] of batch.entries()) settle(outcomes[index] ?? NO_OUTCOME)
  }
}

const NO_OUTCOME: Outcome = { type: 'unknown', error: 'the batch gave no outcome for it' }
