import { msFromTime } from '../../model/time.ts'
import { lastSlot } from '../../reconcile/run/schedule.ts'
import { lastUpkeep } from '../../store/upkeep/upkeep.ts'
import { shortTime } from '../output/text.ts'
import { type Condition, ofInstallation } from './condition.ts'
import type { WatchContext, Watcher } from './watcher.ts'

/** The task of `sync_upkeep` that makes backups by a timetable. */
export const BACKUP_TASK = 'backup'
/** A backup begins within moments of its time, and copying and restoring a large database takes a while. */
const LATE_MS = 2 * 3_600_000

/** Whether the backups of the timetable are made and can be restored. */
export const backupWatcher: Watcher = {
  names: ['backup_overdue'],
  check: async (context) => [await overdue(context)],
}

async function overdue({ q, config, nowMs }: WatchContext): Promise<Condition> {
  const { cron } = config.backup
  const last = cron === null ? null : await lastUpkeep(q, BACKUP_TASK)
  // Soon after a start the first one is begun.
  if (cron === null || last === null) return ofInstallation('backup_overdue', 'off', '')
  const due = lastSlot({ cron, timeZone: config.cronTimezone }, nowMs - LATE_MS)
  if (last.waits_for !== null)
    return ofInstallation(
      'backup_overdue',
      'on',
      `the backup by BACKUP_CRON failed: ${last.waits_for}`,
      last.waits_since === null ? undefined : msFromTime(last.waits_since),
    )
  const isDone = last.ended_at !== null && last.slot !== null && last.slot >= due
  const isBegun = last.ended_at === null && last.began_at !== null && nowMs - msFromTime(last.began_at) < LATE_MS
  const text = `a backup was due at ${shortTime(due)} UTC, and none has been made and restored on trial since`
  return ofInstallation('backup_overdue', !isDone && !isBegun, text)
}
