import { type Clock, systemClock } from '../../src/base/clock.ts'

export interface Waking {
  readonly passedMs?: number
  readonly napMs?: number
}

/** The system's clock, with sleeps that a test can end: periodic work then happens immediately. Time limits (`after`) are real. */
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

  wake({ passedMs = 0, napMs = Number.POSITIVE_INFINITY }: Waking = {}): void {
    this.#aheadMs += passedMs
    for (const [woken, ms] of this.#sleeping) if (ms <= napMs) woken.abort()
  }
}
