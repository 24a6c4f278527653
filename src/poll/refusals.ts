/** Refusals in a row that may concern the account. */
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

  /** Ends the run if it is long enough to investigate. @returns its submissions, or null. */
  take(): ReadonlySet<string> | null {
    if (this.#reads < RUN) return null
    const submissions = this.#submissions
    this.clear()
    return submissions
  }
}

/**
 * Chooses submissions to probe whether the account may be read.
 * @param known submissions of the account.
 * @returns up to ten known ones that were not refused, and the last refused one.
 */
export function submissionsToProbe(refused: ReadonlySet<string>, known: readonly string[]): string[] {
  const others = known.filter((id) => !refused.has(id)).slice(0, Math.max(0, RUN - refused.size))
  return [...others, ...[...refused].slice(-1)]
}
