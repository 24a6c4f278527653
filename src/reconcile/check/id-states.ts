import { idsOf } from '../../apply/known-ids.ts'
import type { Clock } from '../../base/clock.ts'
import type { Place, StateFact } from '../../model/facts.ts'
import { timeFromMs } from '../../model/time.ts'
import { parseUuid } from '../../model/uuid.ts'
import { type AskedId, type ReadsById, readById } from '../../read/by-id.ts'
import type { Db } from '../../store/engine/db.ts'
import { learnIds, requestIdsOf, takeIdNumber } from '../../store/reads/known-ids.ts'
import { type IdOfSubmission, idsOfSubmission, mayComeBack } from '../../store/reconcile/known-ids.ts'
import { goneById } from '../../upstream/wire/binding.ts'
import { type Attempt, attempt } from './attempts.ts'

export interface IdStateContext extends ReadsById {
  readonly db: Db
  readonly clock: Clock
  readonly dryRun: boolean
}

/**
 * The ids to read for a submission: those that are known, and those of rows that no known id explains. The latter become known again, so that
 * they are polled.
 */
export async function idsToCheck({ db, dryRun }: IdStateContext, { account, submissionId }: Place): Promise<AskedId[]> {
  const found = await idsOfSubmission(db.read, account, submissionId)
  const lost = found
    .filter(({ id, isKnown }) => !isKnown && isUuid(id))
    .map((one) => ({ ...named(one), account, submissionId, via: 'reconcile' }))
  if (lost.length > 0 && !dryRun) await db.write('reconcile-reads', (tx) => learnIds(tx, lost))
  return found.map(({ kind, id }) => ({ read: kind, id, submissionId }))
}

/** @returns what an answer names of its submission, to be read by its id. */
export function idsNamedBy(state: StateFact): AskedId[] {
  const { submissionId } = state
  return idsOf(state).flatMap(({ kind, id, submissionId: of }) =>
    kind === 'document' || of !== submissionId ? [] : [{ read: kind, id, submissionId }],
  )
}

/** Takes a number for a read by id (invariant 6). */
export async function takeNumberOf({ db, dryRun }: IdStateContext, account: string, { read, id }: AskedId): Promise<number> {
  return dryRun ? 0 : ((await takeIdNumber(db, account, read, id)) ?? 0)
}

/**
 * Reads by id, with retries. "Not found" in each attempt says that it is gone, unless it may come back; so does an id that the service never gave.
 */
export async function readIdState(
  o: IdStateContext,
  place: Place,
  asked: AskedId,
  readNo: number,
  signal: AbortSignal,
): Promise<Attempt<StateFact>> {
  const { client, clock } = o
  const fact = (view: StateFact['view']): Attempt<StateFact> => {
    const { read, id: ownId } = asked
    return { ok: true, value: { kind: 'state', read, ownId, ...place, cause: 'reconcile', view, readNo, readAt: timeFromMs(clock.now()) } }
  }
  if (!isUuid(asked.id)) return fact(goneById(asked.read, asked.id))
  const answer = await attempt(clock, client, signal, () => readById(o, asked, signal, 'background'))
  if (answer.ok) return fact(answer.value.view)
  if (answer.failure.class !== 'gone') return answer
  if (!(await mayComeBack(o.db.read, place.account, asked.read, asked.id))) return fact(goneById(asked.read, asked.id))
  // Polling looks again at once, and twice more within minutes.
  if (!o.dryRun) await o.db.write('reconcile-reads', (tx) => requestIdsOf(tx, place.account, [place.submissionId]))
  const reason = `${asked.id} is not found, and was read before: it counts as gone when polling misses it for some minutes; run this again then`
  return { ok: false, failure: { ...answer.failure, class: 'unconfirmed', reason } }
}

function isUuid(id: string): boolean {
  return parseUuid(id) === id
}

function named({ kind, id }: IdOfSubmission) {
  return { kind, id }
}
