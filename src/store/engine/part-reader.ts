import type { Clock } from '../../base/clock.ts'
import { messageOf, TransientError } from '../../base/errors.ts'

/** Time limit in ms for all parts, so that a report is answered within 2 s. */
const REPORT_MS = 1_500

/** A part of a report that could not be read, and why. */
export interface UnreadPart {
  readonly part: string
  readonly reason: string
}

/** Reads the parts of a health report within a time limit, despite locks. Adds unreadable parts to `unread` and continues. */
export class PartReader {
  readonly unread: UnreadPart[] = []
  readonly #clock: Pick<Clock, 'steady' | 'after'>
  readonly #endsAt: number
  #hasRead = false
  #failure: TransientError | undefined

  /** @param ms limit for all parts. */
  constructor(clock: Pick<Clock, 'steady' | 'after'>, ms = REPORT_MS) {
    this.#clock = clock
    this.#endsAt = clock.steady() + ms
  }

  /** @returns the result of `ask`; `otherwise` after a TransientError or the time limit. @throws other errors of `ask`. */
  async read<T>(part: string, ask: () => Promise<T>, otherwise: T): Promise<T> {
    const leftMs = this.#endsAt - this.#clock.steady()
    if (leftMs <= 0) return this.#note(part, 'the time limit of the report has passed', otherwise)
    const late = Promise.withResolvers<'late'>()
    const cancel = this.#clock.after(leftMs, () => late.resolve('late'))
    const asked = ask()
    // A late answer or failure is ignored.
    asked.catch(() => undefined)
    try {
      const answer = await Promise.race([asked, late.promise])
      if (answer === 'late') return this.#note(part, 'the database did not answer in time', otherwise)
      this.#hasRead = true
      return answer as T
    } catch (error) {
      if (!(error instanceof TransientError)) throw error
      this.#failure = error
      return this.#note(part, messageOf(error), otherwise)
    } finally {
      cancel()
    }
  }

  /** @throws TransientError if every part failed: the database is unreachable. */
  requireAny(): void {
    if (!this.#hasRead && this.#failure !== undefined) throw this.#failure
  }

  #note<T>(part: string, reason: string, otherwise: T): T {
    this.unread.push({ part, reason })
    return otherwise
  }
}
