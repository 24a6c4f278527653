import { msFromTime, type TimeText } from '../../model/time.ts'
import { lastSlot } from '../../reconcile/run/schedule.ts'
import type { Query } from '../../store/engine/db.ts'
import { countServing } from '../../store/upkeep/processes.ts'
import { lastUpkeep } from '../../store/upkeep/upkeep.ts'
import { type Problem, problem } from '../health/problem.ts'
import { ago, shortTime } from '../output/text.ts'
import type { WatchContext, Watcher } from './watcher.ts'

/** Name of the backup task in `sync_upkeep`. */
export const BACKUP_TASK = 'backup'
/**
 * A backup is overdue this many ms after its scheduled time.
 * Until then, the backup may be in progress, because copying and test-restoring a large database takes time.
 */
const BACKUP_LATE_MS = 2 * 3_600_000
/** Daily retention is late if its last run is more than this many ms ago. A single missed run isn't reported. */
const RETENTION_LATE_MS = 49 * 3_600_000

/** Watches whether scheduled backups are made and can be restored. */
export const backupWatcher: Watcher = {
  names: ['backup_overdue'],
  check: overdue,
}

async function overdue({ q, config, nowMs }: WatchContext): Promise<Problem[]> {
  const { cron } = config.backup
  const last = cron === null ? null : await lastUpkeep(q, BACKUP_TASK)
  // If no backup was started yet, don't raise an alarm. The first backup follows soon after the program starts.
  if (cron === null || last === null) return []
  const due = lastSlot({ cron, timeZone: config.cronTimezone }, nowMs - BACKUP_LATE_MS)
  if (last.waits_for !== null)
    return [problem('backup_overdue', { since: last.waits_since }, 'on', `the backup by BACKUP_CRON failed: ${last.waits_for}`)]
  const isDone = last.ended_at !== null && last.slot !== null && last.slot >= due
  const isBegun = last.ended_at === null && last.began_at !== null && nowMs - msFromTime(last.began_at) < BACKUP_LATE_MS
  const text = `a backup was due at ${shortTime(due)} UTC, but none has been made and test-restored since`
  return isDone || isBegun ? [] : [problem('backup_overdue', {}, 'on', text)]
}

export const retentionWatcher: Watcher = {
  names: ['retention_waits', 'retention_late'],
  check: ({ q, nowMs }) => retentionProblems(q, nowMs),
}

/** @returns the problem `retention_waits`. @param reason why retention waits. @param since when the wait began. */
export function retentionWaits(reason: string, since: TimeText | null = null): Problem {
  return problem('retention_waits', { since }, 'on', `retention removes nothing, because ${reason}`)
}

/**
 * @returns `retention_waits` if retention waits for an operator, or `retention_late` if its last run is too old.
 * Returns `retention_late` only while a `serve` process is running.
 */
export async function retentionProblems(q: Query, nowMs: number): Promise<Problem[]> {
  const last = await lastUpkeep(q, 'retention')
  if (last?.waits_for != null) return [retentionWaits(last.waits_for, last.waits_since)]
  const ran = last?.ended_at ?? last?.began_at ?? null
  if (ran === null || nowMs - msFromTime(ran) <= RETENTION_LATE_MS) return []
  const isServed = (await countServing(q)) > 0
  const text = `retention has not finished for ${ago(ran, nowMs)}, so the database grows`
  return isServed ? [problem('retention_late', { since: ran }, 'on', text)] : []
}
