/** How many may overtake a waiter. More would starve those without priority under constant load. */
const MAX_PASSES = 4

/** Admits one holder at a time. Priority waiters overtake the others, up to four in a row; each group is served in order of arrival. */
export class WriteGate {
  #held = false
  #passes = 0
  readonly #first: (() => void)[] = []
  readonly #others: (() => void)[] = []

  /** Resolves when the caller holds the gate. The caller must call `leave` once. */
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
    // SQLite transactions may run without yielding to the event loop. Yield before the next one, so that new deliveries are seen and go
    // first.
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
