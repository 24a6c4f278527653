import { msFromTime } from '../../model/time.ts'
import { currentBreak } from '../../store/changes/log-branch.ts'
import type { Query } from '../../store/engine/db.ts'
import { type Condition, ofInstallation } from './condition.ts'
import type { Watcher } from './watcher.ts'

/** Watches for a database that took the place of another one. */
export const logWatcher: Watcher = {
  names: ['lost_branch'],
  check: ({ q }) => divergenceConditions(q),
}

/** Whether the database took the place of another one, and not every submission has been read again in full. */
export async function divergenceConditions(q: Query): Promise<Condition[]> {
  const found = await currentBreak(q)
  if (found === null) return []
  const { log_epoch, after_seq, began_at, known_seq, reason } = found
  const lost = known_seq === null ? '' : `, and changes up to ${known_seq} were lost`
  const text =
    `the database took the place of another one (${reason}): log epoch ${log_epoch} began after change ${after_seq}${lost}; every submission is ` +
    'being read again in full; readers of the change log that were further must resume as migrations/queries.md describes'
  return [ofInstallation('lost_branch', 'on', text, msFromTime(began_at))]
}
