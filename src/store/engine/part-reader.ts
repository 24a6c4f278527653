import type { Clock } from '../../base/clock.ts'
import { messageOf, TransientError } from '../../base/errors.ts'

/** Default time limit in ms for all parts of a report together. The whole report then takes less than 2 s. */
const REPORT_MS = 1_500

/** A part of a report that couldn't be read, with the reason. */
export interface UnreadPart {
  readonly part: string
  readonly reason: string
}

/**
 * Reads the parts of a health report within a time limit, even if some rows are locked.
 * If a part can't be read, the report continues with the other parts, and `unread` lists this part.
 */
export class PartReader {
  readonly unread: UnreadPart[] = []
  readonly #clock: Pick<Clock, 'steady' | 'after'>
  readonly #endsAt: number
  #hasRead = false
  #failure: TransientError | undefined

  /** @param ms time limit for all parts together. */
  constructor(clock: Pick<Clock, 'steady' | 'after'>, ms = REPORT_MS) {
    this.#clock = clock
    this.#endsAt = clock.steady() + ms
  }

  /**
   * Reads one part.
   * @returns the result of `ask`; `otherwise` after a TransientError or the time limit.
   * @throws other errors of `ask`.
   */
  async read<T>(part: string, ask: () => Promise<T>, otherwise: T): Promise<T> {
    const leftMs = this.#endsAt - this.#clock.steady()
    if (leftMs <= 0) return this.#note(part, 'the time limit of the report has passed', otherwise)
    const late = Promise.withResolvers<'late'>()
    const cancel = this.#clock.after(leftMs, () => late.resolve('late'))
    const asked = ask()
    // Prevents an unhandled rejection if `ask` fails after the time limit.
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

  /** @throws TransientError if no part could be read and the database was unreachable. */
  requireAny(): void {
    if (!this.#hasRead && this.#failure !== undefined) throw this.#failure
  }

  #note<T>(part: string, reason: string, otherwise: T): T {
    this.unread.push({ part, reason })
    return otherwise
  }
}
