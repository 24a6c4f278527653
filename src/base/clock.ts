/** Source of time, sleep, and random numbers. Passed as a parameter, so tests can control them. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /**
   * Monotonic milliseconds for measuring waits. Compare only values of the same process. To store a time, use `now`.
   */
  steady(): number
  /** A number in [0, 1). */
  random(): number
  /**
   * Resolves after `ms` milliseconds, or immediately when `signal` aborts. Never rejects, so check `signal` afterward.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /**
   * Calls `action` once after `ms` milliseconds. `ms` must not exceed one day. Cheaper than `sleep`.
   * @returns a function that cancels the call.
   */
  after(ms: number, action: () => void): () => void
}

const LONGEST_TIMEOUT_MS = 86_400_000

export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  random: () => Math.random(),
  async sleep(ms, signal) {
    // setTimeout fires immediately if the delay exceeds 31 bits (about 25 days), so a long sleep has steps of one day.
    for (let left = Math.max(ms, 0); !signal?.aborted; left -= LONGEST_TIMEOUT_MS) {
      await wakeOrTimeout(Math.min(left, LONGEST_TIMEOUT_MS), signal)
      if (left <= LONGEST_TIMEOUT_MS) return
    }
  },
  after(ms, action) {
    const timer = setTimeout(action, ms)
    return () => clearTimeout(timer)
  },
}

/**
 * Used instead of `setTimeout` of `node:timers/promises`, which creates an error with a stack trace on each abort.
 * Aborts can happen thousands of times a second.
 */
function wakeOrTimeout(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    const timer = setTimeout(wake, ms)
    signal?.addEventListener('abort', wake, { once: true })
  })
}

/** A clock that moves only when `advance` or `put` is called. */
export class ManualClock implements Clock {
  #now: number
  #steady = 0
  readonly #random: () => number
  #sleepers: { at: number; wake: () => void }[] = []

  constructor(startMs = Date.UTC(2026, 0, 1), random: () => number = () => 0.5) {
    this.#now = startMs
    this.#random = random
  }

  now(): number {
    return this.#now
  }

  steady(): number {
    return this.#steady
  }

  random(): number {
    return this.#random()
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted || ms <= 0) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = this.after(ms, () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      })
      const abort = () => {
        cancel()
        resolve()
      }
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  after(ms: number, action: () => void): () => void {
    const sleeper = { at: this.#steady + ms, wake: action }
    this.#sleepers.push(sleeper)
    return () => {
      this.#sleepers = this.#sleepers.filter((other) => other !== sleeper)
    }
  }

  /** Moves `now` and `steady` forward by `ms`, then wakes all due sleepers, earliest first. */
  advance(ms: number): void {
    this.#now += ms
    this.#steady += ms
    const due = this.#sleepers.filter((s) => s.at <= this.#steady).sort((a, b) => a.at - b.at)
    this.#sleepers = this.#sleepers.filter((s) => s.at > this.#steady)
    for (const sleeper of due) sleeper.wake()
  }

  /** Moves only the wall clock (`now`) by `ms`. A negative `ms` moves it back. */
  put(ms: number): void {
    this.#now += ms
  }
}

/**
 * Exponential backoff with jitter: a random wait of 50–100% of min(`capMs`, `baseMs` × 2^`attempt`), in milliseconds.
 * The jitter spreads the retries of callers that failed at the same time.
 * @param attempt 0 for the first wait.
 */
export function backoffMs(clock: Clock, attempt: number, baseMs: number, capMs: number): number {
  return doublingMs(attempt, baseMs, capMs) * (0.5 + clock.random() / 2)
}

/** Exponential backoff without jitter: min(`capMs`, `baseMs` × 2^`attempt`), in milliseconds. */
export function doublingMs(attempt: number, baseMs: number, capMs = Number.POSITIVE_INFINITY): number {
  return Math.min(capMs, baseMs * 2 ** Math.min(attempt, 40))
}
