/** This many consecutive refusals suggest that the service refuses the whole account. */
const RUN = 10

/** Counts consecutive refused reads of an account. */
export class Refusals {
  #reads = 0
  #submissions = new Set<string>()

  note(submissionId: string): void {
    this.#reads += 1
    this.#submissions.add(submissionId)
  }

  clear(): void {
    this.#reads = 0
    this.#submissions = new Set()
  }

  /**
   * Resets the count if it is high enough to investigate.
   * @returns the refused submissions; null if the count is too low.
   */
  take(): ReadonlySet<string> | null {
    if (this.#reads < RUN) return null
    const submissions = this.#submissions
    this.clear()
    return submissions
  }
}

/**
 * Chooses the submissions to read in order to find out whether the account may be read.
 * @param known submissions of the account.
 * @returns at most ten submissions: known submissions that weren't refused, then the last refused submission.
 */
export function submissionsToProbe(refused: ReadonlySet<string>, known: readonly string[]): string[] {
  const others = known.filter((id) => !refused.has(id)).slice(0, Math.max(0, RUN - refused.size))
  return [...others, ...[...refused].slice(-1)]
}
