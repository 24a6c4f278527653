import { existsSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { repeat, type Service } from '../../base/service.ts'
import { type CronSchedule, lastSlot } from '../../reconcile/run/schedule.ts'
import { backupSqlite, megabytes } from '../../store/backup/backup.ts'
import { tryRestore } from '../../store/backup/trial.ts'
import { firstEpochOf } from '../../store/changes/log-divergence.ts'
import type { Db } from '../../store/engine/db.ts'
import { type ActionDetail, auditAction } from '../../store/operators/actions.ts'
import { backupActions } from '../../store/operators/backups.ts'
import { runUpkeep, setUpkeepWait } from '../../store/upkeep/upkeep.ts'
import { BACKUP_TASK } from '../alarms/watch-upkeep.ts'
import { progressLines } from '../output/backup-progress.ts'
import { pluralize } from '../output/text.ts'
import { copyName, type Kept, prepareFolder, removeOldCopies } from './copies.ts'

export interface ScheduledBackupsOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly source: string
  readonly settings: CronSchedule & Kept & { readonly dir: string }
}

/** Delay in ms after the program starts, so that other work runs first. */
const AFTER_START_MS = 3_000
const LOOK_MS = 15_000
/** Delay in ms before a retry. Usually a person must fix the cause first, such as a full disk. */
const RETRY_MS = 900_000
/** A run may take longer than this lease. No other process takes over, because SQLite allows only one `serve`. */
const LEASE_MS = 60_000
/** Interval of progress lines in the log, in ms. */
const PROGRESS_MS = 60_000

/**
 * Makes a backup at each time of `BACKUP_CRON`, as the command `backup` does.
 * Then test-restores the backup and removes old backups.
 * If a time was missed or the settings changed, the backup follows soon after the program starts.
 * Each step can be repeated, because a backup file gets its name only when the backup is complete.
 */
export class ScheduledBackups implements Service {
  readonly name = 'backups'
  readonly #o: ScheduledBackupsOptions
  /** The last logged problem. The same problem is not logged twice in a row. */
  #problem: string | null = null

  constructor(options: ScheduledBackupsOptions) {
    this.#o = options
  }

  async run(signal: AbortSignal): Promise<void> {
    await repeat(this.#o.clock, signal, AFTER_START_MS, async () => ((await this.runIfDue(signal)) === 'failed' ? RETRY_MS : LOOK_MS))
  }

  /**
   * Makes the due backup. Does nothing if the backup already exists, or if another process holds the lease. The lease of
   * a dead process expires.
   */
  async runIfDue(signal: AbortSignal): Promise<'done' | 'ran' | 'held' | 'stopped' | 'failed'> {
    const { db, clock, log, settings } = this.#o
    const slot = lastSlot(settings, clock.now())
    const turn = { slot, settings: `${settings.keep} ${settings.keepDays} ${settings.dir}` }
    try {
      const outcome = await runUpkeep(db, BACKUP_TASK, turn, LEASE_MS, async () => {
        const note = await this.#make(join(resolve(settings.dir), copyName(slot)), signal)
        log.info(`backup: ${note}`)
        return note
      })
      if (outcome === 'ran') this.#problem = null
      return outcome
    } catch (error) {
      if (signal.aborted) return 'stopped'
      const problem = messageOf(error)
      if (problem !== this.#problem) log.error({ err: error }, `the backup due at ${slot} failed: ${problem}`)
      this.#problem = problem
      await setUpkeepWait(db, BACKUP_TASK, problem)
      return 'failed'
    }
  }

  async #make(file: string, signal: AbortSignal): Promise<string> {
    const { db, clock, log, settings, source } = this.#o
    await prepareFolder(resolve(settings.dir), await firstEpochOf(db.read))
    const onProgress = progressLines(PROGRESS_MS, (line) => log.info(line))
    if (!existsSync(file))
      await this.#audited(backupActions.made, file, async () => ({ bytes: (await backupSqlite(source, file, signal, onProgress)).bytes }))
    await this.#audited(backupActions.tried, file, async () => {
      await tryRestore(file, signal)
      return {}
    })
    const removed = await removeOldCopies(settings.dir, settings, clock.now())
    const size = megabytes(statSync(file).size)
    return `${file} (${size}), verified and test-restored; removed ${pluralize(removed, 'older copy', 'older copies')}`
  }

  async #audited(action: string, file: string, work: () => Promise<ActionDetail>): Promise<void> {
    const note = { who: 'schedule', action, target: null, detail: { file } }
    await auditAction(this.#o.db, note, async () => ({ detail: await work() }))
  }
}
