import type { Wire } from '../http/wire.ts'
import type { Granted } from './token-endpoint.ts'

/** Holds a token until it is to be renewed, and gets the next one once for all who wait. */
export class HeldToken<T extends Granted> {
  readonly #next: (wire: Wire) => Promise<T>
  #held: T | null = null
  #asked: Promise<T> | null = null

  constructor(next: (wire: Wire) => Promise<T>) {
    this.#next = next
  }

  async token(wire: Wire): Promise<string> {
    if (this.#held !== null && wire.clock.now() < this.#held.renewAtMs) return this.#held.accessToken
    this.#asked ??= this.#ask(wire)
    return (await this.#asked).accessToken
  }

  /** Forgets a token that was refused. @returns what was held with it; null when another is held by now. */
  drop(token: string): T | null {
    if (this.#held?.accessToken !== token) return null
    const dropped = this.#held
    this.#held = null
    return dropped
  }

  async #ask(wire: Wire): Promise<T> {
    try {
      this.#held = await this.#next(wire)
      return this.#held
    } finally {
      this.#asked = null
    }
  }
}
