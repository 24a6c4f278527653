import { type Applied, inApplyTransaction } from '../apply/apply.ts'
import { backoffMs, type Clock } from '../base/clock.ts'
import { FatalError, messageOf, TransientError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { Observer } from '../base/observer.ts'
import type { Fact } from '../model/facts.ts'
import { isFeed, type StateRead } from '../model/reads.ts'
import type { Cause } from '../model/records.ts'
import { msFromTime, type TimeText, timeFromMs } from '../model/time.ts'
import { readState } from '../read/state.ts'
import { type FeedPage, type Walk, type WalkEnd, walkFeed } from '../read/walk.ts'
import type { Db, Tx } from '../store/engine/db.ts'
import { LeaseLostError, LONGEST_LEASE_MS } from '../store/engine/leases.ts'
import { noteUnreadable, type Unreadable } from '../store/mirror/evidence.ts'
import { type ReadClaim, type ReadSettlement, recordPage, refuseCursor, settleRead } from '../store/reads/claims.ts'
import { REPLAY_COALESCE_MS, rank } from '../store/reads/reads.ts'
import type { UpstreamClient } from '../upstream/client.ts'
import { AuthRefusedError, UpstreamPermanentError, upstreamClass } from '../upstream/http/errors.ts'
import { type PollPolicy, pollIntervalMs, replayIntervalMs } from './intervals.ts'

/** A read is ours for so long after each page; a page's requests end well within it. */
export const READ_LEASE_MS = LONGEST_LEASE_MS
/** Of the reads in hand each gets its turn at the rate within this time, a good part of a lease. */
const TURN_WITHIN_S = 30
const FAILURE_BASE_MS = 1_000
/** A read that failed so often in a row, or took so long to fail, no longer competes with those that work. */
const FAILURES_TO_RANK = 3
const SLOW_FAILURE_MS = 4_000
const FAILURE_CAP_MS = 900_000
/** A cursor that stands still: 1 s, doubling to 30 s (trap 2). */
const STALL_BASE_MS = 1_000
const STALL_CAP_MS = 30_000
/** "Not found" is believed after so many tries in a row, so long apart (trap 48). */
const MISSES_TO_BELIEVE = 3
const MISS_WAIT_MS = [30_000, 120_000, 3_600_000] as const

export interface ClaimedReadOptions {
  readonly db: Db
  readonly client: UpstreamClient
  readonly clock: Clock
  readonly log: Log
  readonly observer: Observer
  readonly policy: PollPolicy
  /** What the changes that a read makes are caused by. */
  readonly cause: Cause
}

/** How a read ended, as far as the account's poller must know. */
export type ClaimedReadEnd = 'read' | 'stalled' | 'gone' | 'refused' | 'failed' | 'lost'

/**
 * @returns how many reads to have in hand at `rate` requests a second, `concurrency` at the most: whatever waits for its turn until its
 * lease ends is claimed anew, by ourselves too, and what it reads then is lost, each time.
 */
export function placesAt(rate: number, concurrency: number): number {
  return Math.min(concurrency, Math.ceil(rate * TURN_WITHIN_S))
}

/**
 * Makes one claimed read: walks a feed or reads the state, applies what it finds, and settles when it comes again. It throws only when the
 * store is away or `signal` aborts; what the service does wrong, and what cannot be applied, is settled here as this read's failure.
 */
export async function carryOutRead(o: ClaimedReadOptions, claim: ReadClaim, signal: AbortSignal): Promise<ClaimedReadEnd> {
  try {
    return await make(o, claim, signal)
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error
    o.log.info(place(claim), messageOf(error))
    return 'lost'
  }
}

/** @throws LeaseLostError whether it was the read's success or its failure that could no longer be settled. */
async function make(o: ClaimedReadOptions, claim: ReadClaim, signal: AbortSignal): Promise<ClaimedReadEnd> {
  const startedAt = o.clock.now()
  try {
    const end = isFeed(claim.read) ? await readFeed(o, claim, signal) : await readSubmissionState(o, claim, claim.read, signal)
    o.observer.count('walks_total', { account: claim.account, read: claim.read, outcome: end })
    return end
  } catch (error) {
    const kind = upstreamClass(error)
    const isOfTheStore = kind === null && (error instanceof TransientError || error instanceof FatalError)
    if (isOfTheStore || error instanceof LeaseLostError || signal.aborted) throw error
    o.observer.count('walks_total', { account: claim.account, read: claim.read, outcome: kind ?? 'broken' })
    return await settleFailure(o, claim, error, o.clock.now() - startedAt)
  }
}

async function readFeed(o: ClaimedReadOptions, claim: ReadClaim, signal: AbortSignal): Promise<'read' | 'stalled'> {
  try {
    return await walk(o, claim, signal, claim.replayDue ? null : claim.cursor)
  } catch (error) {
    const refused = error instanceof UpstreamPermanentError && error.rejectedWithCursor
    if (!refused || claim.cursor === null) throw error
    // The service does not say how it refuses a cursor, so any refusal of a request that bore one is taken as that: the feed is read
    // once more from the beginning, and the cursor of that walk replaces the old one (trap 17). What is refused within a replay is a
    // cursor of that replay: nothing is said of the stored one.
    o.observer.count('invalid_cursors_total', { account: claim.account, read: claim.read })
    o.log.warn(
      { ...place(claim), answer: messageOf(error) },
      `the cursor of ${claim.read} was refused; the feed is read again from the beginning`,
    )
    if (claim.replayDue) return walk(o, claim, signal, null)
    await o.db.write('cursor-refused', (tx) => refuseCursor(tx, claim, READ_LEASE_MS))
    return walk(o, { ...claim, cursor: null }, signal, null)
  }
}

async function walk(o: ClaimedReadOptions, claim: ReadClaim, signal: AbortSignal, since: string | null): Promise<'read' | 'stalled'> {
  // A replay beside a valid cursor leaves the cursor alone (invariant 6).
  const keepsCursor = since === null && claim.cursor !== null
  const walk: Walk = {
    account: claim.account,
    submissionId: claim.submissionId,
    read: claim.read as Walk['read'],
    since,
    via: 'poll',
    cause: o.cause,
    fromReplay: since === null,
    firstWalk: claim.lastReplayAt === null,
  }
  let cursor: string | undefined
  const commit = (page: FeedPage, end: WalkEnd | null): Promise<Applied> => {
    if (page.nextCursor !== null && !keepsCursor) cursor = page.nextCursor
    return inApplyTransaction(o.db, o.observer, 'feed-page', async (transaction) => {
      const applied = await transaction.apply([...page.facts, ...(end === null ? [] : foundAgain(o, claim))])
      await keepUnreadable(o, transaction.tx, claim, page.unreadable)
      const mark = cursor === undefined ? {} : { cursor }
      if (end === null) await recordPage(transaction.tx, claim, { ...mark, leaseMs: READ_LEASE_MS })
      else await settleRead(transaction.tx, claim, { ...afterWalk(o, claim, walk, end, applied.inserted), ...mark })
      return applied
    })
  }
  const end = await walkFeed(o.client, walk, commit, signal)
  report(o, claim, walk, end)
  return end.ended === 'stalled' ? 'stalled' : 'read'
}

function afterWalk(o: ClaimedReadOptions, claim: ReadClaim, walk: Walk, end: WalkEnd, lastInserted: number): ReadSettlement {
  const changed = end.inserted + lastInserted > 0
  const base = { failures: 0, misses: 0, error: null, changed, complete: end.ended === 'complete' }
  if (end.ended === 'stalled') {
    const stalls = claim.stalls + 1
    const dueInMs = Math.min(STALL_CAP_MS, STALL_BASE_MS * 2 ** Math.min(stalls - 1, 10))
    const error = 'the service gives the same cursor again and nothing behind it'
    return { ...base, ...replayPutOff(claim, stalls), rank: rank.failing, dueInMs, stalls, error }
  }
  const activeAt = activityOf(o, claim, end, changed)
  const quietMs = o.clock.now() - msFromTime(activeAt)
  const settled = { ...base, stalls: 0, activeAt, rank: rank.routine, dueInMs: pollIntervalMs(o.policy, quietMs, o.clock) }
  if (walk.fromReplay) return { ...settled, replayDueInMs: replayIntervalMs(o.policy, quietMs, o.clock) }
  // The first walk was interrupted and went on from its cursor: only a whole one proves what lies behind it.
  if (walk.firstWalk) {
    const requestReplayInMs = Math.min(REPLAY_COALESCE_MS, replayIntervalMs(o.policy, quietMs, o.clock))
    return { ...settled, dueInMs: Math.min(settled.dueInMs, requestReplayInMs), requestReplayInMs }
  }
  return settled
}

/** When something last moved: now when a walk brought something, but history that a first walk brings moved when it says. */
function activityOf(o: ClaimedReadOptions, claim: ReadClaim, end: WalkEnd, changed: boolean): TimeText {
  const now = timeFromMs(o.clock.now())
  if (!changed) return claim.activeAt ?? now
  if (claim.lastReplayAt !== null || end.newestAt === null) return now
  return end.newestAt < now ? end.newestAt : now
}

async function readSubmissionState(o: ClaimedReadOptions, claim: ReadClaim, read: StateRead, signal: AbortSignal): Promise<'read'> {
  const view = await readState(o.client, read, claim.submissionId, signal)
  await inApplyTransaction(o.db, o.observer, 'state-read', async (transaction) => {
    const readAt = timeFromMs(o.clock.now())
    const { account, submissionId, readNo } = claim
    const state: Fact = { kind: 'state', read, account, submissionId, cause: o.cause, view, readNo, readAt }
    const applied = await transaction.apply([state, ...foundAgain(o, claim)])
    const unreadable = view.unreadable.map((raw) => ({ account, submission_id: submissionId, read, raw }))
    await keepUnreadable(o, transaction.tx, claim, unreadable)
    const changed = applied.changes > 0
    const activeAt = changed && claim.lastReadAt !== null ? readAt : (claim.activeAt ?? readAt)
    const quietMs = o.clock.now() - msFromTime(activeAt)
    await settleRead(transaction.tx, claim, {
      rank: rank.routine,
      dueInMs: pollIntervalMs(o.policy, quietMs, o.clock),
      failures: 0,
      misses: 0,
      stalls: 0,
      error: null,
      complete: true,
      changed,
      activeAt,
    })
  })
  return 'read'
}

async function settleFailure(o: ClaimedReadOptions, claim: ReadClaim, error: unknown, tookMs: number): Promise<ClaimedReadEnd> {
  const kind = upstreamClass(error)
  const kept = { misses: claim.misses, stalls: claim.stalls, complete: false, changed: false, error: messageOf(error).slice(0, 500) }
  if (error instanceof AuthRefusedError) {
    // Not the read's fault: it stays due, and the account is parked.
    await o.db.write('read-refused', (tx) => settleRead(tx, claim, { ...kept, rank: rank.routine, dueInMs: 0, failures: claim.failures }))
    return 'refused'
  }
  if (kind === 'gone') {
    await settleMiss(o, claim, kept)
    return 'gone'
  }
  const failures = oneMore(o, claim.failures)
  const backoff = backoffMs(o.clock, failures, FAILURE_BASE_MS, FAILURE_CAP_MS)
  const askedMs = error instanceof TransientError ? (error.retryAfterMs ?? 0) : 0
  const dueInMs = Math.max(askedMs, backoff)
  const isFailing = failures >= FAILURES_TO_RANK || tookMs >= SLOW_FAILURE_MS
  // To be throttled is not the read's fault: it keeps its rank. It waits longer each time all the same, since each time lowers the rate
  // of all.
  const ranked = kind === 'throttled' ? claim.rank : isFailing ? rank.failing : rank.routine
  const settled = { ...kept, ...replayPutOff(claim, failures), rank: ranked, dueInMs, failures }
  await o.db.write('read-failed', (tx) => settleRead(tx, claim, settled))
  if (kind === 'throttled' && failures < FAILURES_TO_RANK) return 'failed'
  const level = kind === 'rejected' || kind === null ? 'error' : 'warn'
  o.log[level](
    { ...place(claim), failures, waitMs: Math.round(dueInMs), ...(kind === null ? { err: error } : { class: kind }) },
    `${claim.read} could not be read and will be tried again: ${messageOf(error)}`,
  )
  return kind === 'auth' ? 'refused' : 'failed'
}

/** A replay that fails again and again, over one page of old history perhaps, must not keep the news behind the cursor from being read. */
function replayPutOff(claim: ReadClaim, failures: number): Pick<ReadSettlement, 'replayNotBeforeMs'> {
  const keepsOut = claim.replayDue && claim.cursor !== null && failures >= FAILURES_TO_RANK
  return keepsOut ? { replayNotBeforeMs: FAILURE_CAP_MS } : {}
}

/** What is asked for by hand, as often as somebody likes, neither puts off what the clock asks for nor confirms what it has found. */
function oneMore({ cause }: ClaimedReadOptions, before: number): number {
  return cause === 'command' ? Math.max(1, before) : before + 1
}

/** Believes "not found" only after it was confirmed; what is mirrored stays, and the read is tried on slowly (trap 48). */
async function settleMiss(
  o: ClaimedReadOptions,
  claim: ReadClaim,
  kept: Pick<ReadSettlement, 'stalls' | 'complete' | 'changed' | 'error'>,
): Promise<void> {
  const misses = oneMore(o, claim.misses)
  const believed = misses >= MISSES_TO_BELIEVE
  const dueInMs = MISS_WAIT_MS[Math.min(misses, MISS_WAIT_MS.length) - 1] ?? MISS_WAIT_MS[0]
  await inApplyTransaction(o.db, o.observer, 'read-missed', async (transaction) => {
    if (believed) await transaction.apply([reach(o, claim, timeFromMs(o.clock.now()))])
    await settleRead(transaction.tx, claim, {
      ...kept,
      misses,
      rank: rank.failing,
      dueInMs: believed ? Math.max(dueInMs, o.policy.poll.maxMs) : dueInMs,
      failures: 0,
    })
  })
  const what = believed ? 'is marked unreachable; what is mirrored stays' : 'is asked again before that is believed'
  o.log.warn({ ...place(claim), misses }, `the service does not know submission ${claim.submissionId}; it ${what}`)
}

/** A read that was "not found" before and now succeeds says that the submission is there again. */
function foundAgain(o: ClaimedReadOptions, claim: ReadClaim): Fact[] {
  return claim.misses === 0 ? [] : [reach(o, claim, null)]
}

function reach({ cause }: ClaimedReadOptions, { account, submissionId }: ReadClaim, unreachableSince: TimeText | null): Fact {
  return { kind: 'reach', account, submissionId, cause, unreachableSince }
}

function report(o: ClaimedReadOptions, claim: ReadClaim, walk: Walk, end: WalkEnd): void {
  const labels = { account: claim.account, read: claim.read }
  if (walk.fromReplay && end.ended === 'complete') o.observer.count('replays_total', labels)
  if (end.ended === 'stalled') {
    o.observer.count('stalled_cursors_total', labels)
    o.log.error(place(claim), `the cursor of ${claim.read} does not move on an empty page; the feed is asked again with backoff`)
  }
  const level = end.inserted > 0 ? 'info' : 'debug'
  o.log[level](
    { ...place(claim), pages: end.pages, found: end.inserted, replay: walk.fromReplay },
    `${claim.read} walked: ${end.inserted} new in ${end.pages} pages`,
  )
}

/** Keeps what is not as the specification says, and tells how much of it is new. */
async function keepUnreadable(o: ClaimedReadOptions, tx: Tx, claim: ReadClaim, items: readonly Unreadable[]): Promise<void> {
  if (items.length === 0) return
  const kept = await noteUnreadable(tx, items, timeFromMs(o.clock.now()))
  if (kept === 0) return
  tx.afterCommit(() => {
    o.observer.count('unreadable_items_total', { account: claim.account, read: claim.read }, kept)
    o.log.error(
      { ...place(claim), items: kept },
      `${kept} items of ${claim.read} are not what the specification says; they are kept in sync_unreadable`,
    )
  })
}

function place(claim: ReadClaim): { account: string; submission: string; read: string } {
  return { account: claim.account, submission: claim.submissionId, read: claim.read }
}
