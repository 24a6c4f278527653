import type { MarketEventRow } from '../model/entities/market-events.ts'
import type { SubmissionRow } from '../model/entities/submissions.ts'
import type { Row } from '../model/entity.ts'
import type { AbsentFact, DerivedFact, Fact } from '../model/facts.ts'
import { hasValue } from '../model/merge.ts'
import { applyDocuments, applyFetched, deriveDocuments } from './documents.ts'
import { applyKnownIds, storedInsured } from './known-ids.ts'
import { isOfRail, laneOf, ofRail } from './lanes.ts'
import { applyEvents } from './market-events.ts'
import { protectFacts } from './protect-facts.ts'
import type { ApplySession } from './session.ts'
import { applyState } from './state.ts'
import { applyReachability, lockSubmissions, withActivity } from './submissions.ts'
import { applyMessages } from './thread-messages.ts'
import type { WorkingSet } from './working-set.ts'

function inOwnSubmission(fact: Fact): Fact {
  const submissionId = fact.kind === 'state' ? (fact.view.ownSubmissionId ?? fact.submissionId) : fact.submissionId
  return submissionId === fact.submissionId ? fact : { ...fact, submissionId }
}

/**
 * Applies facts of any kinds, in any order, to a session, without writing. Tax ids are protected first, so that only their protected form
 * is compared and written. @returns the number of outdated state facts (invariant 6).
 */
export async function applyTo(session: ApplySession, given: readonly Fact[]): Promise<number> {
  const all = protectFacts(session.access.protection, given.map(inOwnSubmission))
  const tracked = await lockSubmissions(session, all)
  // Nothing of a purged submission is mirrored. A fact without a submission is always applied.
  const isTracked = (fact: Fact) => fact.submissionId === '' || tracked.has(`${fact.account} ${fact.submissionId}`)
  const facts = all.filter((fact) => isTracked(fact) || !session.notePurged(fact))
  const events = facts.filter((fact) => fact.kind === 'event')
  const messages = facts.filter((fact) => fact.kind === 'message')
  await applyEvents(session, events)
  await applyMessages(session, messages)
  let stale = 0
  const same = new Set<Fact>()
  for (const fact of facts) {
    const taken = fact.kind === 'state' ? await applyState(session, fact) : null
    if (taken === 'stale') stale += 1
    if (taken === 'same') same.add(fact)
    if (fact.kind === 'reach') applyReachability(session, fact)
    if (fact.kind === 'absent') await applyAbsent(session, fact)
    if (fact.kind === 'derived') await applyDerived(session, fact)
    if (fact.kind === 'document') await applyFetched(session, fact)
    if (fact.kind === 'request') session.wake(fact, ...fact.reads)
  }
  const news = same.size === 0 ? facts : facts.filter((fact) => !same.has(fact))
  await applyKnownIds(session, news)
  await applyDocuments(session, news)
  for (const fact of facts) if (fact.kind === 'derived') await deriveDocuments(session, fact, fact.cause)
  return stale
}

/**
 * Marks records that the service no longer shows as gone. A record that is already marked keeps its time. Nothing is deleted (invariant 7).
 */
async function applyAbsent(session: ApplySession, fact: AbsentFact): Promise<void> {
  const place = { account: fact.account, submission_id: fact.submissionId }
  const events = fact.events.map((event_id) => ({ ...place, event_id }))
  const messages = fact.messages.map((message_id) => ({ ...place, message_id }))
  const attachments = fact.attachments.map(({ messageId, position }) => ({ ...place, message_id: messageId, position }))
  await mark(session.marketEvents, fact, events)
  await mark(session.threadMessages, fact, messages)
  await mark(session.threadAttachments, fact, attachments)
}

async function mark<R extends Row>(set: WorkingSet<R>, fact: AbsentFact, keys: readonly Row[]): Promise<void> {
  await set.load(keys)
  for (const key of keys) {
    const row = set.get(key)
    if (row !== null && !hasValue(row['gone_at'])) set.put({ ...row, gone_at: fact.goneAt }, fact.cause)
  }
}

/**
 * Recomputes columns that depend on a submission's records: the newest times, and lanes that no rail has named, whose state is that of
 * their newest event (invariant 5). Gone records don't count: a lane without any other event is marked gone, or is not created.
 */
export async function applyDerived(session: ApplySession, fact: DerivedFact): Promise<void> {
  const place = { account: fact.account, submission_id: fact.submissionId }
  const newest = await session.access.newest(fact.account, fact.submissionId)
  const submission = session.submissions.get(place)
  if (submission !== null) {
    const last = { last_event_at: newest.eventAt, last_message_at: newest.messageAt }
    const insured_id = insuredOf(submission, fact)
    session.submissions.put(withActivity({ ...submission, ...last, insured_id }), fact.cause)
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
