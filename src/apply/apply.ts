import type { Observer } from '../base/observer.ts'
import type { Change } from '../model/change.ts'
import type { Observation, SubmissionRef } from '../model/observations.ts'
import { msFromTime, timeFromMs } from '../model/time.ts'
import type { Db, Tx } from '../store/engine/db.ts'
import { noteArrivals, noteConflicts } from '../store/mirror/conflicts.ts'
import { noteSharedDocuments } from '../store/mirror/shared-documents.ts'
import { type MirrorWriter, writeMirror } from '../store/mirror/writer.ts'
import { forgetContent } from '../store/reads/content-hashes.ts'
import { requestFetches } from '../store/reads/fetches.ts'
import { learnIds, wakeIdsOf } from '../store/reads/known-ids.ts'
import { addReadRequests, requestFullRead } from '../store/reads/reads.ts'
import { applyTo } from './apply-to.ts'
import { ApplySession } from './session.ts'

export interface Applied {
  /** Number of new events and messages. */
  readonly inserted: number
  /** Number of rows added to the change log. */
  readonly changes: number
  /** Number of skipped state observations. Each was older than a state read that was applied before. */
  readonly stale: number
  /** The rows added to the change log. */
  readonly changed: readonly Change[]
  /** Updated rows without a change log entry: `raw` changed, but no column that the change log records. */
  readonly rawOnly: readonly Change[]
  /** Purged submissions whose observations were skipped. Each is the text `account submission_id`. */
  readonly purged: ReadonlySet<string>
}

/** The only way to apply observations to the mirror. */
export interface ApplyTransaction {
  readonly tx: Tx
  /** Applies observations of any kind, in any order. Call this at most once per transaction. */
  apply(observations: readonly Observation[]): Promise<Applied>
}

/**
 * Runs `work` in one transaction. `work` applies observations, and settles the delivery or read that they came from.
 * Rows, change log, and inbox state or cursor commit together (invariant 3).
 * @param name transaction name for `Db.write`.
 * @throws errors of `Db.write` and `work`. The transaction then rolls back.
 */
export function inApplyTransaction<T>(
  db: Db,
  observer: Observer,
  name: string,
  work: (transaction: ApplyTransaction) => Promise<T>,
): Promise<T> {
  const startedAt = performance.now()
  return writeMirror(db, name, async (writer) => {
    const replayed = new Set<unknown>()
    const apply = (observations: readonly Observation[]) => {
      for (const id of replayedIn(observations)) replayed.add(id)
      return applyObservations(writer, observations, observer)
    }
    const result = await work({ tx: writer.tx, apply })
    writer.tx.afterCommit(() => {
      observer.time('apply_commit_seconds', (performance.now() - startedAt) / 1000)
      countChanges(writer, observer)
      for (const change of writer.changes) observeLag(change, observer, replayed)
    })
    return result
  })
}

async function applyObservations(writer: MirrorWriter, observations: readonly Observation[], observer: Observer): Promise<Applied> {
  if (observations.length === 0) return { inserted: 0, changes: 0, stale: 0, changed: [], rawOnly: [], purged: new Set() }
  const { tx } = writer
  const session = new ApplySession(writer, timeFromMs(tx.clock.now()))
  const stale = await applyTo(session, observations)
  await session.flush()
  await forgetContent(tx, changedPlaces([...writer.changes, ...session.rawOnly]))
  await addReadRequests(tx, session.wakes)
  await wakeIdsOf(tx, session.wakes)
  await requestFetches(tx, writer.changes, session.newLinks)
  await learnIds(tx, [...session.knownIds.values()])
  await noteSharedDocuments(tx, session.sharedDocuments)
  await requestFullRead(tx, [...session.fullReads.values()])
  await noteArrivals(tx, session.arrivals, session.now)
  await keepConflicts(session, tx, observer)
  const { changes } = writer
  return { inserted: session.inserted, changes: changes.length, stale, changed: changes, rawOnly: session.rawOnly, purged: session.purged }
}

function changedPlaces(changes: readonly Change[]): SubmissionRef[] {
  return changes.map(({ account, submission_id }) => ({ account, submissionId: submission_id ?? '' }))
}

async function keepConflicts(session: ApplySession, tx: Tx, observer: Observer): Promise<void> {
  const groups = Map.groupBy(session.conflicts, ({ account, entity }) => `${account} ${entity}`)
  for (const [, conflicts] of [...groups].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const kept = await noteConflicts(tx, conflicts, session.now)
    const [first] = conflicts
    if (kept > 0 && first) tx.afterCommit(() => observer.count('conflicts_total', { account: first.account, entity: first.entity }, kept))
  }
}

function countChanges(writer: MirrorWriter, observer: Observer): void {
  const counts = new Map<string, { labels: Record<string, string>; n: number }>()
  for (const { account, entity, operation, cause } of writer.changes) {
    const key = `${account} ${entity} ${operation} ${cause}`
    const entry = counts.get(key) ?? { labels: { account, entity, operation, cause }, n: 0 }
    entry.n += 1
    counts.set(key, entry)
  }
  for (const { labels, n } of counts.values()) observer.count('applied_rows_total', labels, n)
}

/** @returns the ids of events and messages that came from a delivery which an operator replayed. */
function replayedIn(observations: readonly Observation[]): unknown[] {
  return observations.flatMap((observation) => {
    if (observation.kind === 'event') return observation.isReplayed ? [observation.event.event_id] : []
    return observation.kind === 'message' && observation.isReplayed ? [observation.message.message.message_id] : []
  })
}

/**
 * Measures the time from `occurred_at` of a new event or message to its insertion in the mirror. Skips history and
 * replayed deliveries, because their records are old.
 */
function observeLag({ entity, operation, cause, after }: Change, observer: Observer, replayed: ReadonlySet<unknown>): void {
  if (operation !== 'insert' || cause === 'backfill' || (entity !== 'market_events' && entity !== 'thread_messages')) return
  if (replayed.has(after['event_id'] ?? after['message_id'])) return
  const seconds = (msFromTime(String(after['first_seen_at'])) - msFromTime(String(after['occurred_at']))) / 1_000
  if (Number.isFinite(seconds)) observer.time('record_lag_seconds', Math.max(0, seconds))
}
