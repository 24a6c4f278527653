import type { Clock } from './clock.ts'

/**
 * Wakes whoever waits for something to do. A wake-up says only "look again". One that comes while nobody waits is kept, once, so that
 * looking first and waiting second loses nothing. One that woke somebody is not kept for the others.
 */
export class WakeUp {
  readonly #clock: Clock
  readonly #waiters = new Set<() => void>()
  #isKept = false

  /** @param clock measures the waiting. */
  constructor(clock: Clock) {
    this.#clock = clock
  }

  notify(): void {
    if (this.#waiters.size === 0) this.#isKept = true
    for (const wake of this.#waiters) wake()
  }

  /**
   * Waits for the next wake-up, for `ms` milliseconds, or until `signal` aborts, whichever comes first.
   * @returns whether it was a wake-up.
   */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    if (this.#isKept) {
      this.#isKept = false
      return true
    }
    const woken = new AbortController()
    const wake = () => {
      // Removed here, not after the sleep: a wake-up that comes before the sleeper runs again must be kept for its next wait.
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
