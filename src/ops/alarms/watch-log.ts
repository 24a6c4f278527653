import { currentBreak } from '../../store/changes/log-branch.ts'
import { ofInstallation } from './condition.ts'
import type { Watcher } from './watcher.ts'

/** Whether the database took the place of another one, and what that lost has not all been read again. */
export const logWatcher: Watcher = {
  names: ['lost_branch'],
  async check({ q }) {
    const found = await currentBreak(q)
    if (found === null) return []
    const { log_epoch, after_seq, known_seq, reason } = found
    const lost = known_seq === null ? '' : `, and changes up to ${known_seq} were lost`
    const text =
      `the database took the place of another one (${reason}): log epoch ${log_epoch} began behind change ${after_seq}${lost}; every submission is ` +
      'being replayed; readers of the change log that were further must go on as migrations/queries.md says'
    return [ofInstallation('lost_branch', 'on', text)]
  },
}
