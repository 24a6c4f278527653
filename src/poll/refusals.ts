/** After this many refusals in a row, the account itself may be refused. */
const RUN = 10

/** Counts the account's refused reads in a row. */
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

  /** Resets the count if it is high enough to investigate. @returns the refused submissions, or null. */
  take(): ReadonlySet<string> | null {
    if (this.#reads < RUN) return null
    const submissions = this.#submissions
    this.clear()
    return submissions
  }
}

/**
 * Chooses submissions to probe, to find out whether the account may be read.
 * @param known submissions of the account.
 * @returns up to ten known submissions that were not refused, and the last refused submission.
 */
export function submissionsToProbe(refused: ReadonlySet<string>, known: readonly string[]): string[] {
  const others = known.filter((id) => !refused.has(id)).slice(0, Math.max(0, RUN - refused.size))
  return [...others, ...[...refused].slice(-1)]
}
