import { inApplyTransaction } from '../../apply/apply.ts'
import type { Fact } from '../../model/facts.ts'
import type { KnownId } from '../../model/known-ids.ts'
import type { Query } from '../../store/engine/db.ts'
import { forgetPurged } from '../../store/mirror/purged.ts'
import { knownSubmissions } from '../../store/mirror/submissions.ts'
import { auditAction, auditedDb } from '../../store/operators/actions.ts'
import { countKnownIds } from '../../store/reads/known-ids.ts'
import { requestReads } from '../../store/reads/request-reads.ts'
import { NotFoundError } from '../output/refusals.ts'
import { type ActionContext, idsForAudit, inSteps } from './context.ts'

/** Submissions per transaction: few enough that a running `serve` does not wait. */
const STEP = 200

/** How many submissions were not known before, and how many were. */
export interface Tracked {
  readonly added: number
  readonly known: number
  /** Purged before, and therefore not tracked. */
  readonly purged: number
}

/**
 * Tracks submissions: their feeds are read from the beginning and kept up to date.
 * @param ids distinct ones.
 * @param again whether purged ones are tracked again too.
 */
export async function trackSubmissions(a: ActionContext, account: string, ids: readonly string[], again = false): Promise<Tracked> {
  const note = { who: a.who, action: 'submission.track', target: account, detail: idsForAudit(ids) }
  const { added, purged } = await auditAction(a.db, note, async () => {
    let n = 0
    let purged = 0
    await inSteps(a, ids, STEP, async (step) => {
      const facts = step.map((submissionId): Fact => ({ kind: 'wake', account, submissionId, cause: 'command', reads: [] }))
      if (again) await forgetPurged(a.db, account, step)
      const applied = await inApplyTransaction(a.db, a.observer, 'track', (transaction) => transaction.apply(facts))
      // Only new submissions cause changes here, one each.
      n += applied.changes
      purged += applied.purged.size
    })
    return { added: n, purged, detail: { added: n } }
  })
  return { added, known: ids.length - added - purged, purged }
}

/**
 * Makes bind requests, policies and insureds known, which the service lists nowhere (trap 23): each is read at once, then on schedule.
 * @param ids a bind request with its submission.
 * @returns how many were not known before.
 */
export async function trackKnownIds(a: ActionContext, account: string, ids: readonly KnownId[]): Promise<number> {
  const detail = idsForAudit(ids.map(({ kind, id }) => `${kind} ${id}`))
  const { added } = await auditAction(a.db, { who: a.who, action: 'submission.track', target: account, detail }, async () => {
    const before = await countKnownIds(a.db.read, account, ids)
    const facts = ids.map(
      (one): Fact => ({ kind: 'named', account, submissionId: one.submissionId, cause: 'command', ids: [one], via: 'command' }),
    )
    await inApplyTransaction(a.db, a.observer, 'track', (transaction) => transaction.apply(facts))
    const added = (await countKnownIds(a.db.read, account, ids)) - before
    return { added, detail: { added } }
  })
  return added
}

/**
 * Requests reads of submissions now, by whichever process polls: state, and both feeds.
 * @param ids distinct ones, at most some hundreds.
 * @param replay whether the feeds are read from the beginning, or on from where they were read to.
 * @throws NotFoundError when one is not tracked in the account.
 */
export async function requestSync(a: ActionContext, account: string, ids: readonly string[], { replay = true } = {}): Promise<void> {
  await refuseUntracked(a.db.read, account, ids)
  const detail = { ...idsForAudit(ids), ...(!replay && { replay }) }
  await requestReads(auditedDb(a.db, { who: a.who, action: 'submission.sync', target: account, detail }), account, ids, { replay })
}

/** The problem of a submission that is not tracked. @param account null for all accounts. */
export function untrackedText(id: string, account: string | null): string {
  const where = account === null ? 'is tracked in no account' : `is not tracked in account ${account}`
  return `${id} ${where}; track it with \`submission-mirror track ${id} --account ${account ?? 'NAME'}\``
}

/** @throws NotFoundError with a line for each that is not tracked in the account. */
export async function refuseUntracked(q: Query, account: string, ids: readonly string[]): Promise<void> {
  const known = await knownSubmissions(
    q,
    ids.map((id) => ({ account, submission_id: id })),
  )
  const unknown = ids.filter((id) => !known.has(`${account} ${id}`))
  if (unknown.length === 0) return
  throw new NotFoundError(unknown.map((id) => untrackedText(id, account)))
}
