import { messageOf, TransientError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Service } from '../service.ts'
import type { Db } from '../store/db.ts'
import { newEpochText, settleLogEpoch } from '../store/log-epoch.ts'
import { beat, countPolling, leave, type ProcessEntry } from '../store/processes.ts'

const BEAT_MS = 5_000

/**
 * Keeps the process on the list of the living, and hears how many of them read from the service: those share each account's rate. It also
 * notices soon when somebody restores a backup under processes that should have been stopped: numbers are given a second time then.
 */
export class Heartbeat implements Service {
  readonly name = 'heartbeat'
  readonly #db: Db
  readonly #log: Log
  readonly #entry: ProcessEntry
  readonly #onPolling: (processes: number) => void

  constructor(db: Db, log: Log, entry: ProcessEntry, onPolling: (processes: number) => void) {
    this.#db = db
    this.#log = log
    this.#entry = entry
    this.#onPolling = onPolling
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.beat()
      await this.#db.clock.sleep(BEAT_MS, signal)
    }
    // Best effort: who does not say good-bye is thought dead after a while.
    await leave(this.#db, this.#entry.id).catch((error: unknown) => this.#log.debug({ err: error }, messageOf(error)))
  }

  /** One beat. A store that is away is no reason to fail: the next beat tries again. */
  async beat(): Promise<void> {
    try {
      await beat(this.#db, this.#entry)
      const epoch = await settleLogEpoch(this.#db)
      if (epoch !== null) this.#log.warn({ ...epoch }, newEpochText(epoch))
      this.#onPolling(Math.max(1, await countPolling(this.#db.read)))
    } catch (error) {
      if (!(error instanceof TransientError)) throw error
      this.#log.warn({ err: error }, `the process could not be kept on the list: ${messageOf(error)}`)
    }
  }
}
