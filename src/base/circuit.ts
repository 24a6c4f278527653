import { backoffMs, type Clock } from './clock.ts'

export interface CircuitLimits {
  readonly failuresToOpen: number
  readonly backoffBaseMs: number
  readonly backoffCapMs: number
}

const LIMITS: CircuitLimits = { failuresToOpen: 10, backoffBaseMs: 1_000, backoffCapMs: 60_000 }

/** Permission to send one request. After the request, pass the permit and the outcome to `settle`. */
export interface Permit {
  readonly probe: boolean
}

/**
 * Outcome of a request. `alive`: the server works. `dead`: no usable answer arrived.
 * `unknown`: this process canceled the request.
 */
export type Aliveness = 'alive' | 'dead' | 'unknown'

/**
 * Circuit breaker. After `failuresToOpen` consecutive failures, the circuit opens and blocks all requests
 * until a backoff time has passed.
 * Then one probe request is allowed. If the probe succeeds, the circuit closes. If the probe fails, the circuit opens
 * again with a longer backoff.
 * A request may be in flight when the circuit opens. If this request succeeds, the circuit also closes.
 */
export class Circuit {
  readonly #clock: Clock
  readonly #limits: CircuitLimits
  #failures = 0
  #openings = 0
  #openUntil: number | null = null
  #probing = false

  constructor(clock: Clock, limits = LIMITS) {
    this.#clock = clock
    this.#limits = limits
  }

  get failures(): number {
    return this.#failures
  }

  get isOpen(): boolean {
    return this.#openUntil !== null
  }

  get awaitsProbe(): boolean {
    return this.isOpen && this.waitMs() === 0
  }

  /** @returns how long requests stay blocked, in milliseconds; 0 if a request may be sent now. */
  waitMs(): number {
    if (this.#openUntil === null) return 0
    const waitMs = Math.max(0, this.#openUntil - this.#clock.steady())
    return this.#probing ? Math.max(waitMs, this.#limits.backoffBaseMs) : waitMs
  }

  /** @returns a permit for one request; null while requests are blocked. */
  admit(): Permit | null {
    if (this.waitMs() > 0) return null
    this.#probing = this.isOpen
    return { probe: this.#probing }
  }

  settle(permit: Permit, outcome: Aliveness): void {
    if (permit.probe) this.#probing = false
    if (outcome === 'alive') {
      this.#failures = 0
      this.#openings = 0
      this.#openUntil = null
    } else if (outcome === 'dead') {
      this.#failures += 1
      const opens = this.isOpen ? permit.probe : this.#failures >= this.#limits.failuresToOpen
      if (opens) this.#open()
    }
  }

  /** Call this if the server is known to be alive again. Ends the backoff, so the next request is the probe. */
  probeNow(): void {
    if (!this.isOpen || this.#probing) return
    this.#openings = 0
    this.#openUntil = this.#clock.steady()
  }

  #open(): void {
    const { backoffBaseMs, backoffCapMs } = this.#limits
    this.#openUntil = this.#clock.steady() + backoffMs(this.#clock, this.#openings, backoffBaseMs, backoffCapMs)
    this.#openings += 1
  }
}
