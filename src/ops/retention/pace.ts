/** Rows that a step looks at, at first and at most. */
const FIRST = 50
const MOST = 1_000

/**
 * Between these, in milliseconds, a step stays as it is. On SQLite all writers wait meanwhile, so a transaction stays under 20 ms; with
 * these there is room for a commit that is slow. On Postgres nobody waits, and the way to the server takes most of the time.
 */
const BOUNDS = { sqlite: { short: 4, long: 10, least: 10 }, postgres: { short: 40, long: 100, least: 50 } } as const

/**
 * How much a step takes on: as much as keeps its statements short, on this machine and on these rows. With fewer than `least` rows it
 * would never come to its end where something else is slow.
 */
export class Pace {
  readonly #bounds: (typeof BOUNDS)[keyof typeof BOUNDS]
  #rows = FIRST

  constructor(database: keyof typeof BOUNDS) {
    this.#bounds = BOUNDS[database]
  }

  get rows(): number {
    return this.#rows
  }

  /** The statements of a step took `ms`. */
  record(ms: number): void {
    const { short, long, least } = this.#bounds
    if (ms > long) this.#rows = Math.max(least, Math.floor(this.#rows / 2))
    else if (ms < short) this.#rows = Math.min(MOST, this.#rows * 2)
  }

  /** How long to rest after a step that took `ms`: deliveries come first. */
  restMs(ms: number): number {
    return Math.min(500, Math.max(20, ms * 5))
  }
}
