import { abortable, limitedTo } from '../../base/abortable.ts'
import type { Clock } from '../../base/clock.ts'
import { TransientError } from '../../base/errors.ts'
import { type Answer, type Failure, StepFailure, unanswered, withoutEffect } from '../contract/outcomes.ts'
import { ABORTED } from '../transport/exchange.ts'
import { LEAST_SHARE, type OutgoingRequest, type Transport } from '../transport/transport.ts'

export type StepRequest = Omit<OutgoingRequest, 'timeoutMs'>

/**
 * The requests of one delivery, which share the destination's timeout. `query` and `submit` return an
 * answer with any status.
 * @throws StepFailure if no answer arrives.
 * @throws TransientError if too little time is left to send a request.
 */
export class Steps {
  readonly clock: Clock
  readonly #transport: Transport
  readonly #allMs: number
  readonly #signal: AbortSignal
  readonly #endsAt: number

  constructor(transport: Transport, clock: Clock, allMs: number, signal: AbortSignal) {
    this.clock = clock
    this.#transport = transport
    this.#allMs = allMs
    this.#signal = signal
    this.#endsAt = clock.steady() + allMs
  }

  /** Sends a request that changes nothing at the target. If no answer arrives, the delivery is retried. */
  async query(request: StepRequest): Promise<Answer> {
    return await this.#send(request, withoutEffect)
  }

  /** Sends the request that delivers the change. If no answer arrives, the outcome is unknown. */
  async submit(request: StepRequest): Promise<Answer> {
    // With too little time left, the request could be cut off, and the outcome would be unknown. The next attempt
    // reuses the ticket and the customer id.
    if (this.#leftMs < this.#allMs * LEAST_SHARE) throw this.#late
    return await this.#send(request, (failure) => failure)
  }

  /** @returns steps with their own timeout and signal, for work that deliveries share, such as a login. */
  independent(): Steps {
    return new Steps(this.#transport, this.clock, this.#allMs, new AbortController().signal)
  }

  /**
   * Waits for shared work, at most until this delivery's timeout.
   * @throws StepFailure on timeout. The work continues.
   */
  async wait<T>(work: Promise<T>): Promise<T> {
    const over = limitedTo(Math.max(0, Math.ceil(this.#leftMs)), this.#signal)
    try {
      return await abortable(work, over)
    } catch (error) {
      if (error !== over.reason) throw error
      throw new StepFailure(withoutEffect({ type: 'unknown', error: this.#signal.aborted ? ABORTED : this.#late.message }))
    }
  }

  get #leftMs(): number {
    return this.#endsAt - this.clock.steady()
  }

  get #late(): TransientError {
    return new TransientError(`the requests of this attempt took longer than ${this.#allMs} ms`)
  }

  async #send(request: StepRequest, meaning: (failure: Failure) => Failure): Promise<Answer> {
    const timeoutMs = Math.ceil(this.#leftMs)
    if (timeoutMs <= 0) throw this.#late
    const result = await this.#transport.send({ ...request, timeoutMs }, this.#signal)
    if (result.type !== 'answer') throw new StepFailure(meaning(unanswered(result)))
    return result
  }
}
