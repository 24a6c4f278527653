import type { ServiceParts } from '../../store/engine/db.ts'
import { storedBytes } from '../../store/reads/fetches.ts'

/** Longest age of the counted sum, and while it is full. Other processes add to it as well. */
const COUNTED_MS = 600_000
const COUNTED_FULL_MS = 60_000

/** The used part of DOCUMENTS_TOTAL_BYTES. */
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

  /** Whether fetching stops until the limit is raised or documents are removed. Logs each change to full once. */
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

  /** Counts a document that was stored. */
  add(bytes: number): void {
    this.#used += bytes
  }
}
