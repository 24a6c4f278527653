import type { SubmissionRow } from '../model/entities/submissions.ts'
import type { Row } from '../model/entity.ts'
import type { StateFact } from '../model/facts.ts'
import type { Json } from '../model/json.ts'
import { hasValue, sameRaw, sameText } from '../model/merge.ts'
import type { Requirements } from '../model/records.ts'
import { emptyLane, isOfRail, ofRail } from './market-events.ts'
import type { ApplySession } from './session.ts'
import type { WorkingSet } from './working-set.ts'

/**
 * Applies a requirements view: the submission's columns, and from its rail the lanes, quotes, offers and quote history. What the view
 * no longer shows is marked gone, never deleted (invariant 7).
 * @returns false when a view that was asked for later has been applied already (invariant 6, trap 81).
 */
export async function applyRequirements(session: ApplySession, fact: StateFact): Promise<boolean> {
  if (!(await session.access.takeApplied(fact, 'requirements', fact.readNo))) return false
  applySubmission(session, fact)
  const { rail } = fact.requirements
  // No rail: the service said nothing of its lanes; the last known ones stand (trap 64).
  if (rail === null) return true
  const place = { account: fact.account, submission_id: fact.submissionId }
  await applyLanes(session, fact, rail)
  const quotes = rail.lanes.flatMap(({ lane, quotes }) =>
    quotes.map((quote) => ({ ...quote, ...place, lane_id: lane.lane_id, gone_at: null })),
  )
  const offers = rail.lanes.flatMap(({ lane, sourceOffers }) =>
    sourceOffers.map((offer) => ({ ...offer, ...place, lane_id: lane.lane_id, gone_at: null })),
  )
  const settled = !isStillMatching(fact.requirements)
  const wholes = new Map(rail.lanes.map(({ lane, whole }) => [lane.lane_id, whole]))
  // What hangs on a lane that is gone is gone with it; what hangs on one that is shown may be gone by itself.
  const tells = (list: 'quotes' | 'sourceOffers') => (row: Row) =>
    settled && (wholes.get(String(row['lane_id']))?.[list] ?? rail.whole.lanes)
  await replaceAll(session.quotes, fact, quotes, ['lane_id', 'quote_id'], tells('quotes'))
  await replaceAll(session.sourceOffers, fact, offers, ['lane_id', 'presentation_id'], tells('sourceOffers'))
  const history = (rail.quoteHistory ?? []).map((item) => ({ ...item, ...place, gone_at: null }))
  await replaceAll(session.quoteHistory, fact, history, ['history_key'], () => settled && rail.whole.quoteHistory)
  return true
}

type Rail = NonNullable<Requirements['rail']>

/** While markets are being matched an empty list means "not yet", not "no longer" (trap 62). */
function isStillMatching(requirements: Requirements): boolean {
  return requirements.submission.marketing_status === 'matching' && requirements.rail?.lanes.length === 0
}

function applySubmission(session: ApplySession, fact: StateFact): void {
  const key = { account: fact.account, submission_id: fact.submissionId }
  const stored = session.submissions.get(key)
  if (stored === null) return
  const next: SubmissionRow = { ...stored, ...fact.requirements.submission }
  // Every read bears a new time of making; that alone is no change.
  if (sameView(stored.raw, next.raw)) next.raw = stored.raw
  session.submissions.put(next, fact.cause)
}

async function applyLanes(session: ApplySession, fact: StateFact, rail: Rail): Promise<void> {
  const railLanes = rail.lanes
  const stored = await session.lanes.loadSubmission(fact.account, fact.submissionId)
  const place = { account: fact.account, submission_id: fact.submissionId }
  await session.lanes.load(railLanes.map(({ lane }) => ({ ...place, lane_id: lane.lane_id })))
  const named = new Set<string>()
  for (const { lane } of railLanes) {
    const before = session.lanes.get({ ...place, lane_id: lane.lane_id })
    named.add(lane.lane_id)
    if (before === null) session.requestReplay(fact)
    const raw = before !== null && sameRaw(before.raw, lane.raw) ? before.raw : lane.raw
    // What an event said of it counts no more, for one that comes only now says nothing of it either (invariants 2 and 5).
    const unsaid = before !== null && !isOfRail(before) ? emptyLane(before) : {}
    session.lanes.merge({ ...unsaid, ...lane, ...place, raw, ...ofRail, gone_at: null }, fact.cause)
  }
  if (isStillMatching(fact.requirements) || !rail.whole.lanes) return
  for (const lane of stored) {
    // A lane that only events have named was never in the rail, so it cannot be gone from it.
    if (!isOfRail(lane) || hasValue(lane.gone_at) || named.has(lane.lane_id)) continue
    session.lanes.put({ ...lane, gone_at: fact.readAt }, fact.cause)
  }
}

/**
 * Sets what the view shows and marks as gone what it no longer does.
 * @param id the key columns below the submission.
 * @param tells whether the view, not showing a row, says that it is gone.
 */
async function replaceAll(
  set: WorkingSet,
  fact: StateFact,
  shown: readonly Row[],
  id: readonly string[],
  tells: (row: Row) => boolean,
): Promise<void> {
  const idOf = (row: Row) => JSON.stringify(id.map((column) => row[column]))
  const stored = await set.loadSubmission(fact.account, fact.submissionId)
  await set.load(shown)
  for (const row of shown) {
    const before = set.get(row)
    const raw = before !== null && sameRaw(before['raw'], row['raw']) ? before['raw'] : row['raw']
    set.merge({ ...row, raw: raw ?? null }, fact.cause)
  }
  const present = new Set(shown.map(idOf))
  for (const row of stored) {
    if (!hasValue(row['gone_at']) && !present.has(idOf(row)) && tells(row)) set.put({ ...row, gone_at: fact.readAt }, fact.cause)
  }
}

/** Whether two requirements views say the same, leaving aside when each was made. */
function sameView(a: string | null, b: string | null): boolean {
  return a === b || (a !== null && b !== null && sameText(a, b, withoutTimes))
}

const VOLATILE = new Set(['generated_at', 'evaluated_at'])

function withoutTimes(value: Json): Json {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(withoutTimes)
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !VOLATILE.has(key))
      .map(([key, item]) => [key, withoutTimes(item)]),
  )
}
