import { BusyError, UsageError } from '../../base/errors.ts'
import { SchemaBehindError } from '../../store/migrate/migrate.ts'

/** The exit codes of the commands; a run of `reconcile` has its own, see `runExit`. */
export const exitCodes = {
  done: 0,
  /** Failed while running, or something could not be checked. */
  failed: 1,
  /** Wrong usage or configuration. */
  usage: 2,
  /** Not done: another run is in progress. */
  busy: 4,
} as const

/** @returns the exit code that tells what was thrown. */
export function exitCodeOf(error: unknown): number {
  // Tables that are not there yet: the database that is named, or MIGRATE_ON_START, is a mistake of whoever called.
  if (error instanceof UsageError || error instanceof SchemaBehindError) return exitCodes.usage
  if (error instanceof BusyError) return exitCodes.busy
  return exitCodes.failed
}
