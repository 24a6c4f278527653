import type { Steps } from './adapter.ts'

/**
 * Keeps the ticket that signing in gave until it is refused. All deliveries that need one share one sign-in, which has its own timeout:
 * whoever needed it first may have little time left.
 */
export class Session {
  #ticket: string | null = null
  #signingIn: Promise<string> | null = null

  /**
   * @param steps of the delivery that needs the ticket.
   * @throws what `signIn` throws, and the next caller signs in again; StepFailure when the time of the delivery is over.
   */
  async ticket(steps: Steps, signIn: (steps: Steps) => Promise<string>): Promise<string> {
    if (this.#ticket !== null) return this.#ticket
    this.#signingIn ??= this.#signIn(() => signIn(steps.independent()))
    return await steps.wait(this.#signingIn)
  }

  /** The first delivery that is refused with a ticket has it renewed for all. */
  drop(ticket: string): void {
    if (this.#ticket === ticket) this.#ticket = null
  }

  async #signIn(signIn: () => Promise<string>): Promise<string> {
    try {
      this.#ticket = await signIn()
      return this.#ticket
    } finally {
      this.#signingIn = null
    }
  }
}
