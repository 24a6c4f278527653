/** Rows of the first and the largest step. */
const FIRST = 50
const MOST = 1_000

/**
 * Steps grow if under `short` ms, and shrink if over `long` ms, down to `least` rows. On SQLite all writers wait, so a transaction must
 * stay under 20 ms, including a slow commit. On Postgres no writer waits, and round trips take most of the time.
 */
const BOUNDS = { sqlite: { short: 4, long: 10, least: 10 }, postgres: { short: 40, long: 100, least: 50 } } as const

/** Adapts the rows per step to keep transactions short. */
export class Pace {
  readonly #bounds: (typeof BOUNDS)[keyof typeof BOUNDS]
  #rows = FIRST

  constructor(database: keyof typeof BOUNDS) {
    this.#bounds = BOUNDS[database]
  }

  get rows(): number {
    return this.#rows
  }

  /** Adapts to a step whose statements took `ms`. */
  record(ms: number): void {
    const { short, long, least } = this.#bounds
    if (ms > long) this.#rows = Math.max(least, Math.floor(this.#rows / 2))
    else if (ms < short) this.#rows = Math.min(MOST, this.#rows * 2)
  }

  /** Pause in ms after a step of `ms`, so that deliveries go first. */
  restMs(ms: number): number {
    return Math.min(500, Math.max(20, ms * 5))
  }
}
