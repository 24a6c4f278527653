import type { Clock } from './clock.ts'

/**
 * Wakes code that waits in `wait`. If no code is waiting, one wake-up is stored for the next `wait`. This way, a
 * wake-up between the caller's check and `wait` isn't missed.
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
      // Removed here and not only after the sleep. A wake-up before the sleeper
      // resumes must be stored for its next `wait`.
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
