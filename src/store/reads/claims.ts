import { type RawBuilder, sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import type { SubmissionRef } from '../../model/observations.ts'
import { type IdRead, isDetail, isIdRead, type OwnRead, type ReadKind } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { Leased, LONGEST_LEASE_MS, newLeaseToken } from '../engine/leased.ts'
import { dbTime, distinctIn, least, timeValue } from '../engine/sql.ts'
import { hashColumns } from './content-hashes.ts'
import { DETAIL_WAKE_DELAY_MS, FULL_READ_COALESCE_MS, LOOK_AGAIN_MS, nextReadNumber, rank, WAKE_DELAY_MS } from './reads.ts'

/** A read that this process may perform until its lease ends. A read by id has an empty `submissionId`. */
export interface ReadClaim<R extends ReadKind = OwnRead> extends SubmissionRef {
  readonly read: R
  /** The id to read, for a read by id; otherwise ''. */
  readonly id: string
  /** For a read by id: the submission whose answer named the id; '' if unknown. Null for other reads. */
  readonly namedFor: string | null
  readonly leaseToken: string
  readonly rank: number
  /** Number of this read. A later read of the same kind has a greater number. */
  readonly readNo: number
  readonly requestNo: number
  readonly cursor: string | null
  readonly failures: number
  readonly notFound: number
  readonly stalledFeedReads: number
  readonly activeAt: TimeText | null
  readonly lastReadAt: TimeText | null
  readonly lastFullReadAt: TimeText | null
  readonly fullReadDueAt: TimeText | null
  /** Whether a full re-read was due when this read was claimed, by the database's clock. */
  readonly fullReadDue: boolean
  /**
   * When the answer last changed. If it never changed, a read by id has the time when the id became known, and other
   * reads have null.
   */
  readonly changedAt: TimeText | null
  readonly isFinal: boolean
}

export type IdClaim = ReadClaim<IdRead>

/**
 * Selects reads to claim: the due reads of one rank (see `rank` in reads.ts), the reads of given submissions, or the
 * read of one id.
 */
export interface ClaimQuery<R extends ReadKind = OwnRead> {
  readonly account: string
  readonly rank?: number
  /** Only reads of these submissions, including reads that aren't due. Skips reads that another process has claimed. */
  readonly submissionIds?: readonly string[]
  /** Only reads of this kind. Requires `submissionIds`. */
  readonly read?: R
  /** Only the read of this id, even if the read isn't due. */
  readonly id?: string
  readonly without?: readonly ReadKind[]
  readonly limit: number
  readonly leaseMs: number
}

export const claimedReads = new Leased<ReadClaim<ReadKind>>({
  table: 'sync_reads',
  what: 'read',
  key: { account: 'account', submission_id: 'submissionId', read: 'read', id: 'id' },
  topic: 'reads',
  // The limit on `due_at` lets the database use the index. The limit excludes no claimed row, because no lease is
  // longer than `LONGEST_LEASE_MS`.
  claimed: (tx) => sql`account in ${distinctIn('sync_reads', 'account')}
    and rank in (${sql.join(Object.values(rank).map((one) => sql.lit(one)))}) and due_at <= ${dbTime(tx, LONGEST_LEASE_MS)}`,
})

/** @returns whether a read is due. Call this before `claimReads`, to avoid a write transaction that claims nothing. */
export async function isReadDue(q: Query, { account, rank: which = rank.live, without }: ClaimQuery<ReadKind>): Promise<boolean> {
  const isOf = sql`account = ${account} and rank = ${sql.lit(which)} ${notOf(without)}`
  return await q.exists(sql`select 1 from sync_reads where ${isOf} and due_at <= ${dbTime(q)} limit 1`)
}

/** Claims reads, the longest due first. Each claimed read gets a new read number. */
export async function claimReads<R extends ReadKind = OwnRead>(db: Db, query: ClaimQuery<R>): Promise<ReadClaim<R>[]> {
  const leaseToken = newLeaseToken(db)
  const { id } = query
  const submissionIds = id === undefined ? query.submissionIds : ['']
  const ofKind = query.read === undefined ? sql`` : sql`and read = ${query.read}`
  const ofId = id === undefined ? sql`` : sql`and id = ${id} and due_at is not null`
  const ofSubmissions = submissionIds === undefined ? null : sql`submission_id in (${sql.join(submissionIds)}) ${ofKind} ${ofId}`
  const where = sql`account = ${query.account} and ${ofSubmissions ?? sql`rank = ${sql.lit(query.rank ?? rank.live)} ${notOf(query.without)}`}`
  const claim = async (tx: Tx): Promise<ReadClaim<R>[]> => {
    const selection = claimedReads.select(tx, { where, limit: query.limit, evenIfNotDue: ofSubmissions !== null })
    const set = sql`issued_no = ${nextReadNumber(tx)}, due_since = coalesce(due_since, due_at)`
    const claims = await claimedReads.claim(tx, leaseToken, selection, { leaseMs: query.leaseMs, set, returning: claimColumns(tx) })
    return claims.map((claim) => ({
      ...claim,
      read: claim.read as R,
      fullReadDue: Boolean(claim.fullReadDue),
      isFinal: Boolean(claim.isFinal),
    }))
  }
  return db.write('read-claim', claim, { relaxedDurability: true })
}

export interface PageProgress {
  /** The cursor after this page. Undefined keeps the stored cursor, as during a full re-read. */
  readonly cursor?: string
  readonly leaseMs: number
}

/**
 * Stores the progress of a feed read, in the transaction that applies a page, and renews the lease.
 * @throws LeaseLostError if this process lost the lease, or if a later feed read moved the cursor.
 */
export async function recordPage(tx: Tx, claim: ReadClaim, mark: PageProgress): Promise<void> {
  const { cursor, leaseMs } = mark
  const progress = sql`due_since = ${dbTime(tx)}`
  if (cursor === undefined) await claimedReads.renew(tx, claim, leaseMs, progress)
  else await claimedReads.renew(tx, claim, leaseMs, sql`${progress}, cursor = ${cursor}, cursor_no = ${claim.readNo}`, ownCursor(claim))
}

/** Condition: no later feed read has moved the cursor. */
function ownCursor({ readNo }: ReadClaim<ReadKind>): RawBuilder<unknown> {
  return sql`and cursor_no <= ${readNo}`
}

/** Clears a cursor that the service rejected. `refused_cursor` keeps the rejected cursor for diagnosis (trap 17). */
export async function refuseCursor(tx: Tx, claim: ReadClaim, leaseMs: number): Promise<void> {
  const set = sql`refused_cursor = cursor, cursor = null, cursor_no = ${claim.readNo}`
  await claimedReads.renew(tx, claim, leaseMs, set, ownCursor(claim))
}

export interface ReadSettlement {
  readonly rank: number
  readonly dueInMs: number
  readonly failures: number
  readonly notFound: number
  readonly stalledFeedReads: number
  readonly error: string | null
  /** The feed's last cursor. Undefined keeps the stored cursor. */
  readonly cursor?: string
  /** Whether the read succeeded. A feed read succeeds if it reaches the end of the feed. */
  readonly complete: boolean
  /** Whether the read found new data. */
  readonly changed: boolean
  /**
   * Set after a full re-read: ms until the next full re-read. If another full re-read was requested in the meantime,
   * the wait is capped at `FULL_READ_COALESCE_MS`.
   */
  readonly fullReadDueInMs?: number
  /** Set after a failed full re-read: minimum ms until the next full re-read. */
  readonly fullReadNotBeforeMs?: number
  /**
   * Requests a full re-read in this many ms. If a full re-read is already scheduled, its time stays, so that repeated
   * requests can't postpone it.
   */
  readonly requestFullReadInMs?: number
  /** Time of the last activity. Undefined keeps the stored time. */
  readonly activeAt?: TimeText
  /** Hash of the applied content; see `isSameAgain`. */
  readonly contentHash?: string
  /** For a read by id: whether the object is no longer expected to change. Undefined keeps the stored value. */
  readonly isFinal?: boolean
}

/**
 * Ends a claim, in the transaction that applied the last page. The read is due again after `dueInMs`. After a success,
 * the read is due no later than its next full re-read.
 * A read that was requested during its claim is due earlier: within seconds after a success, within 2 minutes after
 * "not found". After any other failure, the request doesn't shorten the backoff.
 * @throws LeaseLostError if this process lost the lease, or if a later feed read moved the cursor.
 */
export async function settleRead(tx: Tx, claim: ReadClaim<ReadKind>, s: ReadSettlement): Promise<void> {
  const now = dbTime(tx)
  const isNotFound = !s.complete && s.notFound > 0 && s.failures + s.stalledFeedReads === 0
  const woken = s.complete || isNotFound ? sql`request_no > ${claim.requestNo}` : sql`1 = 0`
  const [wakeDelayMs, wokenRank] = wokenAs(claim.read)
  const wokenInMs = Math.min(s.dueInMs, isNotFound ? LOOK_AGAIN_MS : wakeDelayMs)
  const fullReadDueAt = fullReadDue(tx, claim, s)
  const dueAt = s.complete
    ? least(tx, dbTime(tx, s.dueInMs), sql`coalesce(${fullReadDueAt}, ${dbTime(tx, s.dueInMs)})`)
    : dbTime(tx, s.dueInMs)
  const set = [
    sql`rank = case when ${woken} then ${sql.lit(isNotFound ? s.rank : wokenRank)} else ${s.rank} end`,
    sql`due_at = case when ${woken} then ${dbTime(tx, wokenInMs)} else ${dueAt} end`,
    sql`failures = ${s.failures}, not_found = ${s.notFound}, stalled_feed_reads = ${s.stalledFeedReads}, error = ${s.error === null ? null : storableText(s.error)}`,
    sql`full_read_due_at = ${fullReadDueAt}`,
    sql`due_since = null`,
  ]
  if (s.complete) set.push(sql`last_read_at = ${now}`)
  if (s.changed) set.push(sql`last_changed_at = ${now}`)
  if (s.cursor !== undefined) set.push(sql`cursor = ${s.cursor}, cursor_no = ${claim.readNo}`)
  if (s.fullReadDueInMs !== undefined) set.push(sql`last_full_read_at = ${now}`)
  if (s.activeAt !== undefined) set.push(sql`active_at = ${activity(tx, claim, s.activeAt)}`)
  if (s.isFinal !== undefined) set.push(sql`is_final = ${s.isFinal ? 1 : 0}`)
  if (s.contentHash !== undefined) set.push(hashColumns(s.contentHash, claim.readNo))
  await claimedReads.settle(tx, claim, sql.join(set), s.cursor === undefined ? undefined : ownCursor(claim))
}

/** @returns the delay in ms, and the rank, of a read that was requested during its claim. */
function wokenAs(read: ReadKind): readonly [delayMs: number, rank: number] {
  if (isIdRead(read)) return [DETAIL_WAKE_DELAY_MS, rank.byId]
  return isDetail(read) ? [DETAIL_WAKE_DELAY_MS, rank.routine] : [WAKE_DELAY_MS, rank.live]
}

/**
 * SQL for the time of the next full re-read. A request that arrives during a full re-read makes another full re-read
 * due soon. The full re-read in progress may already have passed the requested records; see `requestFullRead`.
 */
function fullReadDue(tx: Tx, claim: ReadClaim<ReadKind>, s: ReadSettlement): RawBuilder<unknown> {
  if (s.requestFullReadInMs !== undefined) return sql`coalesce(full_read_due_at, ${dbTime(tx, s.requestFullReadInMs)})`
  if (s.fullReadNotBeforeMs !== undefined) {
    const earliest = dbTime(tx, s.fullReadNotBeforeMs)
    return sql`case when full_read_due_at < ${earliest} then ${earliest} else full_read_due_at end`
  }
  if (s.fullReadDueInMs === undefined) return sql`full_read_due_at`
  const asked = sql`full_read_due_at is distinct from ${timeValue(tx, claim.fullReadDueAt)}`
  return sql`case when ${asked} then ${dbTime(tx, Math.min(s.fullReadDueInMs, FULL_READ_COALESCE_MS))} else ${dbTime(tx, s.fullReadDueInMs)} end`
}

/**
 * SQL for the time of the last activity: `activeAt`. If a request stored a time during the feed read, keeps the stored
 * time, because that time is later than `activeAt`.
 */
function activity(tx: Tx, claim: ReadClaim<ReadKind>, activeAt: TimeText): RawBuilder<unknown> {
  return sql`case when active_at is distinct from ${timeValue(tx, claim.activeAt)} then active_at else ${timeValue(tx, activeAt)} end`
}

/** Releases a claim. The read is due immediately. */
export async function releaseRead(db: Db, claim: ReadClaim<ReadKind>): Promise<void> {
  await db.write('read-release', (tx) => claimedReads.release(tx, claim), { relaxedDurability: true })
}

function notOf(reads: readonly ReadKind[] = []): RawBuilder<unknown> {
  return reads.length === 0 ? sql`` : sql`and read not in (${sql.join(reads)})`
}

function claimColumns(tx: Tx) {
  return {
    namedFor: 'named_for',
    rank: 'rank',
    readNo: 'issued_no',
    requestNo: 'request_no',
    cursor: 'cursor',
    failures: 'failures',
    notFound: 'not_found',
    stalledFeedReads: 'stalled_feed_reads',
    activeAt: 'active_at',
    lastReadAt: 'last_read_at',
    lastFullReadAt: 'last_full_read_at',
    fullReadDueAt: 'full_read_due_at',
    fullReadDue: sql`full_read_due_at <= ${dbTime(tx)}`,
    changedAt: sql`coalesce(last_changed_at, first_seen_at)`,
    isFinal: 'is_final',
  }
}
