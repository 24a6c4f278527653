import type { Steps } from './adapter.ts'

/**
 * A ticket that is had by signing in and kept until it is refused. One signs in at a time, however many wait for it, and has a time of its
 * own for that: whoever asked first may have little left.
 */
export class Session {
  #ticket: string | null = null
  #flight: Promise<string> | null = null

  /**
   * @param steps of the delivery that needs the ticket.
   * @throws whatever `signIn` throws, and the next to ask signs in again; StepFailure when the delivery's own time is over.
   */
  async ticket(steps: Steps, signIn: (steps: Steps) => Promise<string>): Promise<string> {
    if (this.#ticket !== null) return this.#ticket
    this.#flight ??= this.#enter(() => signIn(steps.independent()))
    return await steps.wait(this.#flight)
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
