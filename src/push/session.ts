/** A ticket that is had by signing in and kept until it is refused. One signs in at a time, however many wait for it. */
export class Session {
  #ticket: string | null = null
  #flight: Promise<string> | null = null

  /** @throws whatever `signIn` throws; the next to ask signs in again. */
  async ticket(signIn: () => Promise<string>): Promise<string> {
    if (this.#ticket !== null) return this.#ticket
    this.#flight ??= this.#enter(signIn)
    return await this.#flight
  }

  /** Of many who used the same ticket, the first to be refused has it renewed for all. */
  drop(ticket: string): void {
    if (this.#ticket === ticket) this.#ticket = null
  }

  async #enter(signIn: () => Promise<string>): Promise<string> {
    try {
      this.#ticket = await signIn()
      return this.#ticket
    } finally {
      this.#flight = null
    }
  }
}
