import { messageOf } from '../../base/errors.ts'
import type { Service } from '../../base/service.ts'
import { firstEpochOf } from '../../store/changes/log-divergence.ts'
import type { ServiceParts } from '../../store/engine/db.ts'
import { knownPaths } from '../../store/reads/fetches.ts'
import { type DocumentStorage, foreignDocuments } from '../storage/storage.ts'

interface SweeperOptions extends Pick<ServiceParts, 'db' | 'clock' | 'log'> {
  readonly storage: DocumentStorage
}

const EVERY_MS = 6 * 3_600_000
const RETRY_MS = 600_000

/**
 * Removes files without a database row, such as files left by a crash. Runs at startup and every 6 hours. Removes
 * nothing if another mirror owns the storage. Otherwise a wrong DATABASE_URL would remove all documents of that mirror.
 */
export class DocumentSweeper implements Service {
  readonly name = 'document sweep'
  readonly #o: SweeperOptions

  constructor(options: SweeperOptions) {
    this.#o = options
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await this.#o.clock.sleep(await this.#sweep(), signal)
  }

  /** @returns the time in ms until the next sweep. */
  async #sweep(): Promise<number> {
    const { db, storage, log } = this.#o
    try {
      const mirror = await firstEpochOf(db.read)
      const owner = await storage.owner()
      if (owner === null) await storage.takeFor(mirror)
      const foreign = foreignDocuments(storage.place, { owner, mirror })
      if (foreign !== null) {
        log.warn(`files without a document are kept: ${foreign}`)
        return EVERY_MS
      }
      const removed = await storage.sweep((paths) => knownPaths(db.read, paths))
      if (removed > 0) log.info({ removed }, `removed ${removed} files without a document from ${storage.place}`)
      return EVERY_MS
    } catch (error) {
      log.warn({ err: error }, `files without a document could not be removed from ${storage.place}: ${messageOf(error)}`)
      return RETRY_MS
    }
  }
}
