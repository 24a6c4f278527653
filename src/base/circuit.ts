import { backoffMs, type Clock } from './clock.ts'

export interface CircuitLimits {
  readonly failuresToOpen: number
  readonly backoffBaseMs: number
  readonly backoffCapMs: number
}

const LIMITS: CircuitLimits = { failuresToOpen: 10, backoffBaseMs: 1_000, backoffCapMs: 60_000 }

/** Permission to send one request. Settle it with the outcome. */
export interface Permit {
  readonly probe: boolean
}

/** `alive`: any answer. `dead`: no usable answer. `unknown`: the request was cancelled here. */
export type Aliveness = 'alive' | 'dead' | 'unknown'

/**
 * Circuit breaker. After `failuresToOpen` failures in a row it opens: nothing passes until a backoff ends, which doubles with each opening.
 * Then one probe request decides whether it closes or opens again. A request sent before the opening that succeeds later closes it too.
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

  /** @returns how long nothing passes, in milliseconds; 0 if a request may be sent now. */
  waitMs(): number {
    if (this.#openUntil === null) return 0
    const waitMs = Math.max(0, this.#openUntil - this.#clock.steady())
    return this.#probing ? Math.max(waitMs, this.#limits.backoffBaseMs) : waitMs
  }

  /** @returns a permit to settle afterwards; null if nothing passes now. */
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

  /** The server is known to be alive again: the next request is the probe and skips the backoff. */
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
