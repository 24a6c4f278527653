import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Db, Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import { requireWatch } from '../operators/alarms.ts'

/** Arrival of a delivery. */
export interface DeliveryTime {
  readonly inboxId: number
  readonly account: string
  readonly receivedAt: TimeText
}

/** What was learned about the arrival of an account's deliveries. */
export interface StoredRhythm {
  readonly account: string
  readonly lastAt: TimeText | null
  /** JSON text. */
  readonly learned: string
}

/** How many of the newest deliveries to learn from at first. */
const FIRST_LOOK = 5_000

/** Number of the newest delivery learned from. */
export async function learnedUpTo(q: Query): Promise<number> {
  const row = await q.sql.selectFrom('sync_alarm_watch').select('learned_up_to').where('id', '=', 1).executeTakeFirst()
  if (row?.learned_up_to != null) return row.learned_up_to
  const newest = await q.sql.selectFrom('sync_inbox').select('inbox_id').orderBy('inbox_id', 'desc').limit(1).executeTakeFirst()
  return Math.max(0, (newest?.inbox_id ?? 0) - FIRST_LOOK)
}

/**
 * Deliveries behind a number, in order, without their contents.
 * @param butFor leaves out deliveries of this `type`.
 */
export async function deliveriesAfter(q: Query, inboxId: number, limit: number, butFor: string): Promise<DeliveryTime[]> {
  const rows = await q.sql
    .selectFrom('sync_inbox')
    .select(['inbox_id', 'account', 'received_at'])
    .where('inbox_id', '>', inboxId)
    .where((eb) => eb.or([eb('kind', 'is', null), eb('kind', '<>', butFor)]))
    .orderBy('inbox_id')
    .limit(limit)
    .execute()
  return rows.map((row) => ({ inboxId: row.inbox_id, account: row.account, receivedAt: row.received_at }))
}

export async function listRhythms(q: Query): Promise<StoredRhythm[]> {
  const rows = await q.sql.selectFrom('sync_delivery_rhythm').selectAll().execute()
  return rows.map((row) => ({ account: row.account, lastAt: row.last_at, learned: row.learned }))
}

/**
 * Saves what was learned, and up to which delivery.
 * @throws LeaseLostError when another process evaluates alarms now; nothing is saved then.
 */
export async function storeRhythms(db: Db, token: string, upTo: number, rhythms: readonly StoredRhythm[]): Promise<void> {
  await db.write('alarm-learn', async (tx) => {
    await requireWatch(tx, token)
    for (const { account, lastAt, learned } of rhythms) {
      await sql`
        insert into sync_delivery_rhythm (account, last_at, learned) values (${account}, ${timeValue(tx, lastAt)}, ${learned})
        on conflict (account) do update set last_at = excluded.last_at, learned = excluded.learned`.execute(tx.sql)
    }
    await sql`update sync_alarm_watch set learned_up_to = ${upTo} where id = 1`.execute(tx.sql)
  })
}
