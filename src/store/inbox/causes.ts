import { sql } from 'kysely'
import type { DeliveryName } from '../../base/observer.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'

/** How far the clock of a process may be from the database's, by which a delivery is settled. */
export const CLOCKS_APART_MS = 2_000
const MOST = 8

/** A change that a webhook made. */
export interface CausedChange {
  readonly account: string
  readonly submissionId: string
  readonly changedAt: TimeText
}

/**
 * The deliveries that may have made a change: those of its submission that were being worked when it was stored, the oldest first. No row notes
 * which of them it was.
 */
export async function deliveriesBehind(q: Query, { account, submissionId, changedAt }: CausedChange): Promise<DeliveryName[]> {
  const ms = msFromTime(changedAt)
  const [earliest, latest] = [timeFromMs(ms - CLOCKS_APART_MS), timeFromMs(ms + CLOCKS_APART_MS)]
  const { rows } = await sql<DeliveryName>`
    select account, delivery_id as "deliveryId" from sync_inbox
    where account = ${account} and submission_id = ${submissionId} and state in ('done', 'aside')
      and received_at <= ${timeValue(q, latest)} and settled_at >= ${timeValue(q, earliest)}
    order by inbox_id limit ${sql.lit(MOST)}`.execute(q.sql)
  return rows
}
