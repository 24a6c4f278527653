import type { MarketEventRow } from '../model/entities.ts'
import type { DerivedFact } from '../model/facts.ts'
import { laneOf } from './market-events.ts'
import type { Session } from './session.ts'

/**
 * Works out anew what is kept of a submission's records beside them: when the newest was, and the lanes that no rail has named, whose
 * state is that of their newest event (invariant 5). Such a lane of which no event tells at all was never there.
 */
export async function applyDerived(session: Session, fact: DerivedFact): Promise<void> {
  const place = { account: fact.account, submission_id: fact.submissionId }
  const newest = await session.access.newest(fact.account, fact.submissionId)
  const submission = session.submissions.get(place)
  if (submission !== null) {
    session.submissions.put({ ...submission, last_event_at: newest.eventAt, last_message_at: newest.messageAt }, fact.cause)
  }
  const keys = newest.laneEvents.map((event_id) => ({ ...place, event_id }))
  await session.marketEvents.load(keys)
  const told = new Map<string, MarketEventRow>()
  for (const key of keys) {
    const row = session.marketEvents.get(key)
    if (row?.lane_id != null) told.set(row.lane_id, row)
  }
  for (const lane of await session.lanes.loadSubmission(fact.account, fact.submissionId)) {
    const event = told.get(lane.lane_id)
    told.delete(lane.lane_id)
    if (lane.state_source === 'rail') continue
    if (event) session.lanes.put({ ...laneOf(event, lane), gone_at: null }, fact.cause)
    else if (lane.gone_at === null) session.lanes.put({ ...lane, gone_at: fact.now }, fact.cause)
  }
  for (const [lane_id, event] of told) {
    await session.lanes.load([{ ...place, lane_id }])
    session.lanes.put(laneOf(event, null), fact.cause)
  }
}
