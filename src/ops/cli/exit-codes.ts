import { BusyError, UsageError } from '../../base/errors.ts'
import { SchemaBehindError } from '../../store/migrate/migrate.ts'

/** The exit codes of commands; `reconcile` has its own, see `runExit`. */
export const exitCodes = {
  done: 0,
  /** Failed while running, or something could not be checked. */
  failed: 1,
  /** Wrong usage or configuration. */
  usage: 2,
  /** Not done: another run is in progress, or the service asked for a long pause. */
  busy: 4,
} as const

/** @returns the exit code for a thrown error. */
export function exitCodeOf(error: unknown): number {
  // Missing tables: DATABASE_URL names the wrong database, or MIGRATE_ON_START is off.
  if (error instanceof UsageError || error instanceof SchemaBehindError) return exitCodes.usage
  if (error instanceof BusyError) return exitCodes.busy
  return exitCodes.failed
}
