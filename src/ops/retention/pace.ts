/** Rows of the first step, and of the largest step. */
const FIRST = 50
const MOST = 1_000

/**
 * A step shorter than `short` ms doubles the number of rows of the next step.
 * A step longer than `long` ms halves the number of rows, but not below `least` rows.
 * On SQLite, other writers wait for a transaction. A transaction must therefore stay under 20 ms, even if its commit
 * is slow.
 * On Postgres, other writers don't wait, and a step mostly waits for the network.
 */
const BOUNDS = { sqlite: { short: 4, long: 10, least: 10 }, postgres: { short: 40, long: 100, least: 50 } } as const

/** Chooses the number of rows of each step, so that transactions stay short. */
export class Pace {
  readonly #bounds: (typeof BOUNDS)[keyof typeof BOUNDS]
  #rows = FIRST

  constructor(database: keyof typeof BOUNDS) {
    this.#bounds = BOUNDS[database]
  }

  get rows(): number {
    return this.#rows
  }

  /** Sets the number of rows of the next step. @param ms duration of the previous step's statements. */
  record(ms: number): void {
    const { short, long, least } = this.#bounds
    if (ms > long) this.#rows = Math.max(least, Math.floor(this.#rows / 2))
    else if (ms < short) this.#rows = Math.min(MOST, this.#rows * 2)
  }

  /** @returns the pause in ms after a step that took `ms`. During the pause, other writers can store deliveries. */
  restMs(ms: number): number {
    return Math.min(500, Math.max(20, ms * 5))
  }
}
