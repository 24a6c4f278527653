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
 * The accounts of a reconcile run: all, the named one, or those that have the named submissions.
 * @param field the option or field that gave the name, for the problems.
 * @throws MismatchError for an account that is not configured, NotFoundError with a line for each submission that no account has.
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

/** @returns a problem when `since` lies in the future: the run would compare nothing, and so prove nothing. */
export function futureProblem(since: TimeText | undefined, nowMs: number, field: string): string[] {
  if (since === undefined || since <= timeFromMs(nowMs)) return []
  return [`${field}: ${since} lies in the future, so nothing can have changed since; give an earlier time`]
}

/** The audit entry of a run that is requested or begun. */
export function runNote(who: string, action: 'reconcile.request' | 'reconcile.run', account: string, options: RunOptions): AuditEntry {
  const { submissions, ...others } = options
  return { who, action, target: account, detail: { ...others, ...(submissions && { submissions: idsForAudit(submissions) }) } }
}

/**
 * Stores the request of a run of one account, for a working process to carry out.
 * @returns its id, or that of an equal request that waits already.
 */
export async function requestReconcile(a: ActionContext, account: string, options: RunOptions): Promise<string> {
  const db = auditedDb(a.db, runNote(a.who, 'reconcile.request', account, options))
  return await requestRun(db, { account, options, requestedBy: `admin:${a.who}` })
}

/** The run of that id. @throws NotFoundError when there is none. */
export async function runNamed(q: Query, id: string): Promise<RunRow> {
  const run = await findRun(q, id)
  if (run === null)
    throw new NotFoundError([`there is no reconcile run ${printableLine(id)}; \`submission-mirror reconcile list\` lists them`])
  return run
}

/** The run whose id begins so. @throws NotFoundError if there is none, ConflictError if there are several. */
export async function runShown(q: Query, id: string): Promise<RunRow> {
  return await runNamed(q, await wholeId(id, (text, limit) => runIdsLike(q, text, limit)))
}

/**
 * Ends a run that waits or is under way; what it found and repaired stays.
 * @throws NotFoundError when there is none of that id, ConflictError when it has ended.
 */
export async function stopReconcile(a: ActionContext, runId: string): Promise<RunRow> {
  const run = await runNamed(a.db.read, runId)
  const { account, run_id, state, submissions_done: done, submissions_total: total } = run
  const db = auditedDb(a.db, { who: a.who, action: 'reconcile.stop', target: account, detail: { run: run_id, was: state } })
  const isOpen = state === 'requested' || state === 'running'
  if (!isOpen || !(await stopRun(db, run, `${a.who} stopped it after ${done} of ${total} submissions`))) {
    throw new ConflictError([`reconcile run ${run_id} has ended already: it is ${isOpen ? 'over' : state}`])
  }
  return await runNamed(a.db.read, run_id)
}
