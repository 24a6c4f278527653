import type { Clock } from '../base/clock.ts'
import { type ReadKind, readKinds } from '../model/reads.ts'

/** Answers older than this do not count. */
export const WAVE_WINDOW_MS = 600_000
/** Missing submissions that make a wave; in a smaller account all of them, but at least two. */
const WAVE = 5
const SMALLEST_WAVE = 2
/** Limit of entries kept in memory, of each kind. */
const MAX_ENTRIES = 10_000

/**
 * Detects a wave of 404s: a whole account that is answered as if its submissions were another brokerage's. The service answers 404 both
 * then and for a single submission that is gone (trap 48).
 */
export class NotFoundWave {
  readonly #clock: Clock
  readonly #latest = new Map<string, { gone: boolean; at: number }>()
  /**
   * Reads of submissions that were missing in an earlier wave. If they are still missing when the account is active again, they are really
   * gone; counting them would only pause the account once more. Kept in memory: a restart may cost one more pause, nothing else.
   */
  readonly #pastWaves = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Notes the latest answer for a submission that was read before. A read that was missing in an earlier wave counts again once it succeeds. */
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
   * @param readBefore how many submissions of the account were ever read.
   * @returns whether the latest answers form a wave: enough submissions are missing, and at least half of those asked about.
   */
  isWave(readBefore: number): boolean {
    const needed = Math.max(SMALLEST_WAVE, Math.min(WAVE, readBefore))
    let gone = 0
    for (const answer of this.#latest.values()) if (answer.gone) gone += 1
    return gone >= needed && gone * 2 >= this.#latest.size
  }

  /** Ends the wave. @returns its missing submissions. */
  take(): string[] {
    const missing = [...this.#latest].filter(([, answer]) => answer.gone).map(([submissionId]) => submissionId)
    this.clear()
    for (const submissionId of missing) this.join(submissionId)
    return missing
  }

  /** Adds a submission to the wave that was taken: its read was in flight then. */
  join(submissionId: string): void {
    for (const read of readKinds) this.#pastWaves.add(keyOf(submissionId, read))
    for (const oldest of this.#pastWaves) {
      if (this.#pastWaves.size <= MAX_ENTRIES) break
      this.#pastWaves.delete(oldest)
    }
  }

  /** Forgets the latest answers, but not the past waves. */
  clear(): void {
    this.#latest.clear()
  }

  /** Forgets everything, because the wave that was taken did not pause the account. */
  reset(): void {
    this.clear()
    this.#pastWaves.clear()
  }
}

function keyOf(submissionId: string, read: ReadKind): string {
  return `${submissionId} ${read}`
}
