import { type LaneRow, lanes } from '../model/entities/lanes.ts'
import { type MarketEventRow, marketEvents } from '../model/entities/market-events.ts'
import type { Json } from '../model/json.ts'
import { hasValue, sameRaw } from '../model/merge.ts'
import type { StateObservation } from '../model/observations.ts'
import { type Protection, placeOf } from '../model/protection/protection.ts'
import type { TableView } from '../model/view.ts'
import type { ApplySession } from './session.ts'

/**
 * Applies the lanes of a rail. If the mirror has no row of a lane, requests a full re-read of the
 * submission's events (trap 8).
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
    // If the lane was known only from events, clears the columns that events filled. Otherwise the result would depend
    // on whether the rail or the events were applied first.
    const cleared = before !== null && !isOfRail(before) ? emptyLane(before) : {}
    session.lanes.merge({ ...cleared, ...row, raw }, observation.cause)
  }
  for (const lane of stored) {
    // If no rail has ever named the lane, a rail without the lane doesn't mark it gone.
    if (!isOfRail(lane) || hasValue(lane.gone_at) || named.has(lane.lane_id) || !shown.saysGone(lane)) continue
    session.lanes.put({ ...lane, gone_at: observation.readAt }, observation.cause)
  }
}

/**
 * Whether a rail has named the lane. True if at least two of the columns `state_source`, `state_event_id`, and `raw`
 * say so. One column that a person edited by hand then doesn't change the answer.
 */
export function isOfRail({ state_source, state_event_id, raw }: LaneRow): boolean {
  const [hasNoEvent, isShown] = [state_event_id === null, raw !== null]
  return state_source === 'rail' ? hasNoEvent || isShown : hasNoEvent && isShown
}

/** Values of the source columns of a lane that a rail has named. */
export const ofRail = { state_source: 'rail', state_event_id: null, state_occurred_at: null } as const

/**
 * Value of the column `chip` by event type, for lanes that no rail has named. For other event types, `chip` is null.
 */
const chips: ReadonlyMap<Json, string> = new Map([
  ['bound', 'bound'],
  ['quote_received', 'quoted'],
  ['declined', 'not_available'],
  ['withdrawn', 'not_available'],
  ['blocked', 'not_available'],
])

/**
 * @param row the event that gives the lane its state.
 * @param lane the lane whose other columns stay; null to leave the other columns empty.
 * @returns the lane with this state. Its `gone_at` is null.
 */
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
