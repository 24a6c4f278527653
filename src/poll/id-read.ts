import { inApplyTransaction } from '../apply/apply.ts'
import { contentHash as hashOf } from '../apply/content-hash.ts'
import { backoffMs } from '../base/clock.ts'
import { messageOf, retryAfterOf } from '../base/errors.ts'
import type { Priority } from '../base/limiter.ts'
import type { Fact, StateFact } from '../model/facts.ts'
import { knownIdsIn, submissionsOfInsured } from '../model/known-ids.ts'
import { NOT_FOUND_TO_CONFIRM } from '../model/reads.ts'
import type { Cause } from '../model/records.ts'
import { msFromTime, timeFromMs } from '../model/time.ts'
import type { View } from '../model/view.ts'
import { type ReadsById, readById } from '../read/by-id.ts'
import type { ServiceParts } from '../store/engine/db.ts'
import { noteUnreadable } from '../store/mirror/evidence.ts'
import { type IdClaim, settleId } from '../store/reads/known-ids.ts'
import { AuthRefusedError, isForbidden, upstreamClass } from '../upstream/http/errors.ts'
import { goneById } from '../upstream/wire/binding.ts'
import { declinedWaitMs } from './declined.ts'
import { idWaitMs, isFinalStatus } from './id-intervals.ts'
import type { PollPolicy } from './intervals.ts'

/** The waits after 404s. An early one is normal (trap 79). */
const NOT_FOUND_WAIT_MS = [30_000, 120_000, 3_600_000, 6 * 3_600_000, 86_400_000] as const
const FAILURE_BASE_MS = 1_000
const FAILURE_CAP_MS = 900_000
/** Wait of a read whose account is refused. Its poller suspends it. */
const REFUSED_WAIT_MS = 60_000
/** Submissions taken from one answer of an insured. */
const MAX_SUBMISSIONS = 1_000

export interface IdReadOptions extends Omit<ReadsById, 'db'>, ServiceParts {
  readonly policy: PollPolicy
}

/** How a read by id ended. `gone`: 404, once or more · `declined`: 403 · `failed`: anything else that is no answer. */
export type IdReadEnd = 'read' | 'gone' | 'declined' | 'failed'

/**
 * Carries out one claimed read by id, applies the answer, and schedules the next one. Failures concern neither the submission nor the account.
 * @throws LeaseLostError when another process holds the read; errors of the database; the reason of `signal` when it aborts.
 */
export async function carryOutIdRead(o: IdReadOptions, claim: IdClaim, cause: Cause, signal: AbortSignal): Promise<IdReadEnd> {
  const asked = { read: claim.kind, id: claim.id, submissionId: claim.submissionId }
  try {
    const { view, answer } = await readById(o, asked, signal, priorityOf(claim))
    await applyAnswer(o, claim, cause, view, answer)
    o.observer.count('walks_total', { account: claim.account, read: claim.kind, outcome: 'read' })
    return 'read'
  } catch (error) {
    const kind = upstreamClass(error)
    if (kind === null || signal.aborted) throw error
    o.observer.count('walks_total', { account: claim.account, read: claim.kind, outcome: kind })
    return kind === 'gone' ? await settleMiss(o, claim, cause, messageOf(error)) : await settleFailure(o, claim, error)
  }
}

/** Somebody may wait for what is new, and for a bind that is under way. */
function priorityOf({ kind, wasRead, isFinal }: IdClaim): Priority {
  return wasRead && (kind !== 'bind_request' || isFinal) ? 'background' : 'live'
}

async function applyAnswer(o: IdReadOptions, claim: IdClaim, cause: Cause, view: View, answer: unknown): Promise<void> {
  const readAt = timeFromMs(o.clock.now())
  const { account, submissionId } = claim
  const isFinal = isFinalStatus(view.lists[0]?.rows[0]?.['status'])
  const shown = stateFact(claim, cause, view, readAt)
  const contentHash = hashOf(o.db.protection, shown)
  await inApplyTransaction(o.db, o.observer, 'state-read', async ({ tx, apply }) => {
    const applied = await apply([{ ...shown, contentHash }, ...namedIn(claim, cause, answer)])
    const unreadable = view.unreadable.map((raw) => ({ account, submission_id: submissionId, read: claim.kind, raw }))
    if (unreadable.length > 0) await noteUnreadable(tx, unreadable, readAt)
    const changed = applied.changes > 0
    const quietForMs = changed ? 0 : Math.max(0, o.clock.now() - msFromTime(claim.changedAt))
    const dueInMs = idWaitMs(o.policy, claim.kind, isFinal, quietForMs, o.clock)
    await settleId(tx, claim, { dueInMs, failures: 0, notFound: 0, error: null, complete: true, changed, isFinal, contentHash })
  })
}

/** What the answer names: ids of submissions, of which a read of an insured is the best source (trap 20), and further ids. */
function namedIn({ account, kind, submissionId }: IdClaim, cause: Cause, answer: unknown): Fact[] {
  const others =
    kind === 'insured'
      ? submissionsOfInsured(answer)
          .filter((id) => id !== submissionId)
          .slice(0, MAX_SUBMISSIONS)
      : []
  const tracked = others.map((id): Fact => ({ kind: 'wake', account, submissionId: id, cause, reads: [], trackedVia: 'insured' }))
  // The policies of an insured may belong to any of its submissions.
  const ids = knownIdsIn(answer, kind === 'insured' ? '' : submissionId)
  return ids.length === 0 ? tracked : [...tracked, { kind: 'named', account, submissionId, cause, ids, via: kind }]
}

function stateFact(claim: IdClaim, cause: Cause, view: View, readAt: string): StateFact {
  const { account, submissionId, kind, id, readNo } = claim
  return { kind: 'state', read: kind, ownId: id, account, submissionId, cause, view, readNo, readAt }
}

/** Settles a 404. What was read before counts as gone after several; its row stays, and it is still read, slowly. */
async function settleMiss(o: IdReadOptions, claim: IdClaim, cause: Cause, error: string): Promise<'gone'> {
  // Reads that a command requests do not confirm a 404.
  const notFound = cause === 'command' ? Math.max(1, claim.notFound) : claim.notFound + 1
  const isGone = claim.wasRead && notFound >= NOT_FOUND_TO_CONFIRM
  const dueInMs = NOT_FOUND_WAIT_MS[Math.min(notFound, NOT_FOUND_WAIT_MS.length) - 1] ?? NOT_FOUND_WAIT_MS[0]
  await inApplyTransaction(o.db, o.observer, 'read-not-found', async ({ tx, apply }) => {
    const applied = isGone ? await apply([stateFact(claim, cause, goneById(claim.kind, claim.id), timeFromMs(o.clock.now()))]) : null
    const changed = (applied?.changes ?? 0) > 0
    await settleId(tx, claim, { dueInMs, failures: 0, notFound, error: error.slice(0, 500), complete: false, changed })
    if (changed) o.log.warn(place(claim), `${claim.kind} ${claim.id} not found (${notFound} in a row): marked gone; its row stays`)
  })
  return 'gone'
}

async function settleFailure(o: IdReadOptions, claim: IdClaim, error: unknown): Promise<'declined' | 'failed'> {
  const kept = { notFound: claim.notFound, error: messageOf(error).slice(0, 500), complete: false, changed: false }
  const isRefused = error instanceof AuthRefusedError
  const failures = isRefused ? claim.failures : claim.failures + 1
  const waitMs = isForbidden(error)
    ? declinedWaitMs(failures)
    : Math.max(retryAfterOf(error), backoffMs(o.clock, failures, FAILURE_BASE_MS, FAILURE_CAP_MS))
  const dueInMs = isRefused ? REFUSED_WAIT_MS : waitMs
  await o.db.write('read-failed', (tx) => settleId(tx, claim, { ...kept, dueInMs, failures }))
  o.log.debug(
    place(claim),
    `${claim.kind} ${claim.id} could not be read and will be tried again in ${Math.ceil(dueInMs / 1000)} s: ${kept.error}`,
  )
  return isForbidden(error) ? 'declined' : 'failed'
}

function place(claim: IdClaim): { account: string; submission: string; read: string } {
  return { account: claim.account, submission: claim.submissionId, read: claim.kind }
}
