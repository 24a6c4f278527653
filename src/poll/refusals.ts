/** Refusals in a row that may concern the whole account, not single submissions. */
const RUN = 10

/** Counts the account's reads that were refused in a row. */
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
   * Ends the run if it is long enough to be investigated.
   * @returns its refused submissions, or null while the run is too short.
   */
  take(): ReadonlySet<string> | null {
    if (this.#reads < RUN) return null
    const submissions = this.#submissions
    this.clear()
    return submissions
  }
}

/**
 * Chooses the submissions to probe in order to learn whether the account may read anything at all.
 * @param known submissions of the account.
 * @returns known submissions that were not refused, up to ten together with the refused ones, and the last refused one, which may work again.
 */
export function submissionsToProbe(refused: ReadonlySet<string>, known: readonly string[]): string[] {
  const others = known.filter((id) => !refused.has(id)).slice(0, Math.max(0, RUN - refused.size))
  return [...others, ...[...refused].slice(-1)]
}
