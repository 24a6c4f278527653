import type { Config } from '../../config/config.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { type AuditEntry, auditedDb } from '../../store/operators/actions.ts'
import { requestRun, stopRun } from '../../store/reconcile/claims.ts'
import { candidatesOf } from '../../store/reconcile/queue.ts'
import { findRun, type RunRow, runIdsLike } from '../../store/reconcile/runs.ts'
import type { RunOptions } from '../../store/schema/reconcile.ts'
import { ConflictError, NotFoundError } from '../output/refusals.ts'
import { printableLine } from '../output/text.ts'
import { type ActionContext, idsForAudit } from './context.ts'
import { accountNamed, untrackedText, wholeId } from './names.ts'

/**
 * @param name undefined for all configured accounts.
 * @param field option or field, for the problem text.
 * @returns the accounts to reconcile. If submissions are named, only accounts that track them.
 * @throws MismatchError if the account is not configured, NotFoundError with one line per untracked submission.
 */
export async function accountsOfRun(
  config: Pick<Config, 'accounts'>,
  q: Query,
  name: string | undefined,
  { submissions }: RunOptions,
  field: string,
): Promise<string[]> {
  const candidates = name === undefined ? config.accounts.map((account) => account.name) : [accountNamed(config, name, field).name]
  if (submissions === undefined) return candidates
  const known = new Set<string>()
  const having: string[] = []
  for (const account of candidates) {
    const found = await candidatesOf(q, account, {}, submissions)
    if (found.length > 0) having.push(account)
    for (const { submissionId } of found) known.add(submissionId)
  }
  const unknown = submissions.filter((id) => !known.has(id))
  if (unknown.length > 0) throw new NotFoundError(unknown.map((id) => untrackedText(id, name ?? null)))
  return having
}

/** @returns a problem if `since` is in the future, because the run would compare nothing; else an empty list. */
export function futureProblem(since: TimeText | undefined, nowMs: number, field: string): string[] {
  if (since === undefined || since <= timeFromMs(nowMs)) return []
  return [`${field}: ${since} is in the future. Give an earlier time`]
}

/** @returns the audit entry of a requested or started run. */
export function runNote(who: string, action: 'reconcile.request' | 'reconcile.run', account: string, options: RunOptions): AuditEntry {
  const { submissions, ...others } = options
  return { who, action, target: account, detail: { ...others, ...(submissions && { submissions: idsForAudit(submissions) }) } }
}

/** Requests a reconcile run. @returns the id of the run. If an equal run already waits, returns that run's id. */
export async function requestReconcile(a: ActionContext, account: string, options: RunOptions): Promise<string> {
  const db = auditedDb(a.db, runNote(a.who, 'reconcile.request', account, options))
  return await requestRun(db, { account, options, requestedBy: `admin:${a.who}` })
}

/** @throws NotFoundError if the run does not exist. */
export async function runNamed(q: Query, id: string): Promise<RunRow> {
  const run = await findRun(q, id)
  if (run === null)
    throw new NotFoundError([`reconcile run ${printableLine(id)} does not exist. \`submission-mirror reconcile list\` lists all runs`])
  return run
}

/** @param id complete or shortened. @throws NotFoundError if no run matches, ConflictError if several runs match. */
export async function runShown(q: Query, id: string): Promise<RunRow> {
  return await runNamed(q, await wholeId(id, (text, limit) => runIdsLike(q, text, limit)))
}

/**
 * Stops a waiting or active run and keeps its results.
 * @returns the stopped run.
 * @throws NotFoundError if the run does not exist, ConflictError if the run has ended.
 */
export async function stopReconcile(a: ActionContext, runId: string): Promise<RunRow> {
  const run = await runNamed(a.db.read, runId)
  const { account, run_id, state, submissions_done: done, submissions_total: total } = run
  const db = auditedDb(a.db, { who: a.who, action: 'reconcile.stop', target: account, detail: { run: run_id, was: state } })
  const isOpen = state === 'requested' || state === 'running'
  if (!isOpen || !(await stopRun(db, run, `${a.who} stopped it after ${done} of ${total} submissions`))) {
    throw new ConflictError([`reconcile run ${run_id} has already ended${isOpen ? '' : ` (${state})`}`])
  }
  return await runNamed(a.db.read, run_id)
}
