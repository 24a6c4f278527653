import type { Clock } from '../../base/clock.ts'
import { type TimeLimit, timeLimit } from '../../base/time-limit.ts'
import { type Failure, StepFailure } from './outcomes.ts'

/** After this many rejected logins in a row, the destination is suspended. More attempts could lock the account. */
const MOST_REFUSALS = 3
/**
 * After a failed login suspends the destination, no message logs in for this many ms. Messages in flight get the same
 * suspension.
 */
const HELD_MS = 1_000

/** Counts a destination's rejected logins in a row. Only permanent failures count as rejections. */
export class LoginRefusals {
  #count = 0
  #held: { readonly failure: Failure; readonly until: TimeLimit } | null = null

  /**
   * Calls `logIn`. Within `HELD_MS` after a login that suspended the destination, repeats this suspension instead.
   * @throws StepFailure with the outcome of the message, if the login failed or was skipped.
   */
  async counted<T>(clock: Pick<Clock, 'now'> & Partial<Pick<Clock, 'steady'>>, logIn: () => Promise<T>): Promise<T> {
    if (this.#held !== null && this.#held.until.leftMs() > 0) throw new StepFailure(this.#held.failure)
    try {
      const token = await logIn()
      this.#count = 0
      return token
    } catch (error) {
      if (!(error instanceof StepFailure)) throw error
      const failure = this.#judged(error.failure)
      if (failure.type === 'suspend') this.#held = { failure, until: timeLimit(clock, HELD_MS) }
      throw new StepFailure(failure)
    }
  }

  #judged(failure: Failure): Failure {
    if (failure.type !== 'failed' || !failure.permanent) return failure
    this.#count += 1
    if (this.#count < MOST_REFUSALS) return { ...failure, permanent: false }
    const { status, error } = failure
    return { type: 'suspend', retry: 'slowly', status, error: `${error}; ${this.#count} logins in a row were rejected` }
  }
}
