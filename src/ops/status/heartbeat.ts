import { messageOf, TransientError } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { OnceAMinute } from '../../base/once-a-minute.ts'
import type { Service } from '../../base/service.ts'
import { checkLogEpoch, newEpochText } from '../../store/changes/log-epoch.ts'
import type { MarkKeeper } from '../../store/changes/mark-file.ts'
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
/**
 * After a longer gap between our own beats the database may have been down for everybody. After a shorter one, as on a busy machine where a
 * beat takes long, a living process was still seen within `STALE_MS`: its last beat may be one interval older than the gap.
 */
const GAP_MS = STALE_MS - BEAT_MS

export interface HeartbeatOptions {
  /** The process applies nothing, and leaves a new log epoch to one that does. */
  readonly looksOnly?: boolean
  /** Of `serve` alone: the file beside a SQLite database bears the token of one process. */
  readonly marks?: MarkKeeper
}

/**
 * Registers the process as alive every 5 seconds, and reports how many processes share the request rates. Releases the claims of dead
 * processes, and begins a new log epoch when a backup was restored under running processes: change numbers would repeat otherwise.
 */
export class Heartbeat implements Service {
  readonly name = 'heartbeat'
  readonly #db: Db
  readonly #log: Log
  readonly #entry: ProcessEntry
  readonly #onSharing: (sharing: ProcessCounts) => void
  readonly #looksOnly: boolean
  readonly #marks: MarkKeeper | undefined
  readonly #unregistered: OnceAMinute
  /** By the monotonic clock: the last beat, and the first of the current series without a gap. */
  #beatAt = Number.NEGATIVE_INFINITY
  #steadySince = 0

  constructor(db: Db, log: Log, entry: ProcessEntry, onSharing: (sharing: ProcessCounts) => void, options: HeartbeatOptions = {}) {
    this.#db = db
    this.#log = log
    this.#entry = entry
    this.#onSharing = onSharing
    this.#looksOnly = options.looksOnly ?? false
    this.#marks = options.marks
    this.#unregistered = new OnceAMinute(db.clock, (text) => log.warn(text))
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.beat()
      await this.#db.clock.sleep(BEAT_MS, signal)
    }
    await this.#keepMarks().catch((error: unknown) => this.#log.debug({ err: error }, messageOf(error)))
    // Best effort: without it, the process counts as dead after a while.
    await removeProcess(this.#db, this.#entry.id).catch((error: unknown) => this.#log.debug({ err: error }, messageOf(error)))
  }

  /** One beat. While the database is down it only warns, once a minute; the next beat tries again. */
  async beat(): Promise<void> {
    try {
      for (const { processId, ...left } of await this.#beat()) this.#log.warn({ process: processId, ...left }, diedText(left))
      if (!this.#looksOnly) await this.#checkLog()
      this.#onSharing(await countProcesses(this.#db.read))
    } catch (error) {
      if (!(error instanceof TransientError)) throw error
      this.#unregistered.tell(
        `this process could not be registered as alive: ${messageOf(error)}; it tries again every ${BEAT_MS / 1000} s`,
      )
    }
  }

  async #checkLog(): Promise<void> {
    const epoch = await checkLogEpoch(this.#db)
    if (epoch !== null) this.#log.warn({ ...epoch }, newEpochText(epoch))
    await this.#keepMarks()
  }

  async #keepMarks(): Promise<void> {
    try {
      await this.#marks?.keep()
    } catch (error) {
      if (error instanceof TransientError) throw error
      this.#log.warn(
        { err: error },
        `the file beside the database that tells an older copy from it could not be written: ${messageOf(error)}; free space there, or give the folder to this user`,
      )
    }
  }

  /** Judges other processes only after beats without a gap for as long as a living one needs to be seen. @returns those found dead. */
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
