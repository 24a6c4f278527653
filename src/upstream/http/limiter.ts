import type { Clock } from '../../base/clock.ts'
import { TransientError } from '../../base/errors.ts'

/** Live work is what keeps the mirror fresh; background work is what can wait: reconciling, and looking for submissions. */
export type Priority = 'live' | 'background'

/** The floor to which throttling can lower the rate, in requests a second. */
const FLOOR_RPS = 0.1
/** How much of the full rate comes back in each second without throttling: from nothing to all in 200 s. */
const RECOVERY_PER_SECOND = 0.005
/** Who would wait longer than this is sent away to come back: a lease is not held through a long pause. */
const PATIENCE_MS = 5_000
/** Time without requests saves up this much, in seconds of the rate, but always one request. */
const BURST_SECONDS = 0.1
/** Of so many turns one is for background work, when some waits, so that live work never starves it. */
const BACKGROUND_TURN = 10

interface Waiting {
  readonly go: () => void
  readonly refuse: (error: unknown) => void
}

/**
 * Token bucket of one account. It holds a tenth of a second's worth, so there are no bursts. When the service throttles, the
 * rate halves, and while it said to pause nobody is let through; then the rate recovers little by little (trap 49).
 */
export class RateLimiter {
  readonly #clock: Clock
  readonly #fullRps: number
  readonly #waiting: Record<Priority, Waiting[]> = { live: [], background: [] }
  #processes = 1
  #rps: number
  #tokens = 1
  #countedAt: number
  #pausedUntil = Number.NEGATIVE_INFINITY
  #loweredAt = Number.NEGATIVE_INFINITY
  #turn = 0
  /** Somebody waits, and is let through in their turn. */
  #pumping = false
  /** Ends the sleep until the next may go: a timer would hold up the end of the process. */
  #rest = new AbortController()
  #closed = false

  /** @param requestsPerSecond the full rate, which is never exceeded. */
  constructor(clock: Clock, requestsPerSecond: number) {
    this.#clock = clock
    this.#fullRps = requestsPerSecond
    this.#rps = requestsPerSecond
    this.#countedAt = clock.steady()
  }

  /** Requests a second that are allowed now. */
  get rate(): number {
    this.#count()
    return this.#rps
  }

  /** Shares the full rate with others: each of `processes` that ask for this account takes an equal part of it. */
  shareAmong(processes: number): void {
    this.#count()
    const before = this.#ceiling
    this.#processes = Math.max(1, processes)
    // What throttling has taught keeps its proportion.
    this.#rps = Math.max(this.#floor, this.#rps * (this.#ceiling / before))
  }

  /**
   * Waits for one's turn: first come, first served, live work before background work.
   * @throws TransientError at once, with `retryAfterMs`, in a pause longer than a few seconds, and when closed.
   * @throws the reason of `signal` when it aborts.
   */
  async take(priority: Priority = 'live', signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    if (this.#closed) throw closedError()
    const pauseMs = this.#pausedUntil - this.#clock.steady()
    if (pauseMs > PATIENCE_MS) throw pausedError(pauseMs)
    const lane = this.#waiting[priority]
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        lane.splice(lane.indexOf(waiting), 1)
        if (this.#next() === null) this.#rest.abort()
        reject(signal?.reason)
      }
      const done = () => signal?.removeEventListener('abort', leave)
      const waiting: Waiting = {
        go: () => {
          done()
          resolve()
        },
        refuse: (error) => {
          done()
          reject(error)
        },
      }
      signal?.addEventListener('abort', leave, { once: true })
      lane.push(waiting)
      if (!this.#pumping) void this.#run()
    })
  }

  /** For how long nothing will be let through, in milliseconds, because the service asked for a pause; 0 for a short one. */
  get pausedMs(): number {
    const pauseMs = this.#pausedUntil - this.#clock.steady()
    return pauseMs > PATIENCE_MS ? pauseMs : 0
  }

  /**
   * The service throttled a request.
   * @param pauseMs how long it asked to be left alone; 0 when it did not say.
   * @param sentAt when that request was sent, by the steady clock: several that were on their way together lower the rate once.
   */
  throttled(pauseMs: number, sentAt: number): void {
    this.#count()
    const now = this.#clock.steady()
    if (sentAt >= this.#loweredAt) {
      this.#rps = Math.max(this.#floor, this.#rps / 2)
      this.#loweredAt = now
    }
    this.#tokens = 0
    this.#pausedUntil = Math.max(this.#pausedUntil, now + pauseMs)
    if (pauseMs > PATIENCE_MS) this.#refuseAll(pausedError(pauseMs))
  }

  /** Sends everyone away, for good. */
  close(): void {
    this.#closed = true
    this.#refuseAll(closedError())
  }

  get #ceiling(): number {
    return this.#fullRps / this.#processes
  }

  get #floor(): number {
    return Math.min(FLOOR_RPS, this.#ceiling)
  }

  /** Counts what the time that passed has brought: tokens, and some of the rate. */
  #count(): void {
    const now = this.#clock.steady()
    const seconds = Math.max(0, now - this.#countedAt) / 1000
    this.#countedAt = now
    this.#rps = Math.min(this.#ceiling, this.#rps + seconds * RECOVERY_PER_SECOND * this.#ceiling)
    this.#tokens = Math.min(Math.max(1, this.#rps * BURST_SECONDS), this.#tokens + seconds * this.#rps)
  }

  /** How long until the next may go. */
  #waitMs(): number {
    this.#count()
    const tokenMs = Math.ceil(((1 - this.#tokens) / this.#rps) * 1000)
    return Math.max(tokenMs, this.#pausedUntil - this.#clock.steady(), 0)
  }

  /** Lets the waiting through, one by one, as long as somebody waits. */
  async #run(): Promise<void> {
    this.#pumping = true
    for (let lane = this.#next(); lane !== null; lane = this.#next()) {
      const waitMs = this.#waitMs()
      if (waitMs > 0) {
        this.#rest = new AbortController()
        await this.#clock.sleep(waitMs, this.#rest.signal)
        continue
      }
      this.#tokens -= 1
      this.#turn += 1
      this.#waiting[lane].shift()?.go()
    }
    this.#pumping = false
  }

  #next(): Priority | null {
    const { live, background } = this.#waiting
    if (background.length > 0 && (live.length === 0 || this.#turn % BACKGROUND_TURN === BACKGROUND_TURN - 1)) return 'background'
    return live.length > 0 ? 'live' : null
  }

  #refuseAll(error: TransientError): void {
    const all = [...this.#waiting.live.splice(0), ...this.#waiting.background.splice(0)]
    for (const waiting of all) waiting.refuse(error)
    this.#rest.abort()
  }
}

function pausedError(pauseMs: number): TransientError {
  return new TransientError('the service asked for a pause', { retryAfterMs: pauseMs })
}

function closedError(): TransientError {
  return new TransientError('the client is closed')
}
