import type { Clock } from '../../base/clock.ts'

const RUNG = 'rung'

/** A bell for one listener: a ring that comes while it does not listen is kept, once. */
export class Wake {
  readonly #clock: Clock
  #rung = false
  #listening: AbortController | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  ring(): void {
    this.#rung = true
    // With a reason of its own, none is made for each ring.
    this.#listening?.abort(RUNG)
  }

  /** Waits for a ring, at most `ms` milliseconds, and not after `signal` aborted. @returns whether it rang. */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#rung && !signal.aborted) {
      const listening = new AbortController()
      const stop = () => listening.abort()
      this.#listening = listening
      signal.addEventListener('abort', stop, { once: true })
      await this.#clock.sleep(ms, listening.signal)
      signal.removeEventListener('abort', stop)
      this.#listening = null
    }
    const rung = this.#rung
    this.#rung = false
    return rung
  }
}
