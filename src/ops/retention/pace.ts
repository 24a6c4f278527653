/** Rows of the first step, and of the largest step. */
const FIRST = 50
const MOST = 1_000

/**
 * A step of less than `short` ms doubles the rows of the next step. More than `long` ms halves them, down to `least`.
 * On SQLite, all writers wait for a transaction. It must stay under 20 ms, including a slow commit.
 * On Postgres, no writer waits, and round trips take most of the time.
 */
const BOUNDS = { sqlite: { short: 4, long: 10, least: 10 }, postgres: { short: 40, long: 100, least: 50 } } as const

/** Adapts the number of rows per step, so that transactions stay short. */
export class Pace {
  readonly #bounds: (typeof BOUNDS)[keyof typeof BOUNDS]
  #rows = FIRST

  constructor(database: keyof typeof BOUNDS) {
    this.#bounds = BOUNDS[database]
  }

  get rows(): number {
    return this.#rows
  }

  /** Adapts the number of rows to the last step. @param ms duration of the step's statements. */
  record(ms: number): void {
    const { short, long, least } = this.#bounds
    if (ms > long) this.#rows = Math.max(least, Math.floor(this.#rows / 2))
    else if (ms < short) this.#rows = Math.min(MOST, this.#rows * 2)
  }

  /** @returns the pause in ms after a step of `ms`. Deliveries are stored during the pause. */
  restMs(ms: number): number {
    return Math.min(500, Math.max(20, ms * 5))
  }
}
