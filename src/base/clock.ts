/** Time, sleep and randomness, passed as a parameter so that tests can control them. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Monotonic milliseconds for measuring waits. Only differences within a process are valid. To store a time, use `now`. */
  steady(): number
  /** A number in [0, 1). */
  random(): number
  /** Resolves after `ms` milliseconds, or immediately when `signal` aborts. Never rejects: the caller checks the signal. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls `action` after `ms` milliseconds, at most a day. Cheaper than `sleep`. @returns a function that cancels the call. */
  after(ms: number, action: () => void): () => void
}

const LONGEST_TIMEOUT_MS = 86_400_000

export const systemClock: Clock = {
  now: () => Date.now(),
  steady: () => performance.now(),
  random: () => Math.random(),
  async sleep(ms, signal) {
    // Steps of a day at most, because setTimeout fires immediately above 31 bits.
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

/** Replaces the sleep of `node:timers`, which creates an error with a stack for each early wake-up, thousands a second. */
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

/** A clock that moves only by `advance` and `put`. */
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

  /** Moves the clock and wakes, in order, every sleeper that is due. */
  advance(ms: number): void {
    this.#now += ms
    this.#steady += ms
    const due = this.#sleepers.filter((s) => s.at <= this.#steady).sort((a, b) => a.at - b.at)
    this.#sleepers = this.#sleepers.filter((s) => s.at > this.#steady)
    for (const sleeper of due) sleeper.wake()
  }

  /** Moves the wall clock by `ms`, possibly back. The steady clock doesn't move. */
  put(ms: number): void {
    this.#now += ms
  }
}

/**
 * Exponential backoff with jitter: a random wait of 50–100% of min(cap, base × 2^attempt), in milliseconds. Jitter spreads the retries of
 * callers that failed together. @param attempt 0 for the first wait.
 */
export function backoffMs(clock: Clock, attempt: number, baseMs: number, capMs: number): number {
  return doublingMs(attempt, baseMs, capMs) * (0.5 + clock.random() / 2)
}

/** `backoffMs` without jitter. */
export function doublingMs(attempt: number, baseMs: number, capMs = Number.POSITIVE_INFINITY): number {
  return Math.min(capMs, baseMs * 2 ** Math.min(attempt, 40))
}
