import type { ServiceParts } from '../../store/engine/db.ts'
import { storedBytes } from '../../store/reads/fetches.ts'

/**
 * Counts the used bytes again after this many ms, because other processes also store documents. While the storage is
 * full, `COUNTED_FULL_MS` applies.
 */
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
   * @returns whether all of DOCUMENTS_TOTAL_BYTES is used. Fetching then pauses until you raise the limit or documents
   * are removed. Logs a warning when the limit is reached.
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

  /** Adds the size of a document that this process just stored. */
  add(bytes: number): void {
    this.#used += bytes
  }
}
