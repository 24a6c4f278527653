import type { Clock } from '../base/clock.ts'

/** Time limit for answering a request. Call `end` after the answer. */
export class Deadline {
  /** Start of the time limit, in ms since the epoch. */
  readonly startedAt: number
  readonly #cancel: () => void
  #expired = false
  #action: (() => void) | null = null

  constructor(clock: Clock, ms: number) {
    this.startedAt = clock.now()
    this.#cancel = clock.after(ms, () => this.#expire())
  }

  get expired(): boolean {
    return this.#expired
  }

  /**
   * Sets the action to run on expiry. Replaces the earlier action; null removes it. After expiry, a
   * new action never runs.
   */
  onExpiry(action: (() => void) | null): void {
    this.#action = action
  }

  end(): void {
    this.#cancel()
  }

  #expire(): void {
    this.#expired = true
    this.#action?.()
  }
}
