import type { Clock } from '../base/clock.ts'

/** A request's time to be answered in. */
export interface Deadline {
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly expired: boolean
  /** Has `action` called when the time is over, in place of what was given before; null for nothing. Never, when it is over already. */
  onExpiry(action: (() => void) | null): void
  /** The request was answered. */
  end(): void
}

/**
 * Deadlines of one length for many requests. They end in the order in which they began, so that one sleeper, which looks at the
 * oldest, serves them all, and a request that is answered in time never costs a timer.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #ms: number
  readonly #open = new Set<RunningDeadline>()
  readonly #closing = new AbortController()
  #watching = false

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  start(): Deadline {
    const deadline = new RunningDeadline(this.#clock, this.#open)
    if (!this.#watching) {
      this.#watching = true
      void this.#watch()
    }
    return deadline
  }

  /** Nothing expires any more, and nothing sleeps. */
  close(): void {
    this.#closing.abort()
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing
    for (;;) {
      const [oldest] = this.#open
      if (oldest === undefined || signal.aborted) break
      const leftMs = oldest.begunAt + this.#ms - this.#clock.steady()
      if (leftMs > 0) await this.#clock.sleep(leftMs, signal)
      else oldest.expire()
    }
    this.#watching = false
  }
}

class RunningDeadline implements Deadline {
  readonly startedAt: number
  /** By the steady clock. */
  readonly begunAt: number
  readonly #open: Set<RunningDeadline>
  #action: (() => void) | null = null
  #expired = false

  constructor(clock: Clock, open: Set<RunningDeadline>) {
    this.startedAt = clock.now()
    this.begunAt = clock.steady()
    this.#open = open
    open.add(this)
  }

  get expired(): boolean {
    return this.#expired
  }

  onExpiry(action: (() => void) | null): void {
    this.#action = action
  }

  end(): void {
    this.#action = null
    this.#open.delete(this)
  }

  expire(): void {
    this.#expired = true
    this.#open.delete(this)
    this.#action?.()
  }
}
