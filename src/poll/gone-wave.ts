import type { Clock } from '../clock.ts'

/** Reads further back than this say nothing about now. */
export const WAVE_WINDOW_MS = 600_000
/** So many submissions that were read before must be missing together, or all of a smaller account. */
const WAVE = 5
const SMALLEST_WAVE = 2

/**
 * Tells one submission that is gone from a whole account that is answered as if it were another's. "Not found" is all that the
 * service says in both cases (trap 48).
 */
export class GoneWave {
  readonly #clock: Clock
  readonly #last = new Map<string, { gone: boolean; at: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Notes the latest answer about a submission that was read before. */
  note(submissionId: string, gone: boolean): void {
    this.#last.delete(submissionId)
    this.#last.set(submissionId, { gone, at: this.#clock.now() })
    const oldest = this.#clock.now() - WAVE_WINDOW_MS
    for (const [id, { at }] of this.#last) {
      if (at >= oldest && this.#last.size <= 10_000) break
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

  /** The submissions whose latest answer was "not found". */
  gone(): string[] {
    return [...this.#last].filter(([, answer]) => answer.gone).map(([submissionId]) => submissionId)
  }

  clear(): void {
    this.#last.clear()
  }
}
