import { BusyError, UsageError } from '../../base/errors.ts'
import { SchemaBehindError } from '../../store/migrate/migrate.ts'

/** Exit codes of all commands except `reconcile`, which uses `runExit`. */
export const exitCodes = {
  done: 0,
  /** The command failed, or a check was not possible. */
  failed: 1,
  /** Wrong usage or configuration. */
  usage: 2,
  /** Not done: another run is active, or the service asked for a long pause. */
  busy: 4,
} as const

export function exitCodeOf(error: unknown): number {
  // Missing tables also mean wrong settings: DATABASE_URL is wrong, or MIGRATE_ON_START is off.
  if (error instanceof UsageError || error instanceof SchemaBehindError) return exitCodes.usage
  if (error instanceof BusyError) return exitCodes.busy
  return exitCodes.failed
}
