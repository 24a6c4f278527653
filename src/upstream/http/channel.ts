import { abortable } from '../../base/abortable.ts'
import { type Aliveness, Circuit, type Permit } from '../../base/circuit.ts'
import type { Clock } from '../../base/clock.ts'
import { TransientError } from '../../base/errors.ts'
import { type Priority, RateLimiter } from '../../base/limiter.ts'
import type { Observer } from '../../base/observer.ts'
import { clockSkewMs, failureOf, type HttpAnswer, retryAfterMs } from './answer.ts'
import { type UpstreamClass, UpstreamTransientError, upstreamClass } from './errors.ts'
import type { Http, Parts } from './http.ts'
import { type Call, routeOf } from './operations.ts'

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  readonly priority?: Priority | undefined
  /**
   * True if it is uncertain whether the path exists. A failure then doesn't affect the circuit, and only a 429 for a
   * document lowers the rate. While the circuit is open, the request isn't sent.
   */
  readonly isProbe?: boolean | undefined
}

/** A pause of more than 5 s that the service requested. Shorter pauses aren't reported. */
export interface Pause {
  readonly ms: number
  /** The status and the requested route. */
  readonly reason: string
}

const PROBE_WAIT_MS = 1_000

/**
 * If a successful `GET /broker/me` closes the circuit, later failures don't open the circuit again for this long. The
 * service then works, and only requests for single submissions fail.
 */
const VOUCHED_MS = 60_000

const SKEW_KNOWN_MS = 3_600_000

/**
 * Sends all requests of an account, including token exchanges. Applies rate limit, circuit breaker, and
 * metrics. Callers retry.
 */
export class Channel {
  readonly limiter: RateLimiter
  readonly #http: Http
  readonly #clock: Clock
  readonly #observer: Observer
  readonly #circuit: Circuit
  readonly #labels: { readonly account: string }
  readonly #onPause: (pause: Pause) => void
  #pauseReason = ''
  #identify: () => Promise<unknown> = async () => undefined
  #vouchedUntil = Number.NEGATIVE_INFINITY
  /**
   * `lead` is the wall clock minus the steady clock when the skew was measured. If this difference changes later, the
   * wall clock was set.
   */
  #skew: { readonly ms: number; readonly at: number; readonly lead: number } | null = null

  /** @param onPause receives each pause that an answer requests, if longer than 5 s. */
  constructor(
    account: string,
    http: Http,
    requestsPerSecond: number,
    clock: Clock,
    observer: Observer,
    onPause: (pause: Pause) => void = () => undefined,
  ) {
    this.limiter = new RateLimiter(clock, requestsPerSecond)
    this.#http = http
    this.#clock = clock
    this.#observer = observer
    this.#circuit = new Circuit(clock)
    this.#labels = { account }
    this.#onPause = onPause
  }

  /**
   * Sets `identify`, the request that tests an open circuit first. A request for a submission could fail because of
   * its submission alone, and so keep the circuit open.
   */
  probeFirst(identify: () => Promise<unknown>): void {
    this.#identify = identify
  }

  /**
   * Sends a request and reads its answer.
   * @param read turns a successful answer into the result. If `read` throws, the request counts as failed.
   * @throws UpstreamTransientError, UpstreamPermanentError.
   * @throws the reason of `signal` when it aborts.
   */
  async run<T>(call: Call, parts: Parts, read: (answer: HttpAnswer) => T, options: RequestOptions): Promise<T> {
    const openMs = this.#circuit.waitMs()
    if (openMs > 0) throw circuitOpenError(call, openMs)
    await this.#take(call, options)
    if (!options.isProbe && call.submissionId !== null && this.#circuit.awaitsProbe) {
      await abortable(
        this.#identify().catch(() => undefined),
        options.signal,
      )
    }
    if (options.isProbe && this.#circuit.isOpen) throw circuitOpenError(call, Math.max(this.#circuit.waitMs(), PROBE_WAIT_MS))
    const permit = this.#circuit.admit()
    if (permit === null) throw circuitOpenError(call, this.#circuit.waitMs())
    const sentAt = this.#clock.steady()
    const sentAtByClock = this.#clock.now()
    try {
      const answer = await this.#http.send(call, parts, options.signal)
      this.#noteClock(answer, sentAtByClock)
      if (!options.isProbe || (call.operation === 'document' && answer.status === 429)) this.#obeyRetryAfter(call, answer, sentAt)
      // `take` receives redirects too.
      const isTaken = parts.take !== undefined && answer.status >= 200 && answer.status < 400
      const failure = isTaken ? null : failureOf(call, answer, this.#clock.now())
      if (failure !== null) throw failure
      const result = read(answer)
      this.#settle(call, permit, sentAt, 'ok')
      return result
    } catch (error) {
      this.#settle(call, permit, sentAt, upstreamClass(error), options.isProbe)
      throw error
    }
  }

  /**
   * Milliseconds until requests can be sent; 0 if immediately. More than 0 if the circuit is open, or if more than 5 s
   * of a requested pause are left. Until then, requests fail.
   */
  waitMs(): number {
    return Math.max(this.#circuit.waitMs(), this.limiter.pausedMs)
  }

  /** The current pause; null if there is none. */
  get pause(): Pause | null {
    const ms = this.limiter.pausedMs
    return ms > 0 ? { ms, reason: this.#pauseReason } : null
  }

  /** Adopts a pause from another process, unless a longer pause is active. */
  join({ ms, reason }: Pause): void {
    if (ms <= this.limiter.pausedMs) return
    this.limiter.pause(ms)
    this.#pauseReason = reason
  }

  /** The service's clock minus ours, in ms. Null if no answer of the last hour had a `Date` header. */
  get clockSkewMs(): number | null {
    if (this.#skew === null || this.#clock.steady() - this.#skew.at > SKEW_KNOWN_MS) return null
    return this.#skew.ms - (this.#clock.now() - this.#clock.steady() - this.#skew.lead)
  }

  async close(): Promise<void> {
    this.limiter.close()
    await this.#http.close()
  }

  async #take(call: Call, options: RequestOptions): Promise<void> {
    try {
      await this.limiter.take(options.priority, options.signal)
    } catch (error) {
      if (error instanceof TransientError) throw new UpstreamTransientError('throttled', call, error.message, error.retryAfterMs)
      throw error
    }
  }

  #noteClock(answer: HttpAnswer, sentAt: number): void {
    const now = this.#clock.now()
    const ms = clockSkewMs(answer.headers, sentAt, now)
    if (ms === undefined) return
    const at = this.#clock.steady()
    this.#skew = { ms, at, lead: now - at }
    this.#observer.set('clock_skew_seconds', ms / 1000, this.#labels)
  }

  /** Lowers the rate and pauses: after a 429, and after any other status with Retry-After (trap 49). */
  #obeyRetryAfter(call: Call, answer: HttpAnswer, sentAt: number): void {
    const pauseMs = retryAfterMs(answer.headers, this.#clock.now()) ?? 0
    if (answer.status !== 429 && pauseMs === 0) return
    const before = this.limiter.pausedMs
    this.limiter.throttled(pauseMs, sentAt)
    if (this.limiter.pausedMs <= before) return
    this.#pauseReason = `${answer.status} with Retry-After to ${routeOf(call.operation)}`
    this.#onPause({ ms: pauseMs, reason: this.#pauseReason })
  }

  #settle(call: Call, permit: Permit, sentAt: number, outcome: 'ok' | UpstreamClass | null, isProbe = false): void {
    const now = this.#clock.steady()
    if (permit.probe && call.operation === 'me' && outcome === 'ok') this.#vouchedUntil = now + VOUCHED_MS
    const judged = circuitOutcome(outcome)
    const counts = !isProbe && (judged !== 'dead' || now >= this.#vouchedUntil)
    this.#circuit.settle(permit, counts ? judged : 'unknown')
    this.#observer.set('upstream_circuit_open', this.#circuit.isOpen ? 1 : 0, this.#labels)
    this.#observer.set('upstream_rate', this.limiter.rate, this.#labels)
    if (outcome === null) return
    this.#observer.count('upstream_requests_total', { ...this.#labels, class: outcome })
    this.#observer.time('upstream_seconds', (now - sentAt) / 1000, { ...this.#labels, operation: call.operation })
  }
}

function circuitOutcome(outcome: 'ok' | UpstreamClass | null): Aliveness {
  if (outcome === null) return 'unknown'
  return outcome === 'network' || outcome === 'unavailable' ? 'dead' : 'alive'
}

function circuitOpenError(call: Call, waitMs: number): UpstreamTransientError {
  return new UpstreamTransientError('unavailable', call, 'not sent, because the service has failed many times in a row', waitMs)
}
