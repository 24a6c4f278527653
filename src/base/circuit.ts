import { backoffMs, type Clock } from './clock.ts'

export interface CircuitLimits {
  /** Failures in a row after which the other side counts as dead. */
  readonly failuresToOpen: number
  readonly backoffBaseMs: number
  readonly backoffCapMs: number
}

const LIMITS: CircuitLimits = { failuresToOpen: 10, backoffBaseMs: 1_000, backoffCapMs: 60_000 }

/** Permission to send one request. Give it back with the outcome. */
export interface Permit {
  readonly probe: boolean
}

/** `alive`: it answered, whatever it said. `dead`: no answer, or no useful one. `unknown`: we gave up ourselves. */
export type Aliveness = 'alive' | 'dead' | 'unknown'

/**
 * Circuit breaker: spares a dead server, and whoever waits for it.
 * Closed: everything passes. After a number of failures in a row it opens: nothing passes until a backoff has gone by, which doubles with
 * each opening. Then it is half open: one request is the probe, and its outcome closes the circuit or opens it again. A request sent before
 * the opening that still succeeds closes it too.
 */
export class Circuit {
  readonly #clock: Clock
  readonly #limits: CircuitLimits
  #failures = 0
  #openings = 0
  #openUntil: number | null = null
  #probing = false

  /** @param limits default: ten failures, and between a second and a minute. */
  constructor(clock: Clock, limits = LIMITS) {
    this.#clock = clock
    this.#limits = limits
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures
  }

  get isOpen(): boolean {
    return this.#openUntil !== null
  }

  /** Whether the next request is the probe. */
  get awaitsProbe(): boolean {
    return this.isOpen && this.waitMs() === 0
  }

  /** @returns for how long nothing passes, in milliseconds; 0 when a request may be sent now. */
  waitMs(): number {
    if (this.#openUntil === null) return 0
    const waitMs = Math.max(0, this.#openUntil - this.#clock.steady())
    return this.#probing ? Math.max(waitMs, this.#limits.backoffBaseMs) : waitMs
  }

  /** @returns a permit, to be settled afterwards; null when nothing passes now. */
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

  /** Somebody says that the server is alive again: the next request is the probe, without waiting for the backoff. */
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
