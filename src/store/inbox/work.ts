import { sql } from 'kysely'
import { LeaseLostError } from '../../base/errors.ts'
import { storableText } from '../../model/json.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Tx } from '../engine/db.ts'
import { Leased, newLeaseToken } from '../engine/leased.ts'
import { dbTime, skipLocked } from '../engine/sql.ts'
import { purgedAmong } from '../reads/purged.ts'
import { type InboxState, syncInbox } from '../schema/inbox.ts'
import { specOf } from '../schema/table.ts'

/** A delivery that this process may work on until its lease ends. */
export interface ClaimedDelivery {
  readonly inboxId: number
  readonly account: string
  readonly deliveryId: string
  readonly receivedAt: TimeText
  readonly body: Buffer
  /** Number of earlier attempts. */
  readonly attempts: number
  /** For a replayed delivery: when it was settled before the replay. null if the delivery was never settled. */
  readonly settledAt: TimeText | null
  readonly leaseToken: string
}

/** Outcome of an attempt to apply a delivery. */
export interface Settlement {
  readonly delivery: ClaimedDelivery
  readonly state: InboxState
  /** The submission that the delivery is about; null if unknown. */
  readonly submissionId: string | null
  /** The delivery's `type`; null if unreadable. */
  readonly kind: string | null
  readonly error: string | null
  /** Short description of the content; undefined if unreadable. */
  readonly what?: string
  /** For state `ready`: delay in ms before the next attempt. */
  readonly retryInMs?: number
  /**
   * true: removes the stored body and headers. For `doctor`'s test deliveries, and deliveries of purged submissions.
   */
  readonly isEmptied?: boolean
}

export const claimedDeliveries = new Leased<ClaimedDelivery>({
  table: 'sync_inbox',
  what: 'delivery',
  key: { inbox_id: 'inboxId' },
  due: 'available_at',
  topic: 'inbox',
  claimed: () => sql`state = 'ready'`,
})

// The lease token is part of the key, so settling a delivery after its lease was lost matches no row.
const leased = { ...specOf(syncInbox), key: ['inbox_id', 'lease_token'] }

/**
 * Maximum body bytes per claim. All bodies of a claim are in memory at the same time. Applying a body copies the body
 * several times. On SQLite, applying blocks the event loop for about 60 ms per megabyte of bodies.
 */
const CLAIM_BYTES = { sqlite: 512 << 10, postgres: 2 << 20 } as const

/**
 * Claims up to `limit` due deliveries with at most `CLAIM_BYTES` of bodies, longest due first.
 * If the first body is larger than `CLAIM_BYTES`, claims only this delivery.
 */
export async function claimDeliveries(db: Db, limit: number, leaseMs: number): Promise<ClaimedDelivery[]> {
  const leaseToken = newLeaseToken(db)
  const claim = (tx: Tx) => {
    const due = sql`
      select inbox_id, available_at, coalesce(length(body), 0) as bytes
      from sync_inbox where state = 'ready' and available_at <= ${dbTime(tx)}
      order by available_at, inbox_id limit ${sql.lit(limit)} ${skipLocked(tx)}`
    const withinBytes = sql`
      select inbox_id from (
        select inbox_id, row_number() over oldest as position, sum(bytes) over oldest as bytes
        from (${due}) as due window oldest as (order by available_at, inbox_id)) as measured
      where position = 1 or bytes <= ${sql.lit(CLAIM_BYTES[tx.kind])}`
    const named = { deliveryId: 'delivery_id', receivedAt: 'received_at', settledAt: 'settled_at' }
    const returning = { account: 'account', body: 'body', attempts: 'attempts', ...named }
    return claimedDeliveries.claim(tx, leaseToken, withinBytes, { leaseMs, returning })
  }
  const claims = await db.write('inbox-claim', claim, { relaxedDurability: true })
  // `body` is null if retention or a purge removed the body of a processed delivery.
  return claims.map((claim) => ({ ...claim, body: claim.body ?? Buffer.alloc(0) })).sort((a, b) => a.inboxId - b.inboxId)
}

/**
 * Settles deliveries, in the transaction that applies them.
 * @throws LeaseLostError if a lease is lost. Roll back the transaction then.
 */
export async function settleDeliveries(tx: Tx, given: readonly Settlement[]): Promise<void> {
  const settlements: Settlement[] = []
  for (const each of given) settlements.push((await isUnreadOfPurged(tx, each)) ? { ...each, isEmptied: true } : each)
  const now = timeFromMs(tx.clock.now())
  const rows = settlements.map((s) => ({
    inbox_id: s.delivery.inboxId,
    lease_token: s.delivery.leaseToken,
    state: s.state,
    attempts: s.delivery.attempts + 1,
    submission_id: s.submissionId,
    // Text from a body may contain characters that Postgres rejects (trap 72).
    kind: s.kind === null ? null : storableText(s.kind),
    what: s.what === undefined || s.isEmptied ? null : storableText(s.what),
    error: s.error === null ? null : storableText(s.error),
    settled_at: s.state === 'ready' ? null : now,
  }))
  const columns = ['state', 'attempts', 'submission_id', 'kind', 'what', 'error', 'settled_at']
  const matched = await tx.updateMany(leased, columns, rows)
  if (matched !== rows.length) throw new LeaseLostError(`deliveries ${settlements.map((s) => s.delivery.deliveryId).join(', ')}`)
  await protectBodies(tx, settlements)
  for (const { delivery, state, retryInMs = 0 } of settlements) {
    // Ends the lease. Otherwise, `releaseLeftDeliveries` could make the delivery due before its retry delay ends.
    if (state === 'ready') await claimedDeliveries.release(tx, delivery, retryInMs)
  }
}

export function bodyPlace({ account, deliveryId }: Pick<ClaimedDelivery, 'account' | 'deliveryId'>) {
  return { account, table: 'sync_inbox', key: JSON.stringify([deliveryId]), column: 'body' }
}

/** True if a delivery is dead or set aside, and its body contains the id of a purged submission. */
async function isUnreadOfPurged(tx: Tx, { delivery: { account, body }, state, isEmptied }: Settlement): Promise<boolean> {
  if (isEmptied || (state !== 'dead' && state !== 'aside')) return false
  const ids = new Set(body.toString('latin1').toLowerCase().match(IDS))
  const keys = [...ids].map((submission_id) => ({ account, submission_id }))
  return (await purgedAmong(tx, keys)).size > 0
}

const IDS = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/**
 * Empties the bodies of settlements with `isEmptied`. In the other bodies, drops or encrypts tax ids.
 * Few bodies contain tax ids, so few rows are updated. Skips deliveries that will be retried.
 */
async function protectBodies(tx: Tx, settlements: readonly Settlement[]): Promise<void> {
  for (const { delivery, state, isEmptied } of settlements) {
    if (state === 'ready') continue
    if (isEmptied) {
      await tx.sql.updateTable('sync_inbox').set({ body: null, headers: '{}' }).where('inbox_id', '=', delivery.inboxId).execute()
      continue
    }
    const body = tx.protection.bytes(delivery.body, bodyPlace(delivery))
    if (body === delivery.body) continue
    await tx.sql.updateTable('sync_inbox').set({ body }).where('inbox_id', '=', delivery.inboxId).execute()
  }
}

/**
 * Releases this process's claims when a worker starts or recovers. A released claim doesn't count as an attempt.
 * On SQLite, releases all claims. Only one process claims deliveries there, so other claims are from killed processes.
 */
export async function releaseLeftDeliveries(db: Db): Promise<void> {
  await db.write('inbox-release', async (tx) => {
    if (tx.kind === 'sqlite') await claimedDeliveries.releaseAll(tx)
    else await claimedDeliveries.releaseOf(tx, db.processId)
  })
}
