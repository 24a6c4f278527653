import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'

/** How many of the newest deliveries, of all accounts, are searched: no index serves. */
const SEARCHED = 1_000

export interface NewestDelivery {
  readonly receivedAt: TimeText
  /** Position, from 1, of the secret that verified it. */
  readonly secret: number
}

/**
 * The newest delivery of an account among the last thousand of all accounts; null when there is none.
 * @param butFor ignores deliveries of this `type`.
 */
export async function newestDelivery(q: Query, account: string, butFor: string): Promise<NewestDelivery | null> {
  const { rows } = await sql<{ received_at: TimeText; secret: number }>`
    select received_at, secret from (
      select inbox_id, account, kind, received_at, secret from sync_inbox order by inbox_id desc limit ${sql.lit(SEARCHED)}
    ) as newest
    where account = ${account} and coalesce(kind, '') <> ${butFor} order by inbox_id desc limit 1`.execute(q.sql)
  const [row] = rows
  return row ? { receivedAt: row.received_at, secret: row.secret } : null
}
