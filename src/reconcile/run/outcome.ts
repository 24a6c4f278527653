import type { RunEnd } from '../../store/reconcile/claims.ts'
import type { RunCounts } from '../../store/reconcile/runs.ts'

/** The exit codes of a run (design, "Commands"). */
export const runExit = { clean: 0, unchecked: 1, left: 3, notDone: 4 } as const

/** How the work of a run ended, apart from what it found. */
export type RunStop = { readonly state: 'done' | 'budget' | 'failed' | 'stopped'; readonly note: string | null }

/**
 * What a run comes to. Of several reasons the one that matters most decides: something could not be checked (1), then the run is not done
 * (4), then something was found and left (3). What stood before counts for nothing.
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
