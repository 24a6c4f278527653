import { sql } from 'kysely'
import { storableText } from '../../model/json.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, TableSpec, Tx } from '../engine/db.ts'
import { isClaimedBy, LeaseLostError, newLeaseToken } from '../engine/leases.ts'
import { wake } from '../engine/notify.ts'
import { dbTime, skipLocked } from '../engine/sql.ts'
import type { InboxState } from '../schema/tables.ts'

/** A delivery that this process may work on until its lease ends. */
export interface ClaimedDelivery {
  readonly inboxId: number
  readonly account: string
  readonly deliveryId: string
  readonly receivedAt: TimeText
  readonly body: Buffer
  /** How often it was tried before. */
  readonly attempts: number
  readonly leaseToken: string
}

/** What became of a delivery. */
export interface Settlement {
  readonly delivery: ClaimedDelivery
  readonly state: InboxState
  /** The submission it was about, when that could be read. */
  readonly submissionId: string | null
  /** Its `type`, when that could be read. */
  readonly kind: string | null
  readonly error: string | null
  /** For `ready`: how long to wait before the next try. */
  readonly retryInMs?: number
}

const settled: TableSpec = {
  table: 'sync_inbox',
  // The lease is part of the key: a settle without it matches no row.
  key: ['inbox_id', 'lease_token'],
  columns: {
    inbox_id: 'int',
    lease_token: 'text',
    state: 'text',
    attempts: 'int',
    submission_id: 'text',
    kind: 'text',
    error: 'text',
    settled_at: 'time',
  },
}

interface ClaimedRow {
  readonly inbox_id: number
  readonly account: string
  readonly delivery_id: string
  readonly received_at: TimeText
  readonly body: Buffer | null
  readonly attempts: number
}

/**
 * Bodies of one claim: all of them are in memory together, several times over while they are applied, in one transaction, for which the
 * event loop stands still on SQLite. A megabyte takes some 60 ms.
 */
const CLAIM_BYTES = { sqlite: 512 << 10, postgres: 2 << 20 } as const

/**
 * Claims up to `limit` deliveries whose time has come, oldest first, and no more than `CLAIM_BYTES` of them; a larger body is claimed alone.
 * A claim is a lease: it moves `available_at` on, so that a claim whose process died becomes available again by itself.
 */
export async function claimDeliveries(db: Db, limit: number, leaseMs: number): Promise<ClaimedDelivery[]> {
  const leaseToken = newLeaseToken(db)
  const claim = async (tx: Tx): Promise<ClaimedRow[]> => {
    const { rows } = await sql<ClaimedRow>`
      update sync_inbox set lease_token = ${leaseToken}, available_at = ${dbTime(tx, leaseMs)}
      where inbox_id in (
        select inbox_id from (
          select inbox_id, row_number() over oldest as position, sum(bytes) over oldest as bytes
          from (
            select inbox_id, available_at, coalesce(length(body), 0) as bytes
            from sync_inbox where state = 'ready' and available_at <= ${dbTime(tx)}
            order by available_at, inbox_id limit ${sql.lit(limit)} ${skipLocked(tx)}) as due
          window oldest as (order by available_at, inbox_id)) as measured
        where position = 1 or bytes <= ${sql.lit(CLAIM_BYTES[tx.kind])})
      returning inbox_id, account, delivery_id, received_at, body, attempts`.execute(tx.sql)
    return rows
  }
  const rows = await db.write('inbox-claim', claim, { relaxedDurability: true })
  return rows
    .map((row) => ({
      inboxId: row.inbox_id,
      account: row.account,
      deliveryId: row.delivery_id,
      receivedAt: row.received_at,
      body: row.body ?? Buffer.alloc(0),
      attempts: row.attempts,
      leaseToken,
    }))
    .sort((a, b) => a.inboxId - b.inboxId)
}

/**
 * Marks what became of deliveries, in the transaction that applied them.
 * @throws LeaseLostError when one of them is no longer ours: then nothing of the transaction may stand.
 */
export async function settleDeliveries(tx: Tx, settlements: readonly Settlement[]): Promise<void> {
  const now = timeFromMs(tx.clock.now())
  const rows = settlements.map((s) => ({
    inbox_id: s.delivery.inboxId,
    lease_token: s.delivery.leaseToken,
    state: s.state,
    attempts: s.delivery.attempts + 1,
    submission_id: s.submissionId,
    // Both may repeat what a body said, which may hold what Postgres refuses (trap 72).
    kind: s.kind === null ? null : storableText(s.kind),
    error: s.error === null ? null : storableText(s.error),
    settled_at: s.state === 'ready' ? null : now,
  }))
  const columns = ['state', 'attempts', 'submission_id', 'kind', 'error', 'settled_at']
  const matched = await tx.updateMany(settled, columns, rows)
  if (matched !== rows.length) throw new LeaseLostError(`deliveries ${settlements.map((s) => s.delivery.deliveryId).join(', ')}`)
  for (const { delivery, state, retryInMs = 0 } of settlements) {
    // Few are set back, and mostly one by one.
    if (state === 'ready') await setAvailable(tx, delivery.inboxId, retryInMs)
  }
}

/** By the database's clock, which says when it may be claimed (invariant 14). Its lease ends, so that no release takes the wait away. */
async function setAvailable(tx: Tx, inboxId: number, inMs: number): Promise<void> {
  await tx.sql
    .updateTable('sync_inbox')
    .set({ available_at: dbTime(tx, inMs), lease_token: null })
    .where('inbox_id', '=', inboxId)
    .execute()
}

/** Gives claimed deliveries of one claim back at once, untried, but for those that are settled: for a database that was away. */
export async function releaseDeliveries(db: Db, deliveries: readonly ClaimedDelivery[]): Promise<void> {
  const ids = deliveries.map((delivery) => delivery.inboxId)
  const token = deliveries[0]?.leaseToken
  if (token === undefined) return
  await db.write('inbox-release', (tx) =>
    tx.sql
      .updateTable('sync_inbox')
      .set({ available_at: dbTime(tx), lease_token: null })
      .where('inbox_id', 'in', ids)
      .where('lease_token', '=', token)
      .where('state', '=', 'ready')
      .execute(),
  )
}

/** Gives back, at once and untried, whatever is claimed: for a process that knows that no other one works. */
export async function releaseAllDeliveries(db: Db): Promise<void> {
  await db.write('inbox-release', (tx) => releaseAll(tx).execute())
}

/** The same of what one process has claimed, for whoever knows that it is dead. @returns how many. */
export async function releaseDeliveriesOf(tx: Tx, processId: string): Promise<number> {
  const { numUpdatedRows } = await releaseAll(tx).where(isClaimedBy(processId)).executeTakeFirstOrThrow()
  if (numUpdatedRows > 0) wake(tx, 'inbox')
  return Number(numUpdatedRows)
}

function releaseAll(tx: Tx) {
  return (
    tx.sql
      .updateTable('sync_inbox')
      .set({ available_at: dbTime(tx), lease_token: null })
      .where('state', '=', 'ready')
      // Few, whatever the backlog: a claim that has ended needs no giving back.
      .where('available_at', '>', dbTime(tx))
      .where('lease_token', 'is not', null)
  )
}
