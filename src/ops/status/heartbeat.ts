import { messageOf, TransientError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Service } from '../../base/service.ts'
import { checkLogEpoch, newEpochText } from '../../store/changes/log-epoch.ts'
import type { Db } from '../../store/engine/db.ts'
import { type ReleasedClaims, releaseClaimsOfDeadProcesses } from '../../store/upkeep/dead-processes.ts'
import {
  countProcesses,
  type ProcessCounts,
  type ProcessEntry,
  recordHeartbeat,
  removeProcess,
  STALE_MS,
} from '../../store/upkeep/processes.ts'

const BEAT_MS = 5_000
/** After so long without a beat of our own it may be the store that was away, for everybody. */
const GAP_MS = 2 * BEAT_MS

/**
 * Keeps the process on the list of the living, and hears how many of them share the rate of an account, or of a destination. It frees what
 * those had claimed who died, and notices soon when somebody restores a backup under processes that should have been stopped: numbers are
 * given a second time then.
 */
export class Heartbeat implements Service {
  readonly name = 'heartbeat'
  readonly #db: Db
  readonly #log: Log
  readonly #entry: ProcessEntry
  readonly #onSharing: (sharing: ProcessCounts) => void
  readonly #looksOnly: boolean
  /** By the steady clock: the last beat, and the first of those that came without a gap. */
  #beatAt = Number.NEGATIVE_INFINITY
  #steadySince = 0

  /** @param looksOnly whether the process applies nothing: then a restored backup waits for one that does. */
  constructor(db: Db, log: Log, entry: ProcessEntry, onSharing: (sharing: ProcessCounts) => void, looksOnly = false) {
    this.#db = db
    this.#log = log
    this.#entry = entry
    this.#onSharing = onSharing
    this.#looksOnly = looksOnly
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.beat()
      await this.#db.clock.sleep(BEAT_MS, signal)
    }
    // Best effort: who does not say good-bye is thought dead after a while.
    await removeProcess(this.#db, this.#entry.id).catch((error: unknown) => this.#log.debug({ err: error }, messageOf(error)))
  }

  /** One beat. A store that is away is no reason to fail: the next beat tries again. */
  async beat(): Promise<void> {
    try {
      for (const { processId, ...left } of await this.#beat()) this.#log.warn({ process: processId, ...left }, diedText(left))
      const epoch = this.#looksOnly ? null : await checkLogEpoch(this.#db)
      if (epoch !== null) this.#log.warn({ ...epoch }, newEpochText(epoch))
      this.#onSharing(await countProcesses(this.#db.read))
    } catch (error) {
      if (!(error instanceof TransientError)) throw error
      this.#log.warn({ err: error }, `the process could not be kept on the list: ${messageOf(error)}`)
    }
  }

  /** Others are judged only after beats so long without a gap that whoever lives has been seen meanwhile. @returns who was found dead. */
  async #beat(): Promise<ReleasedClaims[]> {
    const now = this.#db.clock.steady()
    if (now - this.#beatAt > GAP_MS) this.#steadySince = now
    const found = await recordHeartbeat(
      this.#db,
      this.#entry,
      now - this.#steadySince < STALE_MS ? undefined : releaseClaimsOfDeadProcesses,
    )
    this.#beatAt = now
    return found ?? []
  }
}

function diedText({ deliveries, reads }: Omit<ReleasedClaims, 'processId'>): string {
  return `a process was not seen for ${STALE_MS / 1000} s and is taken for dead: ${deliveries} deliveries and ${reads} reads that it had in hand are free`
}
