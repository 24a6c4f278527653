import { abortable } from './abortable.ts'
import type { Clock } from './clock.ts'
import { TransientError } from './errors.ts'

/** `live` work keeps the mirror fresh. `background` work, such as reconciling and discovery, can wait. */
export type Priority = 'live' | 'background'

/** Lowest rate after throttling, in requests per second. */
const FLOOR_RPS = 0.1
/** Share of the full rate that a lowered rate regains per second. Recovering from 0 to 100% takes 200 s. */
const RECOVERY_PER_SECOND = 0.005
/**
 * If at most this many ms of a pause are left, callers wait for its end. Otherwise they get an error, because a waiting
 * caller would hold a lease.
 */
const PATIENCE_MS = 5_000
/** Capacity of the token bucket: the number of requests in this many seconds at the current rate, but at least 1. */
const BURST_SECONDS = 0.1
/** Every tenth permission goes to waiting background work, even if live work is waiting. */
const BACKGROUND_TURN = 10

/**
 * Rate limiter: a token bucket with a queue. When the other side throttles a request, the rate halves,
 * then recovers slowly.
 * During a pause that the other side requested, no request passes (trap 49).
 */
export class RateLimiter {
  readonly #clock: Clock
  readonly #fullRps: number
  readonly #waiting: Record<Priority, PromiseWithResolvers<void>[]> = { live: [], background: [] }
  #processes = 1
  #rps: number
  #tokens = 1
  #countedAt: number
  #pausedUntil = Number.NEGATIVE_INFINITY
  #loweredAt = Number.NEGATIVE_INFINITY
  #turn = 0
  #isRunning = false
  /**
   * Ends the sleep in `#run` early, for example if no caller waits anymore. Otherwise the timer would delay the end of
   * the process.
   */
  #sleeping = new AbortController()
  #isClosed = false

  /** @param requestsPerSecond the full rate. The limiter never exceeds it. */
  constructor(clock: Clock, requestsPerSecond: number) {
    this.#clock = clock
    this.#fullRps = requestsPerSecond
    this.#rps = requestsPerSecond
    this.#countedAt = clock.steady()
  }

  /** The current rate, in requests per second. */
  get rate(): number {
    this.#count()
    return this.#rps
  }

  /**
   * Milliseconds left of a pause; 0 if at most 5 s are left or there is no pause. `take` throws an error if this value
   * is more than 0. Otherwise `take` waits for the rest of the pause.
   */
  get pausedMs(): number {
    const pauseMs = this.#pausedUntil - this.#clock.steady()
    return pauseMs > PATIENCE_MS ? pauseMs : 0
  }

  /** Divides the full rate equally among `processes`, the number of processes that send requests. */
  shareAmong(processes: number): void {
    this.#count()
    const before = this.#ceiling
    this.#processes = Math.max(1, processes)
    // A throttled rate changes in the same proportion as the full rate.
    this.#rps = Math.max(this.#floor, this.#rps * (this.#ceiling / before))
  }

  /**
   * Waits for permission to send one request. Callers are served in order. `live` callers come before `background`
   * callers, except for every tenth permission.
   * @throws TransientError if the limiter is closed, or if more than 5 s of a pause are left (with `retryAfterMs`).
   * @throws the abort reason of `signal`.
   */
  async take(priority: Priority = 'live', signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    if (this.#isClosed) throw closedError()
    if (this.pausedMs > 0) throw pausedError(this.pausedMs)
    const waiting = this.#waiting[priority]
    const turn = Promise.withResolvers<void>()
    waiting.push(turn)
    if (!this.#isRunning) void this.#run()
    try {
      await abortable(turn.promise, signal)
    } finally {
      const position = waiting.indexOf(turn)
      if (position >= 0) waiting.splice(position, 1)
      if (this.#next() === null) this.#sleeping.abort()
    }
  }

  /** Gives back the permission for a request that wasn't sent. */
  release(): void {
    this.#tokens += 1
    this.#sleeping.abort()
  }

  /**
   * Records that the other side throttled a request, and lowers the rate. Requests that were in flight together lower
   * the rate only once.
   * @param pauseMs the requested pause in milliseconds; 0 if no pause was requested.
   * @param sentAt when the request was sent, by the steady clock.
   */
  throttled(pauseMs: number, sentAt: number): void {
    this.#count()
    const now = this.#clock.steady()
    if (sentAt >= this.#loweredAt) {
      this.#rps = Math.max(this.#floor, this.#rps / 2)
      this.#loweredAt = now
    }
    this.#tokens = 0
    this.pause(pauseMs)
  }

  /** Blocks all requests for `pauseMs` milliseconds. Never shortens an earlier pause. */
  pause(pauseMs: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.steady() + pauseMs)
    if (pauseMs > PATIENCE_MS) this.#refuseAll(pausedError(pauseMs))
  }

  /** Rejects all waiting and future callers. */
  close(): void {
    this.#isClosed = true
    this.#refuseAll(closedError())
  }

  get #ceiling(): number {
    return this.#fullRps / this.#processes
  }

  get #floor(): number {
    return Math.min(FLOOR_RPS, this.#ceiling)
  }

  /** Adds tokens, and raises a lowered rate, for the time since the previous call. */
  #count(): void {
    const now = this.#clock.steady()
    const seconds = Math.max(0, now - this.#countedAt) / 1000
    this.#countedAt = now
    this.#rps = Math.min(this.#ceiling, this.#rps + seconds * RECOVERY_PER_SECOND * this.#ceiling)
    this.#tokens = Math.min(Math.max(1, this.#rps * BURST_SECONDS), this.#tokens + seconds * this.#rps)
  }

  #waitMs(): number {
    this.#count()
    const tokenMs = Math.ceil(((1 - this.#tokens) / this.#rps) * 1000)
    return Math.max(tokenMs, this.#pausedUntil - this.#clock.steady(), 0)
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    for (let priority = this.#next(); priority !== null; priority = this.#next()) {
      const waitMs = this.#waitMs()
      if (waitMs > 0) {
        this.#sleeping = new AbortController()
        await this.#clock.sleep(waitMs, this.#sleeping.signal)
        continue
      }
      this.#tokens -= 1
      this.#turn += 1
      this.#waiting[priority].shift()?.resolve()
    }
    this.#isRunning = false
  }

  #next(): Priority | null {
    const { live, background } = this.#waiting
    if (background.length > 0 && (live.length === 0 || this.#turn % BACKGROUND_TURN === BACKGROUND_TURN - 1)) return 'background'
    return live.length > 0 ? 'live' : null
  }

  #refuseAll(error: TransientError): void {
    const { live, background } = this.#waiting
    for (const turn of [...live.splice(0), ...background.splice(0)]) turn.reject(error)
    this.#sleeping.abort()
  }
}

function pausedError(pauseMs: number): TransientError {
  return new TransientError('the service asked for a pause', { retryAfterMs: pauseMs })
}

function closedError(): TransientError {
  return new TransientError('the client is closed')
}
