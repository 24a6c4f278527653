import type { LaneRow } from '../model/entities/lanes.ts'
import { type MarketEventRow, marketEvents } from '../model/entities/market-events.ts'
import { identityOf } from '../model/entity.ts'
import type { EventFact } from '../model/facts.ts'
import { goneAtAfter, mergeByOrigin } from '../model/merge.ts'
import { stateReads } from '../model/reads.ts'
import { noteArrival, noteConflict } from './arrivals.ts'
import { isOfRail, laneKey, laneOf } from './lanes.ts'
import type { ApplySession } from './session.ts'
import { touchSubmission } from './submissions.ts'

const identity = identityOf(marketEvents)

/** Applies market events. Each is inserted once by id; later reads fill null fields and never overwrite (invariant 4). */
export async function applyEvents(session: ApplySession, facts: readonly EventFact[]): Promise<void> {
  await session.marketEvents.load(facts.map(keyOf))
  const applied: { fact: EventFact; row: MarketEventRow }[] = []
  for (const fact of facts) {
    const row = applyEvent(session, fact)
    if (row !== null) applied.push({ fact, row })
  }
  await applyToLanes(session, applied)
}

/** @returns the current row, for its lane; null if the fact was rejected, the row is gone, or a reconcile run updates lanes later. */
function applyEvent(session: ApplySession, fact: EventFact): MarketEventRow | null {
  const key = keyOf(fact)
  const stored = session.marketEvents.get(key)
  if (stored === null) {
    const via = session.isBackfill(fact, String(fact.event.occurred_at)) ? 'backfill' : fact.via
    const row: MarketEventRow = { ...fact.event, ...key, first_seen_at: session.now, first_seen_via: via, gone_at: null }
    session.marketEvents.put(row, via === 'backfill' ? 'backfill' : fact.cause)
    session.inserted += 1
    // The submission's first reads, which are due anyway, show its whole history.
    if (via !== 'backfill') session.wake(fact, 'thread', ...stateReads)
    noteArrival(session, fact, 'market_events', row.event_id, via, true)
    if (fact.via === 'reconcile') return null
    touchSubmission(session, fact, 'last_event_at', String(row.occurred_at))
    return row
  }
  noteArrival(session, fact, 'market_events', stored.event_id, String(stored.first_seen_via), false)
  const merge = mergeByOrigin(stored, fact.event, identity, fact)
  if (merge.conflict !== null) {
    noteConflict(session, fact, 'market_events', stored.event_id, merge.conflict, stored.raw, fact.event.raw)
    return null
  }
  const row = { ...merge.row, gone_at: goneAtAfter(stored, fact.via) } as MarketEventRow
  session.marketEvents.put(row, fact.cause)
  // A reconcile run updates dependent columns once, from all records (`DerivedFact`). A gone record has no effect.
  if (fact.via === 'reconcile' || row.gone_at !== null) return null
  touchSubmission(session, fact, 'last_event_at', String(row.occurred_at))
  return row
}

/**
 * Gives a lane that no rail has named the state of its newest event by (`occurred_at`, id), in any order of arrival (invariant 5). A new
 * lane requests a full re-read (trap 8). An event without a lane changes none (trap 66).
 */
async function applyToLanes(session: ApplySession, applied: readonly { fact: EventFact; row: MarketEventRow }[]): Promise<void> {
  const placed = applied.filter(({ row }) => row.lane_id !== null)
  await session.lanes.load(placed.map(({ row }) => laneKey(row)))
  for (const { fact, row } of placed) {
    const lane = session.lanes.get(laneKey(row))
    if (lane === null && !isComplete(fact)) session.requestFullRead(fact)
    if (lane !== null && (isOfRail(lane) || isNewer(lane, row))) continue
    session.lanes.put(laneOf(session.access.protection, row, lane), fact.cause)
  }
}

/** Whether everything before the event was read in the same feed read. Otherwise older events of its lane may have just become visible. */
function isComplete({ isFullRead, firstFeedRead, pagesBefore = false }: EventFact): boolean {
  return isFullRead && (firstFeedRead || !pagesBefore)
}

/** Whether the lane already shows a later event than `row`. A gone lane shows none. */
function isNewer(lane: LaneRow, row: MarketEventRow): boolean {
  if (lane.gone_at !== null || lane.state_event_id === row.event_id) return false
  const shown = `${lane.state_occurred_at ?? ''} ${lane.state_event_id ?? ''}`
  return shown > `${row.occurred_at} ${row.event_id}`
}

function keyOf(fact: EventFact): { account: string; submission_id: string; event_id: string } {
  return { account: fact.account, submission_id: fact.submissionId, event_id: fact.event.event_id }
}
