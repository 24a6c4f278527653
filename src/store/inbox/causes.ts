import { sql } from 'kysely'
import type { DeliveryName } from '../../base/observer.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'

/** Assumed maximum difference in ms between the clocks of processes and the database. */
export const CLOCKS_APART_MS = 2_000
const MOST = 8

/** A change that a webhook made. */
export interface CausedChange {
  readonly account: string
  readonly submissionId: string
  readonly changedAt: TimeText
}

/** @property secret position of the webhook secret that verified it, from 1. */
type CausingDelivery = DeliveryName & { readonly receivedAt: TimeText; readonly secret: number }

/**
 * Deliveries that may have caused a change: deliveries of its submission in processing when the change was stored, oldest first. The exact
 * one isn't recorded. @param recordId if the bodies of some contain it, only these.
 */
export async function deliveriesBehind(
  q: Query,
  { account, submissionId, changedAt }: CausedChange,
  recordId?: string,
): Promise<CausingDelivery[]> {
  const ms = msFromTime(changedAt)
  const [earliest, latest] = [timeFromMs(ms - CLOCKS_APART_MS), timeFromMs(ms + CLOCKS_APART_MS)]
  const bytes = Buffer.from(recordId ?? '')
  const has = recordId === undefined ? sql`0` : q.kind === 'sqlite' ? sql`instr(body, ${bytes})` : sql`position(${bytes}::bytea in body)`
  const rows = await q.all(sql<CausingDelivery & { has: number | null }>`
    select account, delivery_id as "deliveryId", received_at as "receivedAt", secret, ${has} as has from sync_inbox
    where account = ${account} and submission_id = ${submissionId} and state in ('done', 'aside')
      and received_at <= ${timeValue(q, latest)} and settled_at >= ${timeValue(q, earliest)}
    order by inbox_id limit ${sql.lit(MOST)}`)
  const naming = rows.filter((row) => (row.has ?? 0) > 0)
  return (naming.length > 0 ? naming : rows).map(({ has: _, ...delivery }) => delivery)
}
