/**
 * Maximum priority waiters in a row while other waiters wait.
 * With a higher limit, the other waiters could wait too long under constant load.
 */
const MAX_PASSES = 4

/**
 * Lets one holder in at a time. Up to four priority waiters in a row go before the other waiters.
 * Within each of the two groups, waiters are served in order of arrival.
 */
export class WriteGate {
  #held = false
  #passes = 0
  readonly #first: (() => void)[] = []
  readonly #others: (() => void)[] = []

  /**
   * Resolves when the caller has the gate. The caller must then call `leave` once.
   * @param first true: the caller is a priority waiter.
   */
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
    // A SQLite transaction may run without a pause for the event loop.
    // The pause here lets new deliveries enter the queue before the next waiter gets the gate.
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
