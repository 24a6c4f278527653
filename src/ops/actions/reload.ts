import { randomUUID } from 'node:crypto'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Db } from '../../store/engine/db.ts'
import { type AuditEntry, auditAction } from '../../store/operators/actions.ts'
import { askReload, listSettings, reloadResults } from '../../store/upkeep/process-settings.ts'
import { ConflictError } from '../output/refusals.ts'
import type { ActionContext } from './context.ts'

/** Result of a reload. Contains no secrets. */
export interface ReloadResult {
  /** Changes that took effect, one sentence each. */
  readonly applied: readonly string[]
  /** Changed settings that require a restart. */
  readonly needsRestart: readonly string[]
  /** Environment variables that set values. A reload doesn't see new values of these variables. */
  readonly fromEnvironment: readonly string[]
  /** Problems of the settings, one sentence each. If there is a problem, the reload changes nothing. */
  readonly problems: readonly string[]
}

type Reload = () => Promise<ReloadResult>

/**
 * Reloads the settings and audits the reload.
 * @param who a token's name, `command`, or `signal`.
 * @throws errors of the audit. If the start of the action can't be recorded, nothing is reloaded.
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

/**
 * Reloads the settings once after SIGHUP, even if the audit fails.
 * An error of the audit is only logged, because a signal has no caller that could get the error.
 */
export async function signalledReload(db: Db, log: Log, reload: Reload): Promise<ReloadResult> {
  let made: Promise<ReloadResult> | null = null
  const once = () => {
    made ??= reload()
    return made
  }
  try {
    return await auditedReload(db, 'signal', once)
  } catch (error) {
    log.warn({ err: error }, `the reload of the settings could not be recorded in operator_actions: ${messageOf(error)}`)
    return await once()
  }
}

const ANSWER_WITHIN_MS = 60_000
const LOOK_MS = 200

/**
 * Requests a reload from each running `serve`, and waits for the results.
 * @returns the combined results.
 * @throws ConflictError if no `serve` runs, or if a `serve` does not finish its reload within 60 s.
 */
export async function reloadOthers({ db, clock, signal }: Pick<ActionContext, 'db' | 'clock' | 'signal'>): Promise<ReloadResult> {
  const running = (await listSettings(db.read)).map(({ process_id }) => process_id)
  if (running.length === 0) throw new ConflictError(['no `serve` runs on this database. The next start reads the settings'])
  await askReload(db, randomUUID(), running)
  for (const until = clock.steady() + ANSWER_WITHIN_MS; clock.steady() < until; await clock.sleep(LOOK_MS, signal)) {
    signal.throwIfAborted()
    const results = await reloadResults(db.read, running)
    const alive = new Set((await listSettings(db.read)).map(({ process_id }) => process_id))
    if (running.every((id) => results.has(id) || !alive.has(id))) return merged([...results.values()])
  }
  throw new ConflictError([`a \`serve\` process did not finish its reload within ${ANSWER_WITHIN_MS / 1_000} s. Check its log`])
}

function merged(texts: readonly string[]): ReloadResult {
  const results = texts.map((text) => JSON.parse(text) as ReloadResult)
  const all = (of: (result: ReloadResult) => readonly string[]) => [...new Set(results.flatMap(of))]
  return {
    applied: all(({ applied }) => applied),
    needsRestart: all(({ needsRestart }) => needsRestart),
    fromEnvironment: all(({ fromEnvironment }) => fromEnvironment),
    problems: all(({ problems }) => problems),
  }
}
