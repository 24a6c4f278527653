/** Rows that a step looks at, at first and at most. */
const FIRST = 50
const MOST = 1_000
/** A transaction on SQLite stays under 20 ms; with these there is room for a commit that is slow. */
const LONG_MS = 10
const SHORT_MS = 4

/** How much a step takes on: as much as keeps its transaction short, on this machine and on these rows. */
export class Pace {
  #rows = FIRST

  get rows(): number {
    return this.#rows
  }

  /** A step took `ms`. */
  took(ms: number): void {
    if (ms > LONG_MS) this.#rows = Math.max(1, Math.floor(this.#rows / 2))
    else if (ms < SHORT_MS) this.#rows = Math.min(MOST, this.#rows * 2)
  }

  /** How long to rest after a step that took `ms`: deliveries come first. */
  restMs(ms: number): number {
    return Math.min(500, Math.max(20, ms * 5))
  }
}
