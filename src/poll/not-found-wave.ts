import type { Clock } from '../base/clock.ts'
import { type ReadKind, readKinds } from '../model/reads.ts'

/** Answers older than this don't count. */
export const WAVE_WINDOW_MS = 600_000
/** Number of missing submissions that form a wave. In a smaller account: all submissions, but at least two. */
const WAVE = 5
const SMALLEST_WAVE = 2
const MAX_ENTRIES = 10_000

/**
 * Detects a wave of 404s: the service answers as if all submissions were another brokerage's. A single 404 means a gone submission (trap
 * 48).
 */
export class NotFoundWave {
  readonly #clock: Clock
  readonly #latest = new Map<string, { gone: boolean; at: number }>()
  /**
   * Reads that got 404 in an earlier wave. If they still get 404 when the account is active again, their submissions are gone. Counting
   * them would only pause the account again.
   */
  readonly #pastWaves = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Records the latest answer for a submission that was read before. A read of an earlier wave counts again after it succeeds. */
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
   * @param readBefore number of submissions ever read.
   * @returns whether enough submissions are missing, and they are at least half of those with a recent answer.
   */
  isWave(readBefore: number): boolean {
    const needed = Math.max(SMALLEST_WAVE, Math.min(WAVE, readBefore))
    let gone = 0
    for (const answer of this.#latest.values()) if (answer.gone) gone += 1
    return gone >= needed && gone * 2 >= this.#latest.size
  }

  /** Ends the wave. @returns the missing submissions. */
  take(): string[] {
    const missing = [...this.#latest].filter(([, answer]) => answer.gone).map(([submissionId]) => submissionId)
    this.clear()
    for (const submissionId of missing) this.join(submissionId)
    return missing
  }

  /** Adds a submission whose read was in flight to the last wave. */
  join(submissionId: string): void {
    for (const read of readKinds) this.#pastWaves.add(keyOf(submissionId, read))
    for (const oldest of this.#pastWaves) {
      if (this.#pastWaves.size <= MAX_ENTRIES) break
      this.#pastWaves.delete(oldest)
    }
  }

  /** Forgets the latest answers, but not past waves. */
  clear(): void {
    this.#latest.clear()
  }

  /** Forgets latest answers and past waves, if a wave failed to pause the account. */
  reset(): void {
    this.clear()
    this.#pastWaves.clear()
  }
}

function keyOf(submissionId: string, read: ReadKind): string {
  return `${submissionId} ${read}`
}
