import type { SubmissionRow } from '../model/entities/submissions.ts'
import { hasValue } from '../model/merge.ts'
import type { Observation, ReachabilityObservation, SubmissionRef } from '../model/observations.ts'
import { readKinds } from '../model/reads.ts'
import { laterTime } from '../model/time.ts'
import type { ApplySession } from './session.ts'

/**
 * Locks the observations' submissions. If a submission is unknown, starts tracking it and requests reads of its feeds
 * from the beginning (trap 22).
 * @returns the locked submissions. Each is the text `account submission_id`. Purged submissions are left out.
 */
export async function lockSubmissions(session: ApplySession, observations: readonly Observation[]): Promise<ReadonlySet<string>> {
  const first = new Map<string, Observation>()
  for (const observation of observations) {
    if (observation.submissionId === '') continue
    const key = `${observation.account} ${observation.submissionId}`
    if (!first.has(key)) first.set(key, observation)
  }
  if (first.size === 0) return new Set()
  const keys = [...first.keys()].sort().map((key) => keyOf(first.get(key) as Observation))
  const viaOf = (key: { account: string; submission_id: string }) =>
    trackedVia(first.get(`${key.account} ${key.submission_id}`) as Observation)
  const { rows, added } = await session.access.lockSubmissions(keys, session.now, (key) => viaOf(key as SubmissionRow))
  const isAdded = new Set(added.map((key) => `${key['account']} ${key['submission_id']}`))
  for (const row of rows as SubmissionRow[]) {
    const key = `${row.account} ${row.submission_id}`
    if (isAdded.has(key)) session.submissions.adoptAdded(row, (first.get(key) as Observation).cause)
    else session.submissions.adopt([row])
  }
  const fresh = rows.filter((row) => isAdded.has(`${row['account']} ${row['submission_id']}`)) as SubmissionRow[]
  for (const live of [true, false]) {
    const places = fresh.filter(
      (row) => (trackedVia(first.get(`${row.account} ${row.submission_id}`) as Observation) === 'webhook') === live,
    )
    if (places.length > 0) await session.access.addReads(places.map(placeOf), session.now, live)
  }
  return new Set(rows.map((row) => `${row['account']} ${row['submission_id']}`))
}

/** Sets or clears `unreachable_since`. Requests all reads if the submission is reachable again. */
export function applyReachability(session: ApplySession, observation: ReachabilityObservation): void {
  const row = session.submissions.get(keyOf(observation))
  if (row === null || row.unreachable_since === observation.unreachableSince) return
  // If the submission is already unreachable, the stored `unreachable_since` stays.
  if (observation.unreachableSince !== null && hasValue(row.unreachable_since)) return
  session.submissions.put({ ...row, unreachable_since: observation.unreachableSince }, observation.cause)
  if (observation.unreachableSince === null) session.wake(observation, ...readKinds)
}

/** Moves `last_event_at` or `last_message_at` forward if `at` is later. Also updates `last_activity_at`. */
export function touchSubmission(
  session: ApplySession,
  observation: Observation,
  column: 'last_event_at' | 'last_message_at',
  at: string,
): void {
  const row = session.submissions.get(keyOf(observation))
  if (row === null) return
  const latest = laterTime(row[column], at)
  if (latest !== row[column]) session.submissions.put(withActivity({ ...row, [column]: latest }), observation.cause)
}

/** @returns the row with `last_activity_at` set to the later of `last_event_at` and `last_message_at`. */
export function withActivity(row: SubmissionRow): SubmissionRow {
  return { ...row, last_activity_at: laterTime(row.last_event_at, row.last_message_at) }
}

function keyOf(place: SubmissionRef): { account: string; submission_id: string } {
  return { account: place.account, submission_id: place.submissionId }
}

function placeOf(row: SubmissionRow): SubmissionRef {
  return { account: row.account, submissionId: row.submission_id }
}

function trackedVia(observation: Observation): string {
  if (observation.kind === 'request' && observation.trackedVia !== undefined) return observation.trackedVia
  return observation.cause === 'backfill' ? 'poll' : observation.cause
}
