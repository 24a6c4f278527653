import type { Clock } from './clock.ts'

/**
 * Wakes code that waits in `wait`. If no code is waiting, stores one wake-up for the next `wait`. Otherwise a caller
 * that checks for work and then calls `wait` could miss a wake-up in between.
 */
export class WakeUp {
  readonly #clock: Clock
  readonly #waiters = new Set<() => void>()
  #isKept = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  notify(): void {
    if (this.#waiters.size === 0) this.#isKept = true
    for (const wake of this.#waiters) wake()
  }

  /** Waits for a wake-up, at most `ms` milliseconds or until `signal` aborts. @returns true if a wake-up came. */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    if (this.#isKept) {
      this.#isKept = false
      return true
    }
    const woken = new AbortController()
    const wake = () => {
      // Remove the waiter here, not only after the sleep. If `notify` is called again before the sleeper resumes, the
      // wake-up is then stored for the next `wait`.
      this.#waiters.delete(wake)
      woken.abort('woken')
    }
    this.#waiters.add(wake)
    signal.addEventListener('abort', wake, { once: true })
    await this.#clock.sleep(ms, woken.signal)
    signal.removeEventListener('abort', wake)
    this.#waiters.delete(wake)
    return woken.signal.aborted && !signal.aborted
  }
}
