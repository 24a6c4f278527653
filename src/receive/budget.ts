/** An amount that many share, such as the bytes of all bodies in memory. */
export class Budget {
  readonly #limit: number
  #taken = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** @returns false, and takes nothing, when so much is not left. */
  take(amount: number): boolean {
    if (this.#taken + amount > this.#limit) return false
    this.#taken += amount
    return true
  }

  give(amount: number): void {
    this.#taken -= amount
  }
}
