import type { Clock } from './clock.ts'

const EVERY_MS = 60_000

/** Reports frequent events at most once a minute. */
export class OnceAMinute {
  readonly #clock: Pick<Clock, 'steady'>
  readonly #say: (text: string) => void
  #saidAt = Number.NEGATIVE_INFINITY
  #unsaid = 0

  constructor(clock: Pick<Clock, 'steady'>, say: (text: string) => void) {
    this.#clock = clock
    this.#say = say
  }

  /**
   * Reports `text`, and the number of calls that weren't reported since the last report. If the last report is less
   * than a minute old, only counts the call.
   */
  tell(text: string): void {
    const now = this.#clock.steady()
    if (now - this.#saidAt < EVERY_MS) {
      this.#unsaid += 1
      return
    }
    this.#say(this.#unsaid === 0 ? text : `${text} (${this.#unsaid} more since this was last logged)`)
    this.#saidAt = now
    this.#unsaid = 0
  }
}
