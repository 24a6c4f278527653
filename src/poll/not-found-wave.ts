import type { Clock } from '../base/clock.ts'
import { type ReadKind, readKinds } from '../model/reads.ts'

/** Reads further back than this say nothing about now. */
export const WAVE_WINDOW_MS = 600_000
/** So many submissions that were read before must be missing together, or all of a smaller account. */
const WAVE = 5
const SMALLEST_WAVE = 2
/** So much of either kind is remembered here at most. */
const MOST = 10_000

/**
 * Tells one submission that is gone from a whole account that is answered as if it were another's. "Not found" is all that the
 * service says in both cases (trap 48).
 */
export class NotFoundWave {
  readonly #clock: Clock
  readonly #last = new Map<string, { gone: boolean; at: number }>()
  /**
   * The reads of what was missing in a wave before. The account was asked about then: what is missing still when it may be read again is
   * missing by itself, and would only stop it anew before that can be confirmed. Kept in the process alone: after a restart there may be
   * one pause more, no harm else.
   */
  readonly #heard = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Notes the latest answer about a submission that was read before. Of one that was missing in a wave, a read counts again once it is made. */
  note(submissionId: string, read: ReadKind, gone: boolean): void {
    this.#last.delete(submissionId)
    if (!gone) this.#heard.delete(keyOf(submissionId, read))
    else if (this.#heard.has(keyOf(submissionId, read))) return
    this.#last.set(submissionId, { gone, at: this.#clock.now() })
    const oldest = this.#clock.now() - WAVE_WINDOW_MS
    for (const [id, { at }] of this.#last) {
      if (at >= oldest && this.#last.size <= MOST) break
      this.#last.delete(id)
    }
  }

  /**
   * @param readBefore how many submissions of the account were ever read.
   * @returns whether the latest answers are a wave: at least half of those asked about are missing, and enough of them.
   */
  isWave(readBefore: number): boolean {
    const needed = Math.max(SMALLEST_WAVE, Math.min(WAVE, readBefore))
    let gone = 0
    for (const answer of this.#last.values()) if (answer.gone) gone += 1
    return gone >= needed && gone * 2 >= this.#last.size
  }

  /** Ends the wave. @returns the submissions that were missing in it. */
  take(): string[] {
    const missing = [...this.#last].filter(([, answer]) => answer.gone).map(([submissionId]) => submissionId)
    this.clear()
    for (const submissionId of missing) this.join(submissionId)
    return missing
  }

  /** One more was missing in the wave that was taken: it had been asked for before. */
  join(submissionId: string): void {
    for (const read of readKinds) this.#heard.add(keyOf(submissionId, read))
    for (const oldest of this.#heard) {
      if (this.#heard.size <= MOST) break
      this.#heard.delete(oldest)
    }
  }

  /** Forgets the latest answers; what was missing in waves stays known. */
  clear(): void {
    this.#last.clear()
  }

  /** Forgets that too: the wave that was taken has stopped nothing. */
  forget(): void {
    this.clear()
    this.#heard.clear()
  }
}

function keyOf(submissionId: string, read: ReadKind): string {
  return `${submissionId} ${read}`
}
