import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'

/** Maximum ready deliveries to search, over all accounts. */
const WAITING = 1_000

/**
 * Finds the account's newest delivery that was received at or before `upTo`. Ignores deliveries of type `butFor`.
 * @returns when the delivery was received, and the 1-based position of the webhook secret that verified the delivery;
 * null if there is no such delivery.
 */
export async function newestDelivery(q: Query, account: string, butFor: string, upTo: TimeText) {
  const isSought = sql`account = ${account} and coalesce(kind, '') <> ${butFor} and received_at <= ${timeValue(q, upTo)}`
  const row = await q.one(sql<{ received_at: TimeText; secret: number }>`
    select received_at, secret from (
      select * from (select inbox_id, received_at, secret from sync_inbox where state <> 'ready' and ${isSought} order by inbox_id desc limit 1) as worked
      union all
      select inbox_id, received_at, secret from (
        select * from sync_inbox where state = 'ready' order by available_at desc limit ${sql.lit(WAITING)}) as waiting where ${isSought}
    ) as newest order by inbox_id desc limit 1`)
  return row && { receivedAt: row.received_at, secret: row.secret }
}
