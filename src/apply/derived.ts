import { isDamaged } from '../model/damaged.ts'
import type { MarketEventRow } from '../model/entities/market-events.ts'
import type { SubmissionRow } from '../model/entities/submissions.ts'
import type { DerivedFact } from '../model/facts.ts'
import { hasValue } from '../model/merge.ts'
import { storedInsured } from './known-ids.ts'
import { isOfRail, laneOf, ofRail } from './lanes.ts'
import type { ApplySession } from './session.ts'
import { withActivity } from './submissions.ts'

/**
 * Recomputes what follows from a submission's records: the times of the newest ones, and the lanes that no rail has named, whose state is
 * that of their newest event (invariant 5). Records that are gone do not count: a lane without any other event is marked gone, or is not
 * created.
 */
export async function applyDerived(session: ApplySession, fact: DerivedFact): Promise<void> {
  const place = { account: fact.account, submission_id: fact.submissionId }
  const newest = await session.access.newest(fact.account, fact.submissionId)
  const submission = session.submissions.get(place)
  if (submission !== null) {
    const last = { last_event_at: newest.eventAt, last_message_at: newest.messageAt }
    // The service does not repeat these values. In a damaged row the submission counts as tracked from now on.
    const tracked_at = isDamaged(submission.tracked_at) ? fact.now : submission.tracked_at
    const tracked_via = isDamaged(submission.tracked_via) ? fact.cause : submission.tracked_via
    const insured_id = insuredOf(submission, fact)
    session.submissions.put(withActivity({ ...submission, ...last, tracked_at, tracked_via, insured_id }), fact.cause)
  }
  const keys = newest.laneEvents.map((event_id) => ({ ...place, event_id }))
  await session.marketEvents.load(keys)
  const newestEvents = new Map<string, MarketEventRow>()
  for (const key of keys) {
    const row = session.marketEvents.get(key)
    if (row?.lane_id != null) newestEvents.set(row.lane_id, row)
  }
  for (const lane of await session.lanes.loadSubmission(fact.account, fact.submissionId)) {
    const event = newestEvents.get(lane.lane_id)
    newestEvents.delete(lane.lane_id)
    if (isOfRail(lane)) session.lanes.put({ ...lane, ...ofRail }, fact.cause)
    else if (event) session.lanes.put(laneOf(session.access.protection, event, null), fact.cause)
    else if (!hasValue(lane.gone_at)) session.lanes.put({ ...lane, gone_at: fact.now }, fact.cause)
  }
  for (const [lane_id, event] of newestEvents) {
    await session.lanes.load([{ ...place, lane_id }])
    session.lanes.put(laneOf(session.access.protection, event, null), fact.cause)
  }
}

function insuredOf({ insured_id }: SubmissionRow, { insuredIds = [] }: DerivedFact): string | null {
  const stored = storedInsured(insured_id)
  return insuredIds.length === 0 || (stored !== null && insuredIds.includes(stored)) ? stored : (insuredIds[0] ?? null)
}
