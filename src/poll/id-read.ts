import { inApplyTransaction } from '../apply/apply.ts'
import { contentHash as hashOf } from '../apply/content-hash.ts'
import { backoffMs } from '../base/clock.ts'
import { messageOf, retryAfterOf } from '../base/errors.ts'
import type { Priority } from '../base/limiter.ts'
import { knownIdsIn, submissionsOfInsured } from '../model/known-ids.ts'
import type { Observation, StateObservation } from '../model/observations.ts'
import { NOT_FOUND_TO_CONFIRM } from '../model/reads.ts'
import type { Cause } from '../model/records.ts'
import { msFromTime, timeFromMs } from '../model/time.ts'
import type { View } from '../model/view.ts'
import { type IdReadContext, readById } from '../read/by-id.ts'
import type { ServiceParts } from '../store/engine/db.ts'
import { noteUnreadable } from '../store/mirror/conflicts.ts'
import { type IdClaim, type ReadSettlement, settleRead } from '../store/reads/claims.ts'
import { rank } from '../store/reads/reads.ts'
import { AuthRefusedError, isForbidden, upstreamClass } from '../upstream/http/errors.ts'
import { goneById } from '../upstream/wire/binding.ts'
import { declinedWaitMs } from './declined.ts'
import { idWaitMs, isFinalStatus } from './id-intervals.ts'
import type { PollPolicy } from './intervals.ts'

/** Waits in ms after the first and each later consecutive 404. A 404 is normal for a new id (trap 79). */
const NOT_FOUND_WAIT_MS = [30_000, 120_000, 3_600_000, 6 * 3_600_000, 86_400_000] as const
const FAILURE_BASE_MS = 1_000
const FAILURE_CAP_MS = 900_000
/** Wait after the service refused every credential of the account. The poller then suspends the account. */
const REFUSED_WAIT_MS = 60_000
const MAX_SUBMISSIONS = 1_000

export interface IdReadOptions extends Omit<IdReadContext, 'db'>, ServiceParts {
  readonly policy: PollPolicy
}

/** Result of a read by id. `gone`: 404. `declined`: 403. `failed`: other failures. */
export type IdReadEnd = 'read' | 'gone' | 'declined' | 'failed'

/**
 * Runs one claimed read by id, applies the answer, and schedules the next read. A failure affects neither the
 * submission nor the account.
 * @throws LeaseLostError if another process has the read; database errors; the abort reason of `signal`.
 */
export async function carryOutIdRead(o: IdReadOptions, claim: IdClaim, cause: Cause, signal: AbortSignal): Promise<IdReadEnd> {
  const asked = { read: claim.read, id: claim.id, submissionId: submissionOf(claim) }
  try {
    const { view, answer } = await readById(o, asked, signal, priorityOf(claim))
    await applyAnswer(o, claim, cause, view, answer)
    o.observer.count('feed_reads_total', { account: claim.account, read: claim.read, outcome: 'read' })
    return 'read'
  } catch (error) {
    const kind = upstreamClass(error)
    if (kind === null || signal.aborted) throw error
    o.observer.count('feed_reads_total', { account: claim.account, read: claim.read, outcome: kind })
    return kind === 'gone' ? await settleMiss(o, claim, cause, messageOf(error)) : await settleFailure(o, claim, error)
  }
}

/** New records, and bind requests that aren't final, are urgent, because users may wait for them. */
function priorityOf({ read, lastReadAt, isFinal }: IdClaim): Priority {
  return lastReadAt !== null && (read !== 'bind_request' || isFinal) ? 'background' : 'live'
}

async function applyAnswer(o: IdReadOptions, claim: IdClaim, cause: Cause, view: View, answer: unknown): Promise<void> {
  const readAt = timeFromMs(o.clock.now())
  const { account, read } = claim
  const submissionId = submissionOf(claim)
  const isFinal = isFinalStatus(view.lists[0]?.rows[0]?.['status'])
  const shown = stateFact(claim, cause, view, readAt)
  const contentHash = hashOf(o.db.protection, shown)
  await inApplyTransaction(o.db, o.observer, 'state-read', async ({ tx, apply }) => {
    const applied = await apply([{ ...shown, contentHash }, ...namedIn(claim, cause, answer)])
    const unreadable = view.unreadable.map((raw) => ({ account, submission_id: submissionId, read, raw }))
    if (unreadable.length > 0) await noteUnreadable(tx, unreadable, readAt)
    const changed = applied.changes > 0
    const quietForMs = changed || claim.changedAt === null ? 0 : Math.max(0, o.clock.now() - msFromTime(claim.changedAt))
    const dueInMs = idWaitMs(o.policy, claim.read, isFinal, quietForMs, o.clock)
    const isRead = { failures: 0, notFound: 0, error: null, complete: true }
    await settleRead(tx, claim, { ...BY_ID, ...isRead, dueInMs, changed, isFinal, contentHash })
  })
}

/** @returns observations for the ids in the answer. Insureds are the best source of submission ids (trap 20). */
function namedIn(claim: IdClaim, cause: Cause, answer: unknown): Observation[] {
  const { account, read } = claim
  const submissionId = submissionOf(claim)
  const others =
    read === 'insured'
      ? submissionsOfInsured(answer)
          .filter((id) => id !== submissionId)
          .slice(0, MAX_SUBMISSIONS)
      : []
  const tracked = others.map((id): Observation => ({ kind: 'request', account, submissionId: id, cause, reads: [], trackedVia: 'insured' }))
  // A policy of an insured may belong to any of the insured's submissions. Store the policy's id without a submission.
  const ids = knownIdsIn(answer, read === 'insured' ? '' : submissionId)
  return ids.length === 0 ? tracked : [...tracked, { kind: 'named', account, submissionId, cause, ids, via: read }]
}

function stateFact(claim: IdClaim, cause: Cause, view: View, readAt: string): StateObservation {
  const { account, read, id, readNo } = claim
  return { kind: 'state', read, ownId: id, account, submissionId: submissionOf(claim), cause, view, readNo, readAt }
}

/**
 * Stores a 404. After several 404s, a record that was read before counts as gone. Its row stays, and the
 * record is read rarely.
 */
async function settleMiss(o: IdReadOptions, claim: IdClaim, cause: Cause, error: string): Promise<'gone'> {
  // A read by a command only raises the number from 0 to 1, so that commands don't confirm a 404.
  const notFound = cause === 'command' ? Math.max(1, claim.notFound) : claim.notFound + 1
  const isGone = claim.lastReadAt !== null && notFound >= NOT_FOUND_TO_CONFIRM
  const dueInMs = NOT_FOUND_WAIT_MS[Math.min(notFound, NOT_FOUND_WAIT_MS.length) - 1] ?? NOT_FOUND_WAIT_MS[0]
  await inApplyTransaction(o.db, o.observer, 'read-not-found', async ({ tx, apply }) => {
    const applied = isGone ? await apply([stateFact(claim, cause, goneById(claim.read, claim.id), timeFromMs(o.clock.now()))]) : null
    const changed = (applied?.changes ?? 0) > 0
    await settleRead(tx, claim, { ...BY_ID, dueInMs, failures: 0, notFound, error: error.slice(0, 500), complete: false, changed })
    if (changed) o.log.warn(place(claim), `${claim.read} ${claim.id} not found (${notFound} in a row): marked gone; its row stays`)
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
  await o.db.write('read-failed', (tx) => settleRead(tx, claim, { ...BY_ID, ...kept, dueInMs, failures }))
  o.log.debug(
    place(claim),
    `${claim.read} ${claim.id} could not be read and will be tried again in ${Math.ceil(dueInMs / 1000)} s: ${kept.error}`,
  )
  return isForbidden(error) ? 'declined' : 'failed'
}

const BY_ID: Pick<ReadSettlement, 'rank' | 'stalledFeedReads'> = { rank: rank.byId, stalledFeedReads: 0 }

function submissionOf({ namedFor }: IdClaim): string {
  return namedFor ?? ''
}

function place(claim: IdClaim): { account: string; submission: string; read: string } {
  return { account: claim.account, submission: submissionOf(claim), read: claim.read }
}
