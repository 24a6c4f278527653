import { type LaneRow, lanes } from '../model/entities/lanes.ts'
import { type MarketEventRow, marketEvents } from '../model/entities/market-events.ts'
import type { Json } from '../model/json.ts'
import { hasValue, sameRaw } from '../model/merge.ts'
import type { StateObservation } from '../model/observations.ts'
import { type Protection, placeOf } from '../model/protection/protection.ts'
import type { TableView } from '../model/view.ts'
import type { ApplySession } from './session.ts'

/**
 * Applies the lanes of a rail. Unlike other rows, a lane may be known from events before a rail names it. An unknown lane causes a full
 * re-read (trap 8).
 */
export async function applyRailLanes(session: ApplySession, observation: StateObservation, shown: TableView): Promise<void> {
  const stored = await session.lanes.loadSubmission(observation.account, observation.submissionId)
  const place = { account: observation.account, submission_id: observation.submissionId }
  const rows = shown.rows.map((row) => ({ ...row, ...place, ...ofRail, gone_at: null }) as unknown as LaneRow)
  await session.lanes.load(rows)
  const named = new Set<string>()
  for (const row of rows) {
    const before = session.lanes.get(row)
    named.add(row.lane_id)
    if (before === null) session.requestFullRead(observation)
    const raw = before !== null && sameRaw(before.raw, row.raw) ? before.raw : row.raw
    // Discards values from events, so that the result is the same if events arrive after the rail.
    const cleared = before !== null && !isOfRail(before) ? emptyLane(before) : {}
    session.lanes.merge({ ...cleared, ...row, raw }, observation.cause)
  }
  for (const lane of stored) {
    // A lane known only from events was never in the rail, so the rail can't mark it gone.
    if (!isOfRail(lane) || hasValue(lane.gone_at) || named.has(lane.lane_id) || !shown.saysGone(lane)) continue
    session.lanes.put({ ...lane, gone_at: observation.readAt }, observation.cause)
  }
}

/**
 * Whether a rail has named the lane, by two of three columns. A single column edited by hand then neither marks an event's lane as gone nor
 * empties a rail's lane.
 */
export function isOfRail({ state_source, state_event_id, raw }: LaneRow): boolean {
  const [hasNoEvent, isShown] = [state_event_id === null, raw !== null]
  return state_source === 'rail' ? hasNoEvent || isShown : hasNoEvent && isShown
}

/** The source columns of a lane named by a rail. */
export const ofRail = { state_source: 'rail', state_event_id: null, state_occurred_at: null } as const

/** Chip by event type, for lanes that no rail has named. Other event types have no chip. */
const chips: ReadonlyMap<Json, string> = new Map([
  ['bound', 'bound'],
  ['quote_received', 'quoted'],
  ['declined', 'not_available'],
  ['withdrawn', 'not_available'],
  ['blocked', 'not_available'],
])

/** @returns the lane in the state of an event, not gone. */
export function laneOf(protection: Protection, row: MarketEventRow, lane: LaneRow | null): LaneRow {
  const key = laneKey(row)
  return {
    ...(lane ?? emptyLane(key)),
    market_name: row.market_name,
    lines: protection.moved(row.market_lines, placeOf(marketEvents, row, 'market_lines'), placeOf(lanes, key, 'lines')),
    program_category: row.category,
    status: row.status,
    status_label: row.status_label,
    bound: row.type === 'bound' ? true : null,
    chip: chips.get(row.type) ?? null,
    state_source: 'event',
    state_event_id: row.event_id,
    state_occurred_at: row.occurred_at,
    gone_at: null,
  }
}

function emptyLane({ account, submission_id, lane_id }: LaneKey): LaneRow {
  const blank = Object.fromEntries(Object.keys(lanes.columns).map((column) => [column, null])) as unknown as LaneRow
  return { ...blank, account, submission_id, lane_id, state_source: 'event' }
}

type LaneKey = Pick<LaneRow, 'account' | 'submission_id' | 'lane_id'>

export function laneKey(row: MarketEventRow): LaneKey {
  return { account: row.account, submission_id: row.submission_id, lane_id: String(row.lane_id) }
}
