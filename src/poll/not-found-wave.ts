import type { Clock } from '../base/clock.ts'
import { type ReadKind, readKinds } from '../model/reads.ts'

/** A wave is many 404s within this many ms. Older answers don't count. */
export const WAVE_WINDOW_MS = 600_000
/**
 * Number of submissions answered with 404 that form a wave. An account with fewer submissions needs all of them, but
 * at least two.
 */
const WAVE = 5
const SMALLEST_WAVE = 2
const MAX_ENTRIES = 10_000

/**
 * Detects that many known submissions suddenly get 404, which suggests credentials of another brokerage. A single 404
 * only means that one submission is gone (trap 48).
 */
export class NotFoundWave {
  readonly #clock: Clock
  readonly #latest = new Map<string, { gone: boolean; at: number }>()
  /**
   * All reads of the submissions of earlier waves. If such a read still gets 404 after the account is active again,
   * the submission is really gone. The read then doesn't count for another wave, which would only pause the account
   * again.
   */
  readonly #pastWaves = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Records the latest answer for a submission that was read before. A read of an earlier wave counts again
   * after a success.
   */
  note(submissionId: string, read: ReadKind, gone: boolean): void {
    this.#latest.delete(submissionId)
    if (!gone) this.#pastWaves.delete(keyOf(submissionId, read))
    else if (this.#pastWaves.has(keyOf(submissionId, read))) return
    this.#latest.set(submissionId, { gone, at: this.#clock.steady() })
    const oldest = this.#clock.steady() - WAVE_WINDOW_MS
    for (const [id, { at }] of this.#latest) {
      if (at >= oldest && this.#latest.size <= MAX_ENTRIES) break
      this.#latest.delete(id)
    }
  }

  /**
   * @param readBefore number of submissions that were ever read.
   * @returns true if the recent answers have enough 404s (see `WAVE`), and at least as many 404s as other answers.
   */
  isWave(readBefore: number): boolean {
    const needed = Math.max(SMALLEST_WAVE, Math.min(WAVE, readBefore))
    let gone = 0
    for (const answer of this.#latest.values()) if (answer.gone) gone += 1
    return gone >= needed && gone * 2 >= this.#latest.size
  }

  /** Ends the wave. @returns the submissions of the wave, which were answered with 404. */
  take(): string[] {
    const missing = [...this.#latest].filter(([, answer]) => answer.gone).map(([submissionId]) => submissionId)
    this.clear()
    for (const submissionId of missing) this.join(submissionId)
    return missing
  }

  /** Adds a submission to the past waves, for example because its read was in flight when the wave ended. */
  join(submissionId: string): void {
    for (const read of readKinds) this.#pastWaves.add(keyOf(submissionId, read))
    for (const oldest of this.#pastWaves) {
      if (this.#pastWaves.size <= MAX_ENTRIES) break
      this.#pastWaves.delete(oldest)
    }
  }

  /** Forgets the latest answers. Keeps past waves. */
  clear(): void {
    this.#latest.clear()
  }

  /** Forgets the latest answers and past waves. For a wave that couldn't pause the account. */
  reset(): void {
    this.clear()
    this.#pastWaves.clear()
  }
}

function keyOf(submissionId: string, read: ReadKind): string {
  return `${submissionId} ${read}`
}
