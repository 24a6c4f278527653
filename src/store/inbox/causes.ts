import { sql } from 'kysely'
import type { DeliveryName } from '../../base/observer.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'

/** Assumed maximum difference between the clocks of processes and the database, in ms. */
export const CLOCKS_APART_MS = 2_000
const MOST = 8

/** A change that a webhook caused. */
export interface CausedChange {
  readonly account: string
  readonly submissionId: string
  readonly changedAt: TimeText
}

/**
 * Finds the oldest deliveries that may have caused a change, at most `MOST`. The database doesn't store which delivery
 * caused a change.
 * A delivery is a candidate if it belongs to the submission, was received before the change, and was settled after the
 * change. A clock difference of `CLOCKS_APART_MS` is tolerated.
 */
export async function deliveriesBehind(q: Query, { account, submissionId, changedAt }: CausedChange): Promise<DeliveryName[]> {
  const ms = msFromTime(changedAt)
  const [earliest, latest] = [timeFromMs(ms - CLOCKS_APART_MS), timeFromMs(ms + CLOCKS_APART_MS)]
  return await q.all(sql<DeliveryName>`
    select account, delivery_id as "deliveryId" from sync_inbox
    where account = ${account} and submission_id = ${submissionId} and state in ('done', 'aside')
      and received_at <= ${timeValue(q, latest)} and settled_at >= ${timeValue(q, earliest)}
    order by inbox_id limit ${sql.lit(MOST)}`)
}
