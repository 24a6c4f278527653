import type { SubmissionRow } from '../model/entities/submissions.ts'
import type { Fact, ReachabilityFact, SubmissionRef } from '../model/facts.ts'
import { hasValue } from '../model/merge.ts'
import { readKinds } from '../model/reads.ts'
import { laterTime } from '../model/time.ts'
import type { ApplySession } from './session.ts'

/**
 * Locks the submissions of the facts, and starts tracking unknown ones: their feeds are read from the beginning (trap 22). @returns the
 * tracked ones, each as `account submission_id`: all but purged ones.
 */
export async function lockSubmissions(session: ApplySession, facts: readonly Fact[]): Promise<ReadonlySet<string>> {
  const first = new Map<string, Fact>()
  for (const fact of facts) {
    if (fact.submissionId === '') continue
    const key = `${fact.account} ${fact.submissionId}`
    if (!first.has(key)) first.set(key, fact)
  }
  if (first.size === 0) return new Set()
  const keys = [...first.keys()].sort().map((key) => keyOf(first.get(key) as Fact))
  const viaOf = (key: { account: string; submission_id: string }) => trackedVia(first.get(`${key.account} ${key.submission_id}`) as Fact)
  const { rows, added } = await session.access.lockSubmissions(keys, session.now, (key) => viaOf(key as SubmissionRow))
  const isAdded = new Set(added.map((key) => `${key['account']} ${key['submission_id']}`))
  for (const row of rows as SubmissionRow[]) {
    const key = `${row.account} ${row.submission_id}`
    if (isAdded.has(key)) session.submissions.adoptAdded(row, (first.get(key) as Fact).cause)
    else session.submissions.adopt([row])
  }
  const fresh = rows.filter((row) => isAdded.has(`${row['account']} ${row['submission_id']}`)) as SubmissionRow[]
  for (const live of [true, false]) {
    const places = fresh.filter((row) => (trackedVia(first.get(`${row.account} ${row.submission_id}`) as Fact) === 'webhook') === live)
    if (places.length > 0) await session.access.addReads(places.map(placeOf), session.now, live)
  }
  return new Set(rows.map((row) => `${row['account']} ${row['submission_id']}`))
}

/** Sets or clears `unreachable_since` (invariant 7). When the submission is reachable again, all its reads are requested. */
export function applyReachability(session: ApplySession, fact: ReachabilityFact): void {
  const row = session.submissions.get(keyOf(fact))
  if (row === null || row.unreachable_since === fact.unreachableSince) return
  // The first time stays.
  if (fact.unreachableSince !== null && hasValue(row.unreachable_since)) return
  session.submissions.put({ ...row, unreachable_since: fact.unreachableSince }, fact.cause)
  if (fact.unreachableSince === null) session.wake(fact, ...readKinds)
}

/** Moves `last_event_at` or `last_message_at` forward, and `last_activity_at` with it. */
export function touchSubmission(session: ApplySession, fact: Fact, column: 'last_event_at' | 'last_message_at', at: string): void {
  const row = session.submissions.get(keyOf(fact))
  if (row === null) return
  const latest = laterTime(row[column], at)
  if (latest !== row[column]) session.submissions.put(withActivity({ ...row, [column]: latest }), fact.cause)
}

/** Sets `last_activity_at` to the later of the two times. */
export function withActivity(row: SubmissionRow): SubmissionRow {
  return { ...row, last_activity_at: laterTime(row.last_event_at, row.last_message_at) }
}

function keyOf(place: SubmissionRef): { account: string; submission_id: string } {
  return { account: place.account, submission_id: place.submissionId }
}

function placeOf(row: SubmissionRow): SubmissionRef {
  return { account: row.account, submissionId: row.submission_id }
}

function trackedVia(fact: Fact): string {
  if (fact.kind === 'request' && fact.trackedVia !== undefined) return fact.trackedVia
  return fact.cause === 'backfill' ? 'poll' : fact.cause
}
