/** A number of bytes shared by many holders, such as the bodies of all requests in flight. */
export class MemoryBudget {
  readonly #limitBytes: number
  #reservedBytes = 0

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** @returns false, and reserves nothing, when less than `bytes` is left. */
  reserve(bytes: number): boolean {
    if (this.#reservedBytes + bytes > this.#limitBytes) return false
    this.#reservedBytes += bytes
    return true
  }

  release(bytes: number): void {
    this.#reservedBytes -= bytes
  }
}
