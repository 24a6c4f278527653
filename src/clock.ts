import { setTimeout as timeout } from 'node:timers/promises'

/** Now, sleep and chance: the three things that code takes as a parameter so that a test can hold them. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** A number in [0, 1). */
  random(): number
  /**
   * Resolves after `ms` milliseconds, or at once when `signal` aborts. It never rejects: who was
   * woken asks the signal.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** The real clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  async sleep(ms, signal) {
    if (signal?.aborted) return
    try {
      // One day at most: setTimeout answers at once to what does not fit 31 bits.
      await timeout(Math.min(Math.max(ms, 0), 86_400_000), undefined, signal ? { signal } : {})
    } catch {
      // Aborted: the caller looks at its signal.
    }
  },
}

/** A clock that stands still until it is told to move; sleepers wake when their time has come. */
export class ManualClock implements Clock {
  #now: number
  readonly #random: () => number
  #sleepers: { at: number; wake: () => void }[] = []

  constructor(startMs = Date.UTC(2026, 0, 1), random: () => number = () => 0.5) {
    this.#now = startMs
    this.#random = random
  }

  now(): number {
    return this.#now
  }

  random(): number {
    return this.#random()
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted || ms <= 0) return Promise.resolve()
    return new Promise((resolve) => {
      const sleeper = { at: this.#now + ms, wake: resolve }
      this.#sleepers.push(sleeper)
      signal?.addEventListener(
        'abort',
        () => {
          this.#sleepers = this.#sleepers.filter((other) => other !== sleeper)
          resolve()
        },
        { once: true },
      )
    })
  }

  /** Moves the clock and wakes, in order of their times, all who have slept long enough. */
  advance(ms: number): void {
    this.#now += ms
    const due = this.#sleepers.filter((s) => s.at <= this.#now).sort((a, b) => a.at - b.at)
    this.#sleepers = this.#sleepers.filter((s) => s.at > this.#now)
    for (const sleeper of due) sleeper.wake()
  }
}

/** Full jitter: a time in [0, min(cap, base × 2^attempt)), so that many who failed together do not return together. */
export function backoffMs(clock: Clock, attempt: number, baseMs: number, capMs: number): number {
  return clock.random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt, 40))
}
