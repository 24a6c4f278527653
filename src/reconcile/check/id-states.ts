import { idsOf } from '../../apply/known-ids.ts'
import type { Clock } from '../../base/clock.ts'
import type { StateObservation, SubmissionRef } from '../../model/observations.ts'
import { timeFromMs } from '../../model/time.ts'
import { parseUuid } from '../../model/uuid.ts'
import { type IdReadContext, type IdRequest, readById } from '../../read/by-id.ts'
import type { Db } from '../../store/engine/db.ts'
import { learnIds, requestIdsOf } from '../../store/reads/known-ids.ts'
import { takeReadNumber } from '../../store/reads/reads.ts'
import { type IdOfSubmission, idsOfSubmission, mayComeBack } from '../../store/reconcile/known-ids.ts'
import { goneById } from '../../upstream/wire/binding.ts'
import { type Attempt, attempt } from './attempts.ts'

export interface IdStateContext extends IdReadContext {
  readonly db: Db
  readonly clock: Clock
  readonly dryRun: boolean
}

/**
 * @returns the ids to read for a submission. Adds missing ids to `known_ids`, so that polling reads these ids too.
 * A dry run adds none.
 */
export async function idsToCheck({ db, dryRun }: IdStateContext, { account, submissionId }: SubmissionRef): Promise<IdRequest[]> {
  const found = await idsOfSubmission(db.read, account, submissionId)
  const lost = found
    .filter(({ id, isKnown }) => !isKnown && isUuid(id))
    .map((one) => ({ ...named(one), account, submissionId, via: 'reconcile' }))
  if (lost.length > 0 && !dryRun) await db.write('reconcile-reads', (tx) => learnIds(tx, lost))
  return found.map(({ kind, id }) => ({ read: kind, id, submissionId }))
}

/**
 * @returns the ids in an answer, each with its read. Leaves out documents, which can't be read by id, and objects of
 * other submissions.
 */
export function idsNamedBy(state: StateObservation): IdRequest[] {
  const { submissionId } = state
  return idsOf(state).flatMap(({ kind, id, submissionId: of }) =>
    kind === 'document' || of !== submissionId ? [] : [{ read: kind, id, submissionId }],
  )
}

/** Takes a read number for an id. In a dry run, the number is 0. */
export async function takeNumberOf({ db, dryRun }: IdStateContext, account: string, { read, id }: IdRequest): Promise<number> {
  return dryRun ? 0 : ((await takeReadNumber(db, { account, submissionId: '', read, ownId: id })) ?? 0)
}

/**
 * Reads an object by its id, with retries. An id that isn't a UUID counts as gone, without a request.
 * If every attempt is answered with 404, an object that was never read counts as gone. An object that was read before
 * counts as gone only after polling has confirmed the 404; until then, the failure is `unconfirmed`.
 */
export async function readIdState(
  o: IdStateContext,
  place: SubmissionRef,
  asked: IdRequest,
  readNo: number,
  signal: AbortSignal,
): Promise<Attempt<StateObservation>> {
  const { client, clock } = o
  const observation = (view: StateObservation['view']): Attempt<StateObservation> => {
    const { read, id: ownId } = asked
    return { ok: true, value: { kind: 'state', read, ownId, ...place, cause: 'reconcile', view, readNo, readAt: timeFromMs(clock.now()) } }
  }
  if (!isUuid(asked.id)) return observation(goneById(asked.read, asked.id))
  const answer = await attempt(clock, client, signal, () => readById(o, asked, signal, 'background'))
  if (answer.ok) return observation(answer.value.view)
  if (answer.failure.class !== 'gone') return answer
  if (!(await mayComeBack(o.db.read, place.account, asked.read, asked.id))) return observation(goneById(asked.read, asked.id))
  // Requests a poll of the submission's ids. Polling confirms a 404 within minutes.
  if (!o.dryRun) await o.db.write('reconcile-reads', (tx) => requestIdsOf(tx, place.account, [place.submissionId]))
  const reason = `${asked.id} was read before but is not found; it counts as gone if polling does not find it within a few minutes. After that, reconcile again`
  return { ok: false, failure: { ...answer.failure, class: 'unconfirmed', reason } }
}

function isUuid(id: string): boolean {
  return parseUuid(id) === id
}

function named({ kind, id }: IdOfSubmission) {
  return { kind, id }
}
