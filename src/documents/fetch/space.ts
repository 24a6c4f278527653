import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Db } from '../../store/engine/db.ts'
import { storedBytes } from '../../store/reads/fetches.ts'

/** How old the counted sum may be, and while it is full. Other processes add to it as well. */
const COUNTED_MS = 600_000
const COUNTED_FULL_MS = 60_000

/** How much of DOCUMENTS_TOTAL_BYTES is used. */
export class Space {
  readonly #db: Db
  readonly #clock: Clock
  readonly #log: Log
  readonly #totalBytes: number
  #used = 0
  #countedAt = Number.NEGATIVE_INFINITY
  #wasFull = false

  constructor(db: Db, clock: Clock, log: Log, totalBytes: number) {
    this.#db = db
    this.#clock = clock
    this.#log = log
    this.#totalBytes = totalBytes
  }

  /** Whether nothing more is fetched until the limit is raised or documents are removed. Said once each time. */
  async isFull(): Promise<boolean> {
    if (this.#clock.steady() - this.#countedAt > (this.#wasFull ? COUNTED_FULL_MS : COUNTED_MS)) {
      this.#countedAt = this.#clock.steady()
      this.#used = await storedBytes(this.#db.read)
    }
    const isFull = this.#used >= this.#totalBytes
    if (isFull && !this.#wasFull) {
      const used = `documents take ${this.#used} bytes of ${this.#totalBytes}`
      this.#log.warn({}, `${used}: no further one is fetched until DOCUMENTS_TOTAL_BYTES is raised or submissions are purged`)
    }
    this.#wasFull = isFull
    return isFull
  }

  /** Counts a document that was stored. */
  add(bytes: number): void {
    this.#used += bytes
  }
}
