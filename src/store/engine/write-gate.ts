/** How many may pass one who waits; more would keep those without `first` out for as long as the load lasts. */
const MAX_PASSES = 4

/**
 * Lets one holder in at a time. Who enters with `first` passes those who wait without it, up to four in a row; within each of the
 * two groups the order is that of arrival.
 */
export class WriteGate {
  #held = false
  #passes = 0
  readonly #first: (() => void)[] = []
  readonly #others: (() => void)[] = []

  /** Resolves when the caller holds the gate; it must call `leave` once. */
  enter(first: boolean): Promise<void> {
    if (!this.#held) {
      this.#held = true
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      if (first) this.#first.push(resolve)
      else this.#others.push(resolve)
    })
  }

  leave(): void {
    if (this.#first.length > 0 && !this.#othersAreDue()) this.#handOver()
    // On SQLite a whole transaction may run without the event loop turning once, and so may one after another of whoever has much to do.
    // Before the next it turns, so that deliveries that arrive are seen, and go first.
    else setImmediate(() => this.#handOver())
  }

  #handOver(): void {
    const passing = this.#first.length > 0 && !this.#othersAreDue()
    this.#passes = passing && this.#others.length > 0 ? this.#passes + 1 : 0
    const next = passing ? this.#first.shift() : this.#others.shift()
    if (next) next()
    else this.#held = false
  }

  #othersAreDue(): boolean {
    return this.#others.length > 0 && this.#passes >= MAX_PASSES
  }
}
