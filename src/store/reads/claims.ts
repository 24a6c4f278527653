import { type RawBuilder, sql } from 'kysely'
import type { Place } from '../../model/facts.ts'
import { storableText } from '../../model/json.ts'
import { isDetail, type OwnRead, type ReadKind } from '../../model/reads.ts'
import type { TimeText } from '../../model/time.ts'
import type { Db, Tx } from '../engine/db.ts'
import { Leased, LONGEST_LEASE_MS, newLeaseToken } from '../engine/leased.ts'
import { dbTime, distinctIn, least, timeValue } from '../engine/sql.ts'
import { hashColumns } from './content-hashes.ts'
import { DETAIL_WAKE_DELAY_MS, LOOK_AGAIN_MS, nextReadNumber, REPLAY_COALESCE_MS, rank, WAKE_DELAY_MS } from './reads.ts'

/** A read that this process may carry out until its lease ends. */
export interface ReadClaim extends Place {
  readonly read: OwnRead
  readonly leaseToken: string
  /** Its rank when claimed; see `rank`. */
  readonly rank: number
  /** The number of this read. Later reads have greater ones (invariant 6). */
  readonly readNo: number
  readonly wakeNo: number
  readonly cursor: string | null
  readonly failures: number
  readonly notFound: number
  readonly stalledWalks: number
  readonly activeAt: TimeText | null
  readonly lastReadAt: TimeText | null
  readonly lastReplayAt: TimeText | null
  readonly replayDueAt: TimeText | null
  /** Whether a replay is due, by the database's clock. */
  readonly replayDue: boolean
}

/** Which reads to claim: those due of one rank, or those of given submissions. */
export interface ClaimQuery {
  readonly account: string
  readonly rank?: number
  /** Only reads of these submissions, due or not, except those another process is carrying out. */
  readonly submissionIds?: readonly string[]
  /** With `submissionIds`: only this kind of read. */
  readonly read?: OwnRead
  /** Without `submissionIds`: none of these kinds. */
  readonly without?: readonly ReadKind[]
  readonly limit: number
  readonly leaseMs: number
}

export const claimedReads = new Leased<ReadClaim>({
  table: 'sync_reads',
  what: 'read',
  key: { account: 'account', submission_id: 'submissionId', read: 'read' },
  topic: 'reads',
  // Claims end within the longest lease, so the index on `due_at` finds them.
  claimed: (tx) => sql`account in ${distinctIn('sync_reads', 'account')}
    and rank in (${sql.join(Object.values(rank).map((one) => sql.lit(one)))}) and due_at <= ${dbTime(tx, LONGEST_LEASE_MS)}`,
})

/** Claims reads, the longest due first. */
export async function claimReads(db: Db, query: ClaimQuery): Promise<ReadClaim[]> {
  const leaseToken = newLeaseToken(db)
  const ofKind = query.read === undefined ? sql`` : sql`and read = ${query.read}`
  const without = query.without ?? []
  const notOff = without.length === 0 ? sql`` : sql`and read not in (${sql.join(without)})`
  const ofSubmissions = query.submissionIds === undefined ? null : sql`submission_id in (${sql.join(query.submissionIds)}) ${ofKind}`
  const where = sql`account = ${query.account} and ${ofSubmissions ?? sql`rank = ${sql.lit(query.rank ?? rank.live)} ${notOff}`}`
  const claim = async (tx: Tx): Promise<ReadClaim[]> => {
    const selection = claimedReads.select(tx, { where, limit: query.limit, evenIfNotDue: ofSubmissions !== null })
    const set = sql`issued_no = ${nextReadNumber(tx)}, due_since = coalesce(due_since, due_at)`
    const claims = await claimedReads.claim(tx, leaseToken, selection, { leaseMs: query.leaseMs, set, returning: claimColumns(tx) })
    return claims.map((claim) => ({ ...claim, replayDue: Boolean(claim.replayDue) }))
  }
  return db.write('read-claim', claim, { relaxedDurability: true })
}

/** Progress of a read after a page that was not its last. */
export interface PageProgress {
  /** The cursor to resume from; undefined keeps the stored one (a replay). */
  readonly cursor?: string
  readonly leaseMs: number
}

/**
 * Records an applied page in the transaction that applied it, and renews the lease.
 * @throws LeaseLostError when the lease is lost, or a later walk has moved the cursor.
 */
export async function recordPage(tx: Tx, claim: ReadClaim, mark: PageProgress): Promise<void> {
  const { cursor, leaseMs } = mark
  const progress = sql`due_since = ${dbTime(tx)}`
  if (cursor === undefined) await claimedReads.renew(tx, claim, leaseMs, progress)
  else await claimedReads.renew(tx, claim, leaseMs, sql`${progress}, cursor = ${cursor}, cursor_no = ${claim.readNo}`, ownCursor(claim))
}

/** Only a later walk may have moved the cursor. */
function ownCursor({ readNo }: ReadClaim): RawBuilder<unknown> {
  return sql`and cursor_no <= ${readNo}`
}

/** Clears a refused cursor, keeping it in `refused_cursor` for diagnosis (trap 17). */
export async function refuseCursor(tx: Tx, claim: ReadClaim, leaseMs: number): Promise<void> {
  const set = sql`refused_cursor = cursor, cursor = null, cursor_no = ${claim.readNo}`
  await claimedReads.renew(tx, claim, leaseMs, set, ownCursor(claim))
}

/** How a read ended, and when it is due again. */
export interface ReadSettlement {
  readonly rank: number
  readonly dueInMs: number
  readonly failures: number
  readonly notFound: number
  readonly stalledWalks: number
  readonly error: string | null
  /** The cursor of the last page that had one; undefined keeps the stored one. */
  readonly cursor?: string
  /** The read reached the end. */
  readonly complete: boolean
  /** The read brought something new. */
  readonly changed: boolean
  /** Set after a complete replay: milliseconds until the next one. It comes sooner when one was requested meanwhile. */
  readonly replayDueInMs?: number
  /** Set after a failed replay: the next one is due no sooner than in so many milliseconds. */
  readonly replayNotBeforeMs?: number
  /** Requests a replay in so many milliseconds, unless one is requested already: repeated requests must not postpone it. */
  readonly requestReplayInMs?: number
  /** When something last moved; undefined keeps the stored time. */
  readonly activeAt?: TimeText
  /** Of what was applied; see `isSameAgain`. */
  readonly contentHash?: string
}

/**
 * Ends a claim, in the transaction that applied its last page. If the read was woken meanwhile and is complete, it is due again soon. An
 * incomplete read keeps its backoff, except one that got only "not found" (see `wakeReads`). A requested replay is never postponed, except
 * after failed attempts.
 * @throws LeaseLostError when the lease is lost.
 */
export async function settleRead(tx: Tx, claim: ReadClaim, s: ReadSettlement): Promise<void> {
  const now = dbTime(tx)
  const isNotFound = !s.complete && s.notFound > 0 && s.failures + s.stalledWalks === 0
  const woken = s.complete || isNotFound ? sql`wake_no > ${claim.wakeNo}` : sql`1 = 0`
  const [wakeDelayMs, wokenRank] = isDetail(claim.read) ? [DETAIL_WAKE_DELAY_MS, rank.routine] : [WAKE_DELAY_MS, rank.live]
  const wokenInMs = Math.min(s.dueInMs, isNotFound ? LOOK_AGAIN_MS : wakeDelayMs)
  const replayDueAt = replayDue(tx, claim, s)
  const dueAt = s.complete
    ? least(tx, dbTime(tx, s.dueInMs), sql`coalesce(${replayDueAt}, ${dbTime(tx, s.dueInMs)})`)
    : dbTime(tx, s.dueInMs)
  const set = [
    sql`rank = case when ${woken} then ${sql.lit(isNotFound ? s.rank : wokenRank)} else ${s.rank} end`,
    sql`due_at = case when ${woken} then ${dbTime(tx, wokenInMs)} else ${dueAt} end`,
    sql`failures = ${s.failures}, not_found = ${s.notFound}, stalled_walks = ${s.stalledWalks}, error = ${s.error === null ? null : storableText(s.error)}`,
    sql`replay_due_at = ${replayDueAt}`,
    sql`due_since = null`,
  ]
  if (s.complete) set.push(sql`last_read_at = ${now}`)
  if (s.changed) set.push(sql`last_changed_at = ${now}`)
  if (s.cursor !== undefined) set.push(sql`cursor = ${s.cursor}, cursor_no = ${claim.readNo}`)
  if (s.replayDueInMs !== undefined) set.push(sql`last_replay_at = ${now}`)
  if (s.activeAt !== undefined) set.push(sql`active_at = ${activity(tx, claim, s.activeAt)}`)
  if (s.contentHash !== undefined) set.push(hashColumns(s.contentHash, claim.readNo))
  await claimedReads.settle(tx, claim, sql.join(set), s.cursor === undefined ? undefined : ownCursor(claim))
}

/** A replay requested while this one ran may concern a part that it had already passed, so it stays due (see `requestReplay`). */
function replayDue(tx: Tx, claim: ReadClaim, s: ReadSettlement): RawBuilder<unknown> {
  if (s.requestReplayInMs !== undefined) return sql`coalesce(replay_due_at, ${dbTime(tx, s.requestReplayInMs)})`
  if (s.replayNotBeforeMs !== undefined) {
    const earliest = dbTime(tx, s.replayNotBeforeMs)
    return sql`case when replay_due_at < ${earliest} then ${earliest} else replay_due_at end`
  }
  if (s.replayDueInMs === undefined) return sql`replay_due_at`
  const asked = sql`replay_due_at is distinct from ${timeValue(tx, claim.replayDueAt)}`
  return sql`case when ${asked} then ${dbTime(tx, Math.min(s.replayDueInMs, REPLAY_COALESCE_MS))} else ${dbTime(tx, s.replayDueInMs)} end`
}

/** A wake during the walk is later than everything the walk saw. */
function activity(tx: Tx, claim: ReadClaim, activeAt: TimeText): RawBuilder<unknown> {
  return sql`case when active_at is distinct from ${timeValue(tx, claim.activeAt)} then active_at else ${timeValue(tx, activeAt)} end`
}

/** Releases a claim unchanged, due at once. */
export async function releaseRead(db: Db, claim: ReadClaim): Promise<void> {
  await db.write('read-release', (tx) => claimedReads.release(tx, claim), { relaxedDurability: true })
}

function claimColumns(tx: Tx) {
  return {
    rank: 'rank',
    readNo: 'issued_no',
    wakeNo: 'wake_no',
    cursor: 'cursor',
    failures: 'failures',
    notFound: 'not_found',
    stalledWalks: 'stalled_walks',
    activeAt: 'active_at',
    lastReadAt: 'last_read_at',
    lastReplayAt: 'last_replay_at',
    replayDueAt: 'replay_due_at',
    replayDue: sql`replay_due_at <= ${dbTime(tx)}`,
  }
}
