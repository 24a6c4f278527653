import { type Applied, inApplyTransaction } from '../apply/apply.ts'
import { contentHash as hashOf } from '../apply/content-hash.ts'
import { backoffMs, doublingMs } from '../base/clock.ts'
import { FatalError, LeaseLostError, messageOf, retryAfterOf, TransientError } from '../base/errors.ts'
import type { Observation, StateObservation } from '../model/observations.ts'
import { isDetail, isFeed, NOT_FOUND_TO_CONFIRM, type OwnStateRead } from '../model/reads.ts'
import type { Cause } from '../model/records.ts'
import { msFromTime, type TimeText, timeFromMs } from '../model/time.ts'
import { type FeedPage, type FeedRead, type FeedReadEnd, readFeedPages } from '../read/feed-pages.ts'
import { readState } from '../read/state.ts'
import type { ServiceParts, Tx } from '../store/engine/db.ts'
import { LONGEST_LEASE_MS } from '../store/engine/leased.ts'
import { noteUnreadable, type Unreadable } from '../store/mirror/conflicts.ts'
import { type ReadClaim, type ReadSettlement, recordPage, refuseCursor, settleRead } from '../store/reads/claims.ts'
import { FULL_READ_COALESCE_MS, rank } from '../store/reads/reads.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { AuthRefusedError, isForbidden, UpstreamPermanentError, upstreamClass } from '../upstream/http/errors.ts'
import { afterDeclined } from './declined.ts'
import { fullReadIntervalMs, type PollPolicy, pollIntervalMs, readIntervalMs } from './intervals.ts'

/** Lease of a read. Each page renews the lease. */
export const READ_LEASE_MS = LONGEST_LEASE_MS
const FAILURE_BASE_MS = 1_000
/**
 * After this many consecutive failures, or one failure that took at least `SLOW_FAILURE_MS`, a read gets a lower rank.
 */
const FAILURES_TO_RANK = 3
const SLOW_FAILURE_MS = 4_000
const FAILURE_CAP_MS = 900_000
/** Backoff after a feed read that stopped before the feed's end, for example because a cursor repeated (trap 2). */
const STALL_BASE_MS = 1_000
const STALL_CAP_MS = 30_000
/** Backoff after a stopped feed read that used many requests. The backoff grows up to `poll.maxMs`. */
const COSTLY_STALL_BASE_MS = 60_000
/**
 * Waits after the first, the second, and each later consecutive 404. After the third 404, the submission counts as
 * gone, and the wait is at least `poll.maxMs` (trap 48).
 */
const NOT_FOUND_WAIT_MS = [30_000, 120_000, 3_600_000] as const
export interface ClaimedReadOptions extends ServiceParts {
  readonly client: UpstreamClient
  readonly policy: PollPolicy
  /** Value of `cause` for the resulting changes. */
  readonly cause: Cause
}

/**
 * Result of a read:
 * - `read`: success
 * - `stalled`: the feed read stopped before the end of the feed
 * - `gone`: 404
 * - `refused`: the service refused every credential, or refused a feed or the requirements (such as with 401 or 403)
 * - `declined`: a detail read was answered with 403 or 404
 * - `failed`: another failure
 */
export type ClaimedReadEnd = 'read' | 'stalled' | 'gone' | 'refused' | 'declined' | 'failed'

/**
 * Runs one claimed read, applies the result, and schedules the next read. Errors of the service, and data that can't be
 * applied, are stored as failures of the read.
 * @throws LeaseLostError if another process has the read; database errors; the abort reason of `signal`.
 */
export async function carryOutRead(o: ClaimedReadOptions, claim: ReadClaim, signal: AbortSignal): Promise<ClaimedReadEnd> {
  const startedAt = o.clock.steady()
  try {
    const end = isFeed(claim.read) ? await readFeed(o, claim, signal) : await readSubmissionState(o, claim, claim.read, signal)
    o.observer.count('feed_reads_total', { account: claim.account, read: claim.read, outcome: end })
    return end
  } catch (error) {
    const kind = upstreamClass(error)
    const isOfDatabase = kind === null && (error instanceof TransientError || error instanceof FatalError)
    if (isOfDatabase || error instanceof LeaseLostError || signal.aborted) throw error
    o.observer.count('feed_reads_total', { account: claim.account, read: claim.read, outcome: kind ?? 'broken' })
    return await settleFailure(o, claim, error, o.clock.steady() - startedAt)
  }
}

async function readFeed(o: ClaimedReadOptions, claim: ReadClaim, signal: AbortSignal): Promise<'read' | 'stalled'> {
  try {
    return await walk(o, claim, signal, claim.fullReadDue ? null : claim.cursor)
  } catch (error) {
    const refused = error instanceof UpstreamPermanentError && error.rejectedWithCursor
    if (!refused || claim.cursor === null) throw error
    return await walk(o, claim, signal, null, messageOf(error))
  }
}

/**
 * Reads the pages of a feed. After the service rejects a request with a cursor, `readFeed` reads from the beginning.
 * The new cursor then replaces the stored cursor (trap 17). A full re-read for any other reason doesn't change the
 * stored cursor.
 * The specification doesn't define how the service rejects a cursor, so any rejection of such a request counts.
 * @param since the cursor to read from; null: the beginning.
 * @param refusal why the service rejected the stored cursor; null if the service didn't reject the cursor.
 */
async function walk(
  o: ClaimedReadOptions,
  claim: ReadClaim,
  signal: AbortSignal,
  since: string | null,
  refusal: string | null = null,
): Promise<'read' | 'stalled'> {
  const replacesCursor = refusal !== null && !claim.fullReadDue
  const keepsCursor = since === null && claim.cursor !== null && !replacesCursor
  const walk: FeedRead = {
    account: claim.account,
    submissionId: claim.submissionId,
    read: claim.read as FeedRead['read'],
    since,
    via: 'poll',
    cause: o.cause,
    isFullRead: since === null,
    firstFeedRead: claim.lastFullReadAt === null,
  }
  let cursor: string | undefined
  let isFirst = true
  const commit = async (page: FeedPage, end: FeedReadEnd | null): Promise<Applied> => {
    if (page.nextCursor !== null && !keepsCursor) cursor = page.nextCursor
    const refused = isFirst ? refusal : null
    isFirst = false
    if (refused !== null) reportRefusedCursor(o, claim, refused)
    return await inApplyTransaction(o.db, o.observer, 'feed-page', async (transaction) => {
      if (refused !== null && replacesCursor) await refuseCursor(transaction.tx, claim, READ_LEASE_MS)
      const applied = await transaction.apply([...page.observations, ...(end === null ? [] : reachableAgain(o, claim))])
      await keepUnreadable(o, transaction.tx, claim, page.unreadable)
      const mark = cursor === undefined ? {} : { cursor }
      if (end === null) await recordPage(transaction.tx, claim, { ...mark, leaseMs: READ_LEASE_MS })
      else await settleRead(transaction.tx, claim, { ...afterFeedRead(o, claim, walk, end, applied.inserted), ...mark })
      return applied
    })
  }
  const end = await readFeedPages(o.client, walk, commit, signal)
  report(o, claim, walk, end)
  return end.stall === null ? 'read' : 'stalled'
}

function afterFeedRead(o: ClaimedReadOptions, claim: ReadClaim, walk: FeedRead, end: FeedReadEnd, lastInserted: number): ReadSettlement {
  const changed = end.inserted + lastInserted > 0
  const base = { failures: 0, notFound: 0, error: null, changed, complete: end.stall === null }
  if (end.stall !== null) {
    const stalledFeedReads = claim.stalledFeedReads + 1
    const [baseMs, capMs] = end.stall.isCostly ? [COSTLY_STALL_BASE_MS, o.policy.poll.maxMs] : [STALL_BASE_MS, STALL_CAP_MS]
    const dueInMs = doublingMs(Math.min(stalledFeedReads - 1, 10), baseMs, capMs)
    const error = end.stall.reason
    return { ...base, ...fullReadDeferral(claim, stalledFeedReads), rank: rank.failing, dueInMs, stalledFeedReads, error }
  }
  const activeAt = activityOf(o, claim, end, changed)
  const quietMs = o.clock.now() - msFromTime(activeAt)
  const settled = { ...base, stalledFeedReads: 0, activeAt, rank: rank.routine, dueInMs: pollIntervalMs(o.policy, quietMs, o.clock) }
  if (walk.isFullRead) return { ...settled, fullReadDueInMs: fullReadIntervalMs(o.policy, quietMs, o.clock) }
  // The first read of this feed was interrupted. Only a full re-read confirms the records before the stored cursor.
  if (walk.firstFeedRead) {
    const requestFullReadInMs = Math.min(FULL_READ_COALESCE_MS, fullReadIntervalMs(o.policy, quietMs, o.clock))
    return { ...settled, dueInMs: Math.min(settled.dueInMs, requestFullReadInMs), requestFullReadInMs }
  }
  return settled
}

/**
 * @returns the time of the last activity: now if the read returned new records, otherwise the stored time.
 * For the first read of a feed, returns the time of the newest record, because all records are history.
 */
function activityOf(o: ClaimedReadOptions, claim: ReadClaim, end: FeedReadEnd, changed: boolean): TimeText {
  const now = timeFromMs(o.clock.now())
  if (!changed) return claim.activeAt ?? now
  if (claim.lastFullReadAt !== null || end.newestAt === null) return now
  return end.newestAt < now ? end.newestAt : now
}

async function readSubmissionState(o: ClaimedReadOptions, claim: ReadClaim, read: OwnStateRead, signal: AbortSignal): Promise<'read'> {
  const view = await readState(o.client, read, claim.submissionId, signal, claim.rank === rank.background ? 'background' : 'live')
  const { account, submissionId, readNo } = claim
  const readAt = timeFromMs(o.clock.now())
  const shown: StateObservation = { kind: 'state', read, account, submissionId, cause: o.cause, view, readNo, readAt }
  const contentHash = hashOf(o.db.protection, shown)
  await inApplyTransaction(o.db, o.observer, 'state-read', async (transaction) => {
    const applied = await transaction.apply([{ ...shown, contentHash }, ...reachableAgain(o, claim)])
    const unreadable = view.unreadable.map((raw) => ({ account, submission_id: submissionId, read, raw }))
    await keepUnreadable(o, transaction.tx, claim, unreadable)
    const changed = applied.changes > 0
    const activeAt = changed && claim.lastReadAt !== null ? readAt : (claim.activeAt ?? readAt)
    const quietMs = o.clock.now() - msFromTime(activeAt)
    await settleRead(transaction.tx, claim, {
      rank: isDetail(read) ? rank.background : rank.routine,
      dueInMs: readIntervalMs(o.policy, read, quietMs, o.clock),
      failures: 0,
      notFound: 0,
      stalledFeedReads: 0,
      error: null,
      complete: true,
      changed,
      activeAt,
      contentHash,
    })
  })
  return 'read'
}

async function settleFailure(o: ClaimedReadOptions, claim: ReadClaim, error: unknown, tookMs: number): Promise<ClaimedReadEnd> {
  const kind = upstreamClass(error)
  const kept = {
    notFound: claim.notFound,
    stalledFeedReads: claim.stalledFeedReads,
    complete: false,
    changed: false,
    error: messageOf(error).slice(0, 500),
  }
  if (error instanceof AuthRefusedError) {
    // The service refused every credential, so the gate checks the account. The read stays due.
    const ranked = isDetail(claim.read) ? rank.background : rank.routine
    await o.db.write('read-refused', (tx) => settleRead(tx, claim, { ...kept, rank: ranked, dueInMs: 0, failures: claim.failures }))
    return 'refused'
  }
  if (isDetail(claim.read) && (kind === 'gone' || isForbidden(error))) {
    const settled = afterDeclined(claim, countedOnce(o, claim.failures), kept.error)
    await o.db.write('read-declined', (tx) => settleRead(tx, claim, settled))
    return 'declined'
  }
  if (kind === 'gone') {
    await settleMiss(o, claim, kept)
    return 'gone'
  }
  const failures = countedOnce(o, claim.failures)
  const dueInMs = Math.max(retryAfterOf(error), backoffMs(o.clock, failures, FAILURE_BASE_MS, FAILURE_CAP_MS))
  const isFailing = failures >= FAILURES_TO_RANK || tookMs >= SLOW_FAILURE_MS
  // A throttled read keeps its rank. Its wait grows each time, because every throttled request lowers
  // the account's rate.
  const ranked = isDetail(claim.read) ? rank.background : kind === 'throttled' ? claim.rank : isFailing ? rank.failing : rank.routine
  const settled = { ...kept, ...fullReadDeferral(claim, failures), rank: ranked, dueInMs, failures }
  await o.db.write('read-failed', (tx) => settleRead(tx, claim, settled))
  if (kind === 'throttled' && failures < FAILURES_TO_RANK) return 'failed'
  const level = kind === 'rejected' || kind === null ? 'error' : 'warn'
  o.log[level](
    { ...place(claim), failures, waitMs: Math.round(dueInMs), ...(kind === null ? { err: error } : { class: kind }) },
    `${claim.read} could not be read and will be tried again in ${Math.ceil(dueInMs / 1000)} s: ${messageOf(error)}`,
  )
  return kind === 'auth' && !isDetail(claim.read) ? 'refused' : 'failed'
}

/** Postpones a full re-read that keeps failing, so that new records after the cursor can be read. */
function fullReadDeferral(claim: ReadClaim, failures: number): Pick<ReadSettlement, 'fullReadNotBeforeMs'> {
  const keepsOut = claim.fullReadDue && claim.cursor !== null && failures >= FAILURES_TO_RANK
  return keepsOut ? { fullReadNotBeforeMs: FAILURE_CAP_MS } : {}
}

/**
 * @returns the new number of failures or 404s. A read by a command only raises the number from 0 to 1.
 * Commands therefore neither extend the backoff of scheduled reads nor confirm a 404.
 */
function countedOnce({ cause }: ClaimedReadOptions, before: number): number {
  return cause === 'command' ? Math.max(1, before) : before + 1
}

/**
 * Stores a 404. After several 404s, the submission counts as gone (trap 48). Its rows stay, and the submission
 * is read rarely.
 */
async function settleMiss(
  o: ClaimedReadOptions,
  claim: ReadClaim,
  kept: Pick<ReadSettlement, 'stalledFeedReads' | 'complete' | 'changed' | 'error'>,
): Promise<void> {
  const notFound = countedOnce(o, claim.notFound)
  const confirmed = notFound >= NOT_FOUND_TO_CONFIRM
  const dueInMs = NOT_FOUND_WAIT_MS[Math.min(notFound, NOT_FOUND_WAIT_MS.length) - 1] ?? NOT_FOUND_WAIT_MS[0]
  await inApplyTransaction(o.db, o.observer, 'read-not-found', async (transaction) => {
    if (confirmed) await transaction.apply([reach(o, claim, timeFromMs(o.clock.now()))])
    await settleRead(transaction.tx, claim, {
      ...kept,
      notFound,
      rank: rank.failing,
      dueInMs: confirmed ? Math.max(dueInMs, o.policy.poll.maxMs) : dueInMs,
      failures: 0,
    })
  })
  const what = confirmed ? 'marked unreachable; its rows stay in the mirror' : `retrying in ${dueInMs / 1000} s before it counts as gone`
  o.log.warn({ ...place(claim), notFound }, `${claim.read} of submission ${claim.submissionId} not found (${notFound} in a row): ${what}`)
}

function reachableAgain(o: ClaimedReadOptions, claim: ReadClaim): Observation[] {
  return claim.notFound === 0 ? [] : [reach(o, claim, null)]
}

function reach({ cause }: ClaimedReadOptions, { account, submissionId }: ReadClaim, unreachableSince: TimeText | null): Observation {
  return { kind: 'reach', account, submissionId, cause, unreachableSince }
}

function reportRefusedCursor(o: ClaimedReadOptions, claim: ReadClaim, refusal: string): void {
  o.observer.count('invalid_cursors_total', { account: claim.account, read: claim.read })
  o.log.warn(place(claim), `the service rejected the ${claim.read} cursor (${refusal}); the feed is read from the beginning`)
}

function report(o: ClaimedReadOptions, claim: ReadClaim, walk: FeedRead, end: FeedReadEnd): void {
  const labels = { account: claim.account, read: claim.read }
  if (walk.isFullRead && end.stall === null) o.observer.count('full_reads_total', labels)
  if (end.stall !== null) {
    o.observer.count('stalled_cursors_total', labels)
    o.log.error(place(claim), `${end.stall.reason}; the ${claim.read} feed is read again with backoff`)
  }
  const level = end.inserted > 0 ? 'info' : 'debug'
  o.log[level](
    { ...place(claim), pages: end.pages, inserted: end.inserted, full_read: walk.isFullRead },
    `read the ${claim.read} feed: new records ${end.inserted}, pages ${end.pages}`,
  )
}

async function keepUnreadable(o: ClaimedReadOptions, tx: Tx, claim: ReadClaim, items: readonly Unreadable[]): Promise<void> {
  if (items.length === 0) return
  const kept = await noteUnreadable(tx, items, timeFromMs(o.clock.now()))
  if (kept === 0) return
  tx.afterCommit(() => {
    o.observer.count('unreadable_items_total', { account: claim.account, read: claim.read }, kept)
    o.log.error(
      { ...place(claim), items: kept },
      `stored ${kept} malformed items of ${claim.read} in sync_unreadable; other items are mirrored`,
    )
  })
}

function place(claim: ReadClaim): { account: string; submission: string; read: string } {
  return { account: claim.account, submission: claim.submissionId, read: claim.read }
}
