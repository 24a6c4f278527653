/**
 * Lets one holder in at a time. Who enters with `first` passes all who wait without it; within each of the two groups the
 * order is that of arrival.
 */
export class Gate {
  #held = false
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
    const next = this.#first.shift()
    if (next) next()
    else if (this.#others.length === 0) this.#held = false
    // On SQLite a whole transaction may run without the event loop turning once. Between two of them it turns, so that
    // arriving deliveries are seen, and go first.
    else setImmediate(() => this.#handOver())
  }

  #handOver(): void {
    const next = this.#first.shift() ?? this.#others.shift()
    if (next) next()
    else this.#held = false
  }
}
