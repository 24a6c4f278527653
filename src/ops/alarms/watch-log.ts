import { currentBreak } from '../../store/changes/log-divergence.ts'
import type { Query } from '../../store/engine/db.ts'
import { type Problem, problem } from '../health/problem.ts'
import type { Watcher } from './watcher.ts'

export const logWatcher: Watcher = {
  names: ['log_divergence'],
  check: ({ q }) => divergence(q),
}

/**
 * @returns the problem `log_divergence` if this database replaced another one, for example after a restore.
 * The problem ends when the feeds of all submissions have been re-read in full.
 */
export async function divergence(q: Query): Promise<Problem[]> {
  const found = await currentBreak(q)
  if (found === null) return []
  const { log_epoch, after_seq, began_at, known_seq, reason } = found
  const lost = known_seq === null ? '' : `, and changes up to ${known_seq} were lost`
  const text =
    `the database replaced another one (${reason}): log epoch ${log_epoch} began after change ${after_seq}${lost}; every submission is ` +
    'being re-read in full; readers of the change log beyond that change must resume as described in migrations/follow-changes.md'
  return [problem('log_divergence', { since: began_at }, 'on', text)]
}
