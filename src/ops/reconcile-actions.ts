import { noting } from '../store/operator-actions.ts'
import { requestRun } from '../store/reconcile-runs.ts'
import type { RunOptions } from '../store/tables-reconcile.ts'
import { type Acting, idsNoted } from './acting.ts'

/**
 * Stores a run of one account, for a working process to take up.
 * @returns its id, or that of the same run that waits already.
 */
export async function requestReconcile(a: Acting, account: string, options: RunOptions): Promise<string> {
  const { submissions, ...others } = options
  const detail = { ...others, ...(submissions && { submissions: idsNoted(submissions) }) }
  const db = noting(a.db, { who: a.who, action: 'reconcile.request', target: account, detail })
  return await requestRun(db, { account, options, requestedBy: `admin:${a.who}` })
}
