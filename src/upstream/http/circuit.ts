import type { Clock } from '../../base/clock.ts'

export interface CircuitLimits {
  /** So many failures in a row, and the service is thought dead. */
  readonly failuresToOpen: number
  readonly backoffBaseMs: number
  readonly backoffCapMs: number
}

const LIMITS: CircuitLimits = { failuresToOpen: 10, backoffBaseMs: 1_000, backoffCapMs: 60_000 }

/** Leave to send one request; it is given back with what became of it. */
export interface Permit {
  readonly probe: boolean
}

/** `alive`: the service answered, whatever it said. `dead`: it did not, or not usefully. `unknown`: we gave up ourselves. */
export type Outcome = 'alive' | 'dead' | 'unknown'

/**
 * Spares a dead service, and whoever waits for it. Closed, everything passes. After ten failures in a row it opens: nothing
 * passes until a backoff has gone by, which doubles up to a minute with each opening. Then it is half open: one request
 * is the probe, and its outcome closes the circuit or opens it again. A request from before that still succeeds closes it too.
 */
export class Circuit {
  readonly #clock: Clock
  readonly #limits: CircuitLimits
  #failures = 0
  #openings = 0
  #openUntil: number | null = null
  #probing = false

  /** @param limits ten failures, and from a second to a minute, when left out. */
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

  /** Whether the next request is the one that finds out whether the service is alive again. */
  get awaitsProbe(): boolean {
    return this.isOpen && this.waitMs() === 0
  }

  /** @returns for how long nothing passes, in milliseconds; 0 when something may. */
  waitMs(): number {
    if (this.#openUntil === null) return 0
    const waitMs = Math.max(0, this.#openUntil - this.#clock.steady())
    return this.#probing ? Math.max(waitMs, this.#limits.backoffBaseMs) : waitMs
  }

  /** @returns leave to send, to be settled afterwards; null when nothing passes now. */
  admit(): Permit | null {
    if (this.waitMs() > 0) return null
    this.#probing = this.isOpen
    return { probe: this.#probing }
  }

  settle(permit: Permit, outcome: Outcome): void {
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

  /** Somebody says that the service is alive again: the next request is the probe, at once. */
  tryNow(): void {
    if (!this.isOpen || this.#probing) return
    this.#openings = 0
    this.#openUntil = this.#clock.steady()
  }

  #open(): void {
    const { backoffBaseMs, backoffCapMs } = this.#limits
    const backoffMs = Math.min(backoffCapMs, backoffBaseMs * 2 ** Math.min(this.#openings, 16))
    this.#openings += 1
    // Between half of it and all of it: never at once, and not all processes together.
    this.#openUntil = this.#clock.steady() + backoffMs * (0.5 + this.#clock.random() / 2)
  }
}
