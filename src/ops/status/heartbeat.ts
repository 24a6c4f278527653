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
 * If this process has written no heartbeat for longer than this many ms, the database may have been down.
 * The process then waits for `STALE_MS` before it declares other processes dead.
 * The value is one interval below `STALE_MS`, because another process's last heartbeat may be one interval older.
 */
const GAP_MS = STALE_MS - BEAT_MS

export interface HeartbeatOptions {
  /** True if this process only reads. Such a process begins no log epoch. */
  readonly looksOnly?: boolean
  /** Writes the mark file, which reveals if an older copy replaces the SQLite database. Only `serve` sets `marks`. */
  readonly marks?: MarkKeeper
}

/**
 * Registers this process as alive every 5 s, and reports how many processes share the request rates.
 * Also releases the claims of dead processes.
 * Begins a new log epoch if the database is restored while this process runs. Otherwise, change numbers would repeat.
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
  /**
   * `#beatAt`: time of the last beat. `#steadySince`: time of the first beat after the last gap.
   * Both times are by the steady clock.
   */
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
    // If removing the process fails, the process counts as dead after `STALE_MS`.
    await removeProcess(this.#db, this.#entry.id).catch((error: unknown) => this.#log.debug({ err: error }, messageOf(error)))
  }

  /** Registers this process as alive. While the database is down, warns once a minute. */
  async beat(): Promise<void> {
    try {
      for (const { processId, ...left } of await this.#beat()) this.#log.warn({ process: processId, ...left }, diedText(left))
      if (!this.#looksOnly) await this.#checkLog()
      this.#onSharing(await countProcesses(this.#db.read))
    } catch (error) {
      if (!(error instanceof TransientError)) throw error
      this.#unregistered.tell(`this process could not be registered as alive: ${messageOf(error)}; retrying every ${BEAT_MS / 1000} s`)
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
        `the file next to the database that identifies older copies could not be written: ${messageOf(error)}; free space, or make the folder writable for this user`,
      )
    }
  }

  /**
   * Registers this process and releases the claims of dead processes.
   * After a gap in its heartbeats (see `GAP_MS`), releases nothing for `STALE_MS`, so that living processes can
   * register first.
   * @returns the dead processes with their released claims.
   */
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
  return `a process did not respond for ${STALE_MS / 1000} s and counts as dead; released its ${deliveries} deliveries and ${reads} reads`
}
