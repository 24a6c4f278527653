import { messageOf, TransientError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Service } from '../base/service.ts'
import type { Db } from '../store/engine/db.ts'
import {
  countSubmissions,
  endReplays,
  endRequests,
  findUnreplayed,
  findUnreplayedSubmission,
  requestReplays,
  type UnreplayedEpoch,
} from '../store/reads/replay-all.ts'

/** Time between two looks whether a new log epoch has begun, and whether its replays have ended. */
const LOOK_MS = 10_000
/** Submissions in one transaction. */
const STEP = 200
/** Pause between steps, which leaves the database to others. */
const PAUSE_MS = 20

/**
 * Replays everything after a branch of the change log was lost, and records when that is done. Any number of processes may do this: a
 * replay that is due already stays so.
 */
export class ReplayAll implements Service {
  readonly name = 'replays after a lost branch'
  readonly #db: Db
  readonly #log: Log
  readonly #accounts: readonly string[]
  /** How far the submissions of each account are known to be replayed, in the epoch of that name. */
  #epoch = ''
  readonly #replayed = new Map<string, string>()

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
          `replays after a lost branch of the change log could not be requested: ${messageOf(error)}; trying again in ${LOOK_MS / 1000} s`,
        )
      }
      await this.#db.clock.sleep(LOOK_MS, signal)
    }
  }

  /** Requests the replays of a new epoch, or looks how far they have come. */
  async look(signal: AbortSignal): Promise<void> {
    const epoch = await findUnreplayed(this.#db.read)
    if (epoch === null) return
    if (epoch.replays_at === null) await this.#request(epoch, signal)
    else if (await this.#areReplayed(epoch, signal)) {
      await endReplays(this.#db, epoch.log_epoch)
      this.#log.info({ logEpoch: epoch.log_epoch }, `every submission has been replayed since log epoch ${epoch.log_epoch} began`)
    }
  }

  async #request({ log_epoch }: UnreplayedEpoch, signal: AbortSignal): Promise<void> {
    let requested = 0
    for (const account of this.#accounts) {
      const submissions = await countSubmissions(this.#db.read, account)
      requested += submissions
      for (let after: string | null = ''; after !== null && !signal.aborted; ) {
        after = await requestReplays(this.#db, account, after, STEP, submissions)
        if (after !== null) await this.#db.clock.sleep(PAUSE_MS, signal)
      }
    }
    if (signal.aborted) return
    await endRequests(this.#db, log_epoch)
    this.#log.warn(
      { logEpoch: log_epoch, requested },
      `replays of ${requested} submissions were requested, because log epoch ${log_epoch} began`,
    )
  }

  async #areReplayed({ log_epoch, began_at }: UnreplayedEpoch, signal: AbortSignal): Promise<boolean> {
    if (this.#epoch !== log_epoch) this.#replayed.clear()
    this.#epoch = log_epoch
    for (const account of this.#accounts) {
      while (!signal.aborted) {
        const found = await findUnreplayedSubmission(this.#db.read, account, this.#replayed.get(account) ?? '', began_at, STEP)
        if (found === null) break
        if (!found.isReplayed) return false
        this.#replayed.set(account, found.at)
      }
    }
    return !signal.aborted
  }
}
