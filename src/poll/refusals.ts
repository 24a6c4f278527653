/** So many reads that are refused in a row are no longer taken for the business of single submissions. */
const RUN = 10

/** Reads that were refused one after another, while no other of the account succeeded. */
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
   * Takes a run that is long enough to be looked into; the next begins anew.
   * @returns the submissions that were refused, or null when the run is not long enough.
   */
  take(): ReadonlySet<string> | null {
    if (this.#reads < RUN) return null
    const submissions = this.#submissions
    this.clear()
    return submissions
  }
}

/**
 * @param known submissions of the account, of which those are asked that were not refused: as many as make ten with those that were.
 * @returns which submissions to ask whether the account may read anything at all: at least one, since what refused it may be over.
 */
export function submissionsToProbe(refused: ReadonlySet<string>, known: readonly string[]): string[] {
  const others = known.filter((id) => !refused.has(id)).slice(0, Math.max(0, RUN - refused.size))
  return [...others, ...[...refused].slice(-1)]
}
