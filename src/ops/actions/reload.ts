import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Db } from '../../store/engine/db.ts'
import { type AuditEntry, auditAction } from '../../store/operators/actions.ts'

/** The outcome of a reload of the settings, without secrets. */
export interface ReloadResult {
  /** What changed, one sentence each; empty when nothing differs, or there are problems. */
  readonly applied: readonly string[]
  /** Names of changed settings that take effect only after a restart. */
  readonly needsRestart: readonly string[]
  /** Why nothing changed, one sentence each; empty when the settings are valid. */
  readonly problems: readonly string[]
}

type Reload = () => Promise<ReloadResult>

/**
 * Reloads the settings, and records that in `operator_actions`.
 * @param who the name of a token, or `signal`.
 * @throws when it cannot be recorded; then nothing is reloaded.
 */
export async function auditedReload(db: Db, who: string, reload: Reload): Promise<ReloadResult> {
  const note: AuditEntry = { who, action: 'settings.reload', target: null, detail: {} }
  const { result } = await auditAction(db, note, async () => {
    const made = await reload()
    const { applied, needsRestart, problems } = made
    return { result: made, detail: { applied, needs_restart: needsRestart, problems: problems.length }, failed: problems.length > 0 }
  })
  return result
}

/** A reload by SIGHUP. Nobody waits for its outcome and could repeat it, so it is done even when it cannot be recorded. */
export async function signalledReload(db: Db, log: Log, reload: Reload): Promise<ReloadResult> {
  let made: Promise<ReloadResult> | null = null
  const once = () => {
    made ??= reload()
    return made
  }
  try {
    return await auditedReload(db, 'signal', once)
  } catch (error) {
    log.warn({ err: error }, `settings are reloaded, but that could not be recorded in operator_actions: ${messageOf(error)}`)
    return await once()
  }
}
