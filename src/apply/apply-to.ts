import type { MarketEventRow } from '../model/entities/market-events.ts'
import type { SubmissionRow } from '../model/entities/submissions.ts'
import type { Row } from '../model/entity.ts'
import { hasValue } from '../model/merge.ts'
import type { AbsentObservation, DerivedObservation, Observation } from '../model/observations.ts'
import { applyDocuments, applyFetched, deriveDocuments } from './documents.ts'
import { applyKnownIds, storedInsured } from './known-ids.ts'
import { isOfRail, laneOf, ofRail } from './lanes.ts'
import { applyEvents } from './market-events.ts'
import { protectObservations } from './protect-observations.ts'
import type { ApplySession } from './session.ts'
import { applyState } from './state.ts'
import { applyReachability, lockSubmissions, withActivity } from './submissions.ts'
import { applyMessages } from './thread-messages.ts'
import type { WorkingSet } from './working-set.ts'

function inOwnSubmission(observation: Observation): Observation {
  const submissionId =
    observation.kind === 'state' ? (observation.view.ownSubmissionId ?? observation.submissionId) : observation.submissionId
  return submissionId === observation.submissionId ? observation : { ...observation, submissionId }
}

/**
 * Applies observations of any kind, in any order, to the rows that the session holds in memory. `ApplySession.flush`
 * writes these rows later. Protects tax ids first, so that only their protected form is compared and written.
 * @returns the number of state observations that were skipped as outdated.
 */
export async function applyTo(session: ApplySession, given: readonly Observation[]): Promise<number> {
  const all = protectObservations(session.access.protection, given.map(inOwnSubmission))
  const tracked = await lockSubmissions(session, all)
  // Skips observations of purged submissions. Observations without a submission are always applied.
  const isTracked = (observation: Observation) =>
    observation.submissionId === '' || tracked.has(`${observation.account} ${observation.submissionId}`)
  const observations = all.filter((observation) => isTracked(observation) || !session.notePurged(observation))
  const events = observations.filter((observation) => observation.kind === 'event')
  const messages = observations.filter((observation) => observation.kind === 'message')
  await applyEvents(session, events)
  await applyMessages(session, messages)
  let stale = 0
  const same = new Set<Observation>()
  for (const observation of observations) {
    const taken = observation.kind === 'state' ? await applyState(session, observation) : null
    if (taken === 'stale') stale += 1
    if (taken === 'same') same.add(observation)
    if (observation.kind === 'reach') applyReachability(session, observation)
    if (observation.kind === 'absent') await applyAbsent(session, observation)
    if (observation.kind === 'derived') await applyDerived(session, observation)
    if (observation.kind === 'document') await applyFetched(session, observation)
    if (observation.kind === 'request') session.wake(observation, ...observation.reads)
  }
  const news = same.size === 0 ? observations : observations.filter((observation) => !same.has(observation))
  await applyKnownIds(session, news)
  await applyDocuments(session, news)
  for (const observation of observations) if (observation.kind === 'derived') await deriveDocuments(session, observation, observation.cause)
  return stale
}

/**
 * Sets `gone_at` of events, messages, and attachments that the service no longer shows. Keeps an existing `gone_at`.
 * Deletes nothing.
 */
async function applyAbsent(session: ApplySession, observation: AbsentObservation): Promise<void> {
  const place = { account: observation.account, submission_id: observation.submissionId }
  const events = observation.events.map((event_id) => ({ ...place, event_id }))
  const messages = observation.messages.map((message_id) => ({ ...place, message_id }))
  const attachments = observation.attachments.map(({ messageId, position }) => ({ ...place, message_id: messageId, position }))
  await mark(session.marketEvents, observation, events)
  await mark(session.threadMessages, observation, messages)
  await mark(session.threadAttachments, observation, attachments)
}

async function mark<R extends Row>(set: WorkingSet<R>, observation: AbsentObservation, keys: readonly Row[]): Promise<void> {
  await set.load(keys)
  for (const key of keys) {
    const row = set.get(key)
    if (row !== null && !hasValue(row['gone_at'])) set.put({ ...row, gone_at: observation.goneAt }, observation.cause)
  }
}

/**
 * Recomputes the values that depend on a submission's events and messages: `last_event_at`, `last_message_at`, the
 * insured, and the lanes that no rail has named. Such a lane gets the state of its newest event that isn't gone. If a
 * lane has no such event, the lane is marked gone.
 */
export async function applyDerived(session: ApplySession, observation: DerivedObservation): Promise<void> {
  const place = { account: observation.account, submission_id: observation.submissionId }
  const newest = await session.access.newest(observation.account, observation.submissionId)
  const submission = session.submissions.get(place)
  if (submission !== null) {
    const last = { last_event_at: newest.eventAt, last_message_at: newest.messageAt }
    const insured_id = insuredOf(submission, observation)
    session.submissions.put(withActivity({ ...submission, ...last, insured_id }), observation.cause)
  }
  const keys = newest.laneEvents.map((event_id) => ({ ...place, event_id }))
  await session.marketEvents.load(keys)
  const newestEvents = new Map<string, MarketEventRow>()
  for (const key of keys) {
    const row = session.marketEvents.get(key)
    if (row?.lane_id != null) newestEvents.set(row.lane_id, row)
  }
  for (const lane of await session.lanes.loadSubmission(observation.account, observation.submissionId)) {
    const event = newestEvents.get(lane.lane_id)
    newestEvents.delete(lane.lane_id)
    if (isOfRail(lane)) session.lanes.put({ ...lane, ...ofRail }, observation.cause)
    else if (event) session.lanes.put(laneOf(session.access.protection, event, null), observation.cause)
    else if (!hasValue(lane.gone_at)) session.lanes.put({ ...lane, gone_at: observation.now }, observation.cause)
  }
  for (const [lane_id, event] of newestEvents) {
    await session.lanes.load([{ ...place, lane_id }])
    session.lanes.put(laneOf(session.access.protection, event, null), observation.cause)
  }
}

function insuredOf({ insured_id }: SubmissionRow, { insuredIds = [] }: DerivedObservation): string | null {
  const stored = storedInsured(insured_id)
  return insuredIds.length === 0 || (stored !== null && insuredIds.includes(stored)) ? stored : (insuredIds[0] ?? null)
}
