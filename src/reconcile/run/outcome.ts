import type { RunEnd } from '../../store/reconcile/claims.ts'
import type { RunCounts } from '../../store/reconcile/runs.ts'

/**
 * Exit codes of a run.
 * - `clean`: there are no new findings, or all are repaired
 * - `unchecked`: a part couldn't be checked, or the run failed or was stopped
 * - `left`: some new findings aren't repaired
 * - `notDone`: the budget (time limit) ended, the service requested a pause beyond the budget, or another run was
 *   active
 */
export const runExit = { clean: 0, unchecked: 1, left: 3, notDone: 4 } as const

export type RunStop = { readonly state: 'done' | 'budget' | 'failed' | 'stopped'; readonly note: string | null }

/**
 * @returns the state, note, and exit code of a run. If several codes apply, chooses the first in this order:
 * `unchecked` (1), `notDone` (4), `left` (3). Known findings and `moved` findings don't count.
 */
export function runEnd(stop: RunStop, counts: RunCounts): RunEnd {
  const { missing, different, absent, unreadable, undelivered, lost, repaired } = counts
  const left = missing + different + absent + undelivered + lost - repaired
  if (stop.state === 'failed' || stop.state === 'stopped' || unreadable > 0) return { ...stop, exitCode: runExit.unchecked }
  if (stop.state === 'budget') return { ...stop, exitCode: runExit.notDone }
  return { ...stop, exitCode: left > 0 ? runExit.left : runExit.clean }
}

/** @returns the worst exit code. From worst to best: 1, 4, 3, 0. */
export function worstExit(codes: readonly number[]): number {
  return [runExit.unchecked, runExit.notDone, runExit.left].find((code) => codes.includes(code)) ?? runExit.clean
}
