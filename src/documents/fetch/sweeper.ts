import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Service } from '../../base/service.ts'
import { firstEpochOf } from '../../store/changes/log-branch.ts'
import type { Db } from '../../store/engine/db.ts'
import { knownPaths } from '../../store/reads/fetches.ts'
import { foreignDocuments } from '../storage/owner.ts'
import type { DocumentStorage } from '../storage/storage.ts'

const EVERY_MS = 6 * 3_600_000
const RETRY_MS = 600_000

/**
 * Removes files that a crash left and files that no row names any more, at the start and every few hours. A place that another mirror took is left
 * alone: by a mistake in DATABASE_URL its documents would be unknown files.
 */
export class DocumentSweeper implements Service {
  readonly name = 'document sweep'
  readonly #db: Db
  readonly #storage: DocumentStorage
  readonly #clock: Clock
  readonly #log: Log

  constructor({ db, storage, clock, log }: { db: Db; storage: DocumentStorage; clock: Clock; log: Log }) {
    this.#db = db
    this.#storage = storage
    this.#clock = clock
    this.#log = log
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await this.#clock.sleep(await this.#sweep(), signal)
  }

  /** @returns how long to wait for the next one. */
  async #sweep(): Promise<number> {
    try {
      const mirror = await firstEpochOf(this.#db.read)
      const owner = await this.#storage.owner()
      if (owner === null) await this.#storage.takeFor(mirror)
      const foreign = foreignDocuments(this.#storage.place, { owner, mirror })
      if (foreign !== null) {
        this.#log.warn(`files that no document names stay where they are: ${foreign}`)
        return EVERY_MS
      }
      const removed = await this.#storage.sweep((paths) => knownPaths(this.#db.read, paths))
      if (removed > 0) this.#log.info({ removed }, `removed ${removed} files that no document names from ${this.#storage.place}`)
      return EVERY_MS
    } catch (error) {
      this.#log.warn({ err: error }, `files that no document names were not removed from ${this.#storage.place}: ${messageOf(error)}`)
      return RETRY_MS
    }
  }
}
