import type { ServiceParts } from '../../store/engine/db.ts'
import { storedBytes } from '../../store/reads/fetches.ts'

/** Interval between counts of the used bytes: normally, and while full. Other processes also store documents. */
const COUNTED_MS = 600_000
const COUNTED_FULL_MS = 60_000

/** Tracks how many of DOCUMENTS_TOTAL_BYTES are used. */
export class Space {
  readonly #o: Pick<ServiceParts, 'db' | 'clock' | 'log'>
  readonly #totalBytes: number
  #used = 0
  #countedAt = Number.NEGATIVE_INFINITY
  #wasFull = false

  constructor(options: Pick<ServiceParts, 'db' | 'clock' | 'log'>, totalBytes: number) {
    this.#o = options
    this.#totalBytes = totalBytes
  }

  /**
   * Whether the limit is reached. Fetching then pauses until the limit is raised or documents are removed. Logs a
   * warning when the limit is reached.
   */
  async isFull(): Promise<boolean> {
    const { db, clock, log } = this.#o
    if (clock.steady() - this.#countedAt > (this.#wasFull ? COUNTED_FULL_MS : COUNTED_MS)) {
      this.#countedAt = clock.steady()
      this.#used = await storedBytes(db.read)
    }
    const isFull = this.#used >= this.#totalBytes
    if (isFull && !this.#wasFull) {
      const used = `documents take ${this.#used} bytes of ${this.#totalBytes}`
      log.warn({}, `${used}: fetching is paused until you raise DOCUMENTS_TOTAL_BYTES or purge submissions`)
    }
    this.#wasFull = isFull
    return isFull
  }

  /** Adds the size of a document that this process stored. */
  add(bytes: number): void {
    this.#used += bytes
  }
}
