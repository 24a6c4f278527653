import { messageOf, TransientError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Service } from '../base/service.ts'
import type { Db } from '../store/engine/db.ts'
import {
  countSubmissions,
  endFullReads,
  endRequests,
  findUnreadEpoch,
  findUnreadSubmission,
  requestFullReads,
  type UnreadEpoch,
} from '../store/reads/full-read-all.ts'

const LOOK_MS = 10_000
const STEP = 200
const PAUSE_MS = 20

/**
 * Requests a full re-read of all feeds after a log divergence, and records when all re-reads are done. Several
 * processes may run this service.
 */
export class ReadAllAgain implements Service {
  readonly name = 'full re-reads after a log divergence'
  readonly #db: Db
  readonly #log: Log
  readonly #accounts: readonly string[]
  /**
   * `#epoch`: log epoch that `#doneUpTo` belongs to.
   * `#doneUpTo`: position of the last completed submission, by account.
   */
  #epoch = ''
  readonly #doneUpTo = new Map<string, string>()

  constructor(db: Db, log: Log, accounts: readonly string[]) {
    this.#db = db
    this.#log = log
    this.#accounts = accounts
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.look(signal)
      } catch (error) {
        if (!(error instanceof TransientError)) throw error
        this.#log.warn(
          { err: error },
          `full re-reads after a log divergence could not be requested: ${messageOf(error)}; retrying in ${LOOK_MS / 1000} s`,
        )
      }
      await this.#db.clock.sleep(LOOK_MS, signal)
    }
  }

  /** Requests the full re-reads of a new epoch, or checks whether all of them are done. */
  async look(signal: AbortSignal): Promise<void> {
    const epoch = await findUnreadEpoch(this.#db.read)
    if (epoch === null) return
    if (epoch.full_reads_at === null) await this.#request(epoch, signal)
    else if (await this.#isComplete(epoch, signal)) {
      await endFullReads(this.#db, epoch.log_epoch)
      this.#log.info({ logEpoch: epoch.log_epoch }, `every submission was read again since log epoch ${epoch.log_epoch} began`)
    }
  }

  async #request({ log_epoch }: UnreadEpoch, signal: AbortSignal): Promise<void> {
    let requested = 0
    for (const account of this.#accounts) {
      const submissions = await countSubmissions(this.#db.read, account)
      requested += submissions
      for (let after: string | null = ''; after !== null && !signal.aborted; ) {
        after = await requestFullReads(this.#db, account, after, STEP, submissions)
        if (after !== null) await this.#db.clock.sleep(PAUSE_MS, signal)
      }
    }
    if (signal.aborted) return
    await endRequests(this.#db, log_epoch)
    this.#log.warn(
      { logEpoch: log_epoch, requested },
      `requested full re-reads of ${requested} submissions, because log epoch ${log_epoch} began`,
    )
  }

  async #isComplete({ log_epoch, began_at }: UnreadEpoch, signal: AbortSignal): Promise<boolean> {
    if (this.#epoch !== log_epoch) this.#doneUpTo.clear()
    this.#epoch = log_epoch
    for (const account of this.#accounts) {
      while (!signal.aborted) {
        const found = await findUnreadSubmission(this.#db.read, account, this.#doneUpTo.get(account) ?? '', began_at, STEP)
        if (found === null) break
        if (!found.isRead) return false
        this.#doneUpTo.set(account, found.at)
      }
    }
    return !signal.aborted
  }
}
