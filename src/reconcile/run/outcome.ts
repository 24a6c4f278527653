import type { RunEnd } from '../../store/reconcile/claims.ts'
import type { RunCounts } from '../../store/reconcile/runs.ts'

/** The exit codes of a run (design, "Commands"). */
export const runExit = { clean: 0, unchecked: 1, left: 3, notDone: 4 } as const

/** How a run ended, whatever it found. */
export type RunStop = { readonly state: 'done' | 'budget' | 'failed' | 'stopped'; readonly note: string | null }

/**
 * State, note and exit code of a run that ends. When several codes apply, the first of these counts: something could not be checked (1),
 * the run is not done (4), something was found and left (3). Findings that earlier runs reported do not count.
 */
export function runEnd(stop: RunStop, counts: RunCounts): RunEnd {
  const { missing, different, absent, unreadable, undelivered, lost, repaired } = counts
  const left = missing + different + absent + undelivered + lost - repaired
  if (stop.state === 'failed' || stop.state === 'stopped' || unreadable > 0) return { ...stop, exitCode: runExit.unchecked }
  if (stop.state === 'budget') return { ...stop, exitCode: runExit.notDone }
  return { ...stop, exitCode: left > 0 ? runExit.left : runExit.clean }
}

/** The worst of several exit codes: 1 over 4 over 3 over 0. */
export function worstExit(codes: readonly number[]): number {
  return [runExit.unchecked, runExit.notDone, runExit.left].find((code) => codes.includes(code)) ?? runExit.clean
}
