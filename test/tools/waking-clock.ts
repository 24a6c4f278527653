import { type Clock, systemClock } from '../../src/base/clock.ts'

export interface Waking {
  /** How much later it is then, by the steady clock. */
  readonly passedMs?: number
  /** Only those are woken that sleep no longer than this. */
  readonly napMs?: number
}

/**
 * The system's clock, but whoever sleeps is woken as soon as a test says so: what the product does every few seconds or every half minute
 * it does then. Limits in time, which the product sets by `after`, are the system's.
 */
export class WakingClock implements Clock {
  readonly now = systemClock.now
  readonly random = systemClock.random
  readonly after = systemClock.after
  #aheadMs = 0
  readonly #sleeping = new Map<AbortController, number>()

  steady(): number {
    return systemClock.steady() + this.#aheadMs
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const woken = new AbortController()
    this.#sleeping.set(woken, ms)
    await systemClock.sleep(ms, signal ? AbortSignal.any([signal, woken.signal]) : woken.signal)
    this.#sleeping.delete(woken)
  }

  /** Wakes those that sleep now. */
  wake({ passedMs = 0, napMs = Number.POSITIVE_INFINITY }: Waking = {}): void {
    this.#aheadMs += passedMs
    for (const [woken, ms] of this.#sleeping) if (ms <= napMs) woken.abort()
  }
}
