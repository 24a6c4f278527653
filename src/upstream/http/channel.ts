import { abortable } from '../../base/abortable.ts'
import { type Aliveness, Circuit, type Permit } from '../../base/circuit.ts'
import type { Clock } from '../../base/clock.ts'
import { TransientError } from '../../base/errors.ts'
import { type Priority, RateLimiter } from '../../base/limiter.ts'
import type { Observer } from '../../base/observer.ts'
import { clockSkewMs, failureOf, type HttpAnswer, retryAfterMs } from './answer.ts'
import { type UpstreamClass, UpstreamTransientError, upstreamClass } from './errors.ts'
import type { Http, Parts } from './http.ts'
import type { Call } from './operations.ts'

export interface Manner {
  readonly signal?: AbortSignal | undefined
  readonly priority?: Priority | undefined
  /**
   * The request is about nothing that is known to be there: its failure says nothing of the service, so neither the circuit nor
   * the rate heeds it, and it is never the request that tries a service thought dead.
   */
  readonly aside?: boolean | undefined
}

/** While the service is thought dead, what is asked aside waits for others to find it alive again. */
const ASIDE_WAIT_MS = 1_000

/**
 * A service that said who we are when it was thought dead is alive for so long: what it does not answer then is its trouble with single
 * submissions, and says nothing of the others.
 */
const VOUCHED_MS = 60_000

/** What an answer told of the clocks is believed for so long. */
const SKEW_KNOWN_MS = 3_600_000

/**
 * The one way to the service for all requests of an account, token exchanges included: through the rate limit and the
 * circuit, and past the metrics. It tries once; trying again is up to whoever asked.
 */
export class Channel {
  readonly limiter: RateLimiter
  readonly #http: Http
  readonly #clock: Clock
  readonly #observer: Observer
  readonly #circuit: Circuit
  readonly #labels: { readonly account: string }
  #whoAmI: () => Promise<unknown> = async () => undefined
  #vouchedUntil = Number.NEGATIVE_INFINITY
  #skew: { readonly ms: number; readonly at: number } | null = null

  constructor(account: string, http: Http, requestsPerSecond: number, clock: Clock, observer: Observer) {
    this.limiter = new RateLimiter(clock, requestsPerSecond)
    this.#http = http
    this.#clock = clock
    this.#observer = observer
    this.#circuit = new Circuit(clock)
    this.#labels = { account }
  }

  /**
   * Has a service that is thought dead asked who we are, before anything else: a submission of which every read fails would be the wrong one
   * to find out by.
   */
  askFirst(whoAmI: () => Promise<unknown>): void {
    this.#whoAmI = whoAmI
  }

  /**
   * Sends a request and reads its answer.
   * @param read makes the result of a successful answer; what it throws counts as the outcome of the request.
   * @throws UpstreamTransientError, UpstreamPermanentError by the class of the failure; the reason of `signal` when it aborts.
   */
  async run<T>(call: Call, parts: Parts, read: (answer: HttpAnswer) => T, manner: Manner): Promise<T> {
    const deadMs = this.#circuit.waitMs()
    if (deadMs > 0) throw deadError(call, deadMs)
    await this.#take(call, manner)
    if (!manner.aside && call.submissionId !== null && this.#circuit.awaitsProbe) {
      await abortable(
        this.#whoAmI().catch(() => undefined),
        manner.signal,
      )
    }
    if (manner.aside && this.#circuit.isOpen) throw deadError(call, Math.max(this.#circuit.waitMs(), ASIDE_WAIT_MS))
    const permit = this.#circuit.admit()
    if (permit === null) throw deadError(call, this.#circuit.waitMs())
    const sentAt = this.#clock.steady()
    const sentAtByClock = this.#clock.now()
    try {
      const answer = await this.#http.send(call, parts, manner.signal)
      this.#noteClock(answer, sentAtByClock)
      if (!manner.aside) this.#heed(answer, sentAt)
      const failure = failureOf(call, answer, this.#clock.now())
      if (failure !== null) throw failure
      const result = read(answer)
      this.#settle(call, permit, sentAt, 'ok')
      return result
    } catch (error) {
      this.#settle(call, permit, sentAt, upstreamClass(error), manner.aside)
      throw error
    }
  }

  /** For how long a request would be refused unsent, in milliseconds: the service is dead, or asked for a pause. */
  waitMs(): number {
    return Math.max(this.#circuit.waitMs(), this.limiter.pausedMs)
  }

  /** How far the service's clock is ahead of ours, by an answer of the last hour, in milliseconds; null when none told. */
  get clockSkewMs(): number | null {
    return this.#skew === null || this.#clock.now() - this.#skew.at > SKEW_KNOWN_MS ? null : this.#skew.ms
  }

  async close(): Promise<void> {
    this.limiter.close()
    await this.#http.close()
  }

  async #take(call: Call, manner: Manner): Promise<void> {
    try {
      await this.limiter.take(manner.priority, manner.signal)
    } catch (error) {
      if (error instanceof TransientError) throw new UpstreamTransientError('throttled', call, error.message, error.retryAfterMs)
      throw error
    }
  }

  #noteClock(answer: HttpAnswer, sentAt: number): void {
    const now = this.#clock.now()
    const ms = clockSkewMs(answer.headers, sentAt, now)
    if (ms === undefined) return
    this.#skew = { ms, at: now }
    this.#observer.set('clock_skew_seconds', ms / 1000, this.#labels)
  }

  /** A service that says when to come back, on whatever status, is obeyed (trap 49); "at once" asks for nothing. */
  #heed(answer: HttpAnswer, sentAt: number): void {
    const pauseMs = retryAfterMs(answer.headers, this.#clock.now()) ?? 0
    if (answer.status === 429 || pauseMs > 0) this.limiter.throttled(pauseMs, sentAt)
  }

  /** @param outcome the class of the failure; null when there is none, because the caller gave up. */
  #settle(call: Call, permit: Permit, sentAt: number, outcome: 'ok' | UpstreamClass | null, aside = false): void {
    const now = this.#clock.steady()
    if (permit.probe && call.operation === 'me' && outcome === 'ok') this.#vouchedUntil = now + VOUCHED_MS
    const judged = circuitOutcome(outcome)
    const tells = !aside && (judged !== 'dead' || now >= this.#vouchedUntil)
    this.#circuit.settle(permit, tells ? judged : 'unknown')
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

function deadError(call: Call, waitMs: number): UpstreamTransientError {
  return new UpstreamTransientError('unavailable', call, 'not asked, because the service has failed many times in a row', waitMs)
}
