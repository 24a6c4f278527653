import type { LaneRow } from '../model/entities/lanes.ts'
import { type MarketEventRow, marketEvents } from '../model/entities/market-events.ts'
import { identityOf } from '../model/entity.ts'
import { goneAtAfter, mergeByOrigin } from '../model/merge.ts'
import type { EventObservation } from '../model/observations.ts'
import { stateReads } from '../model/reads.ts'
import { noteArrival, noteConflict } from './arrivals.ts'
import { isOfRail, laneKey, laneOf } from './lanes.ts'
import type { ApplySession } from './session.ts'
import { touchSubmission } from './submissions.ts'

const identity = identityOf(marketEvents)

/**
 * Inserts each market event once, by id. Later deliveries only fill null columns. Later feed reads also replace values,
 * except in identity columns, which must not change. A different value in an identity column is a conflict, except in a
 * reconcile run, which corrects the row.
 */
export async function applyEvents(session: ApplySession, observations: readonly EventObservation[]): Promise<void> {
  await session.marketEvents.load(observations.map(keyOf))
  const applied: { observation: EventObservation; row: MarketEventRow }[] = []
  for (const observation of observations) {
    const row = applyEvent(session, observation)
    if (row !== null) applied.push({ observation, row })
  }
  await applyToLanes(session, applied)
}

/**
 * @returns the event's row, to update its lane. Null if the observation conflicts with the stored row, the event is
 * gone, or a reconcile run updates lanes later.
 */
function applyEvent(session: ApplySession, observation: EventObservation): MarketEventRow | null {
  const key = keyOf(observation)
  const stored = session.marketEvents.get(key)
  if (stored === null) {
    const via = session.isBackfill(observation, String(observation.event.occurred_at)) ? 'backfill' : observation.via
    const row: MarketEventRow = { ...observation.event, ...key, first_seen_at: session.now, first_seen_via: via, gone_at: null }
    session.marketEvents.put(row, via === 'backfill' ? 'backfill' : observation.cause)
    session.inserted += 1
    // A backfill requests no reads, because the submission's first reads are due anyway.
    if (via !== 'backfill') session.wake(observation, 'thread', ...stateReads)
    noteArrival(session, observation, 'market_events', row.event_id, via, true)
    if (observation.via === 'reconcile') return null
    touchSubmission(session, observation, 'last_event_at', String(row.occurred_at))
    return row
  }
  noteArrival(session, observation, 'market_events', stored.event_id, String(stored.first_seen_via), false)
  const merge = mergeByOrigin(stored, observation.event, identity, observation)
  if (merge.conflict !== null) {
    noteConflict(session, observation, 'market_events', stored.event_id, merge.conflict, stored.raw, observation.event.raw)
    return null
  }
  const row = { ...merge.row, gone_at: goneAtAfter(stored, observation.via) } as MarketEventRow
  session.marketEvents.put(row, observation.cause)
  // A reconcile run updates lanes and `last_event_at` once, from all events (`DerivedObservation`). A
  // gone event affects neither.
  if (observation.via === 'reconcile' || row.gone_at !== null) return null
  touchSubmission(session, observation, 'last_event_at', String(row.occurred_at))
  return row
}

/**
 * Updates lanes that no rail has named. Such a lane shows its latest event by `occurred_at`. If two events have the
 * same time, the higher id counts as later. The order of arrival doesn't matter. If a lane is new, requests a full
 * re-read (trap 8), unless the feed read showed all earlier events. An event without a lane changes nothing (trap 66).
 */
async function applyToLanes(
  session: ApplySession,
  applied: readonly { observation: EventObservation; row: MarketEventRow }[],
): Promise<void> {
  const placed = applied.filter(({ row }) => row.lane_id !== null)
  await session.lanes.load(placed.map(({ row }) => laneKey(row)))
  for (const { observation, row } of placed) {
    const lane = session.lanes.get(laneKey(row))
    if (lane === null && !isComplete(observation)) session.requestFullRead(observation)
    if (lane !== null && (isOfRail(lane) || isNewer(lane, row))) continue
    session.lanes.put(laneOf(session.access.protection, row, lane), observation.cause)
  }
}

/**
 * Whether the feed read of this event also showed all earlier events. If not, the lane may have earlier events that
 * this read didn't show.
 */
function isComplete({ isFullRead, firstFeedRead, pagesBefore = false }: EventObservation): boolean {
  return isFullRead && (firstFeedRead || !pagesBefore)
}

/** Whether the lane shows a newer event than `row`. A gone lane shows no event. */
function isNewer(lane: LaneRow, row: MarketEventRow): boolean {
  if (lane.gone_at !== null || lane.state_event_id === row.event_id) return false
  const shown = `${lane.state_occurred_at ?? ''} ${lane.state_event_id ?? ''}`
  return shown > `${row.occurred_at} ${row.event_id}`
}

function keyOf(observation: EventObservation): { account: string; submission_id: string; event_id: string } {
  return { account: observation.account, submission_id: observation.submissionId, event_id: observation.event.event_id }
}
