import type { Config } from '../../config/config.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { type AuditEntry, auditedDb } from '../../store/operators/actions.ts'
import { candidatesOf } from '../../store/reconcile/queue.ts'
import { requestRun } from '../../store/reconcile/runs.ts'
import type { RunOptions } from '../../store/schema/tables-reconcile.ts'
import { NotFoundError } from '../output/refusals.ts'
import { accountNamed } from './accounts.ts'
import { type ActionContext, idsForAudit } from './context.ts'
import { untrackedText } from './submissions.ts'

/**
 * The accounts that a run is about: every one, the one that is named, or those that have the submissions that are named.
 * @param field what the name was given as.
 * @throws MismatchError for an account that is not in the settings, NotFoundError with a line for each submission that no account has.
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

/** @returns what is wrong with the time since which something is to have moved: a run of nothing would prove nothing. */
export function futureProblem(since: TimeText | undefined, nowMs: number, field: string): string[] {
  if (since === undefined || since <= timeFromMs(nowMs)) return []
  return [`${field}: ${since} is yet to come, so nothing can have moved since`]
}

/** What is noted of a run that somebody asks for, or begins. */
export function runNote(who: string, action: 'reconcile.request' | 'reconcile.run', account: string, options: RunOptions): AuditEntry {
  const { submissions, ...others } = options
  return { who, action, target: account, detail: { ...others, ...(submissions && { submissions: idsForAudit(submissions) }) } }
}

/**
 * Stores a run of one account, for a working process to take up.
 * @returns its id, or that of the same run that waits already.
 */
export async function requestReconcile(a: ActionContext, account: string, options: RunOptions): Promise<string> {
  const db = auditedDb(a.db, runNote(a.who, 'reconcile.request', account, options))
  return await requestRun(db, { account, options, requestedBy: `admin:${a.who}` })
}
