import { randomUUID } from 'node:crypto'
import { messageOf } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import type { Db } from '../../store/engine/db.ts'
import { type AuditEntry, auditAction } from '../../store/operators/actions.ts'
import { askReload, listSettings, reloadResults } from '../../store/upkeep/process-settings.ts'
import { ConflictError } from '../output/refusals.ts'
import type { ActionContext } from './context.ts'

/** The outcome of a reload of the settings, without secrets. */
export interface ReloadResult {
  /** What changed, one sentence each; empty when nothing differs, or there are problems. */
  readonly applied: readonly string[]
  /** Names of changed settings that take effect only after a restart. */
  readonly needsRestart: readonly string[]
  /** Variables of the environment that give values. The process knows their values of its start only. */
  readonly fromEnvironment: readonly string[]
  /** Why nothing changed, one sentence each; empty when the settings are valid. */
  readonly problems: readonly string[]
}

type Reload = () => Promise<ReloadResult>

/**
 * Reloads the settings, and records that in `operator_actions`.
 * @param who the name of a token, `command`, or `signal`.
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

const ANSWER_WITHIN_MS = 60_000
const LOOK_MS = 200

/**
 * Asks every running `serve` of the database to reload, and waits for all of them.
 * @throws ConflictError when none runs, or not all finish in time.
 */
export async function reloadOthers({ db, clock, signal }: Pick<ActionContext, 'db' | 'clock' | 'signal'>): Promise<ReloadResult> {
  const running = (await listSettings(db.read)).map(({ process_id }) => process_id)
  if (running.length === 0) throw new ConflictError(['no `serve` runs on this database; the next start reads the settings'])
  await askReload(db, randomUUID(), running)
  for (const until = clock.steady() + ANSWER_WITHIN_MS; clock.steady() < until; await clock.sleep(LOOK_MS, signal)) {
    signal.throwIfAborted()
    const results = await reloadResults(db.read, running)
    const alive = new Set((await listSettings(db.read)).map(({ process_id }) => process_id))
    if (running.every((id) => results.has(id) || !alive.has(id))) return merged([...results.values()])
  }
  throw new ConflictError([`not every \`serve\` finished its reload within ${ANSWER_WITHIN_MS / 1_000} s; their logs say more`])
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
