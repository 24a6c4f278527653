import { sql } from 'kysely'
import { msFromTime, type TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'
import { isUnannounced } from '../operators/alarm-queries.ts'

/**
 * Maximum records to examine, newest first. Most of these records aren't listed, because their webhook arrived later.
 */
const LOOKED_AT = 1_000

/** Position in the list: the last record of the previous page. */
export interface FoundPlace {
  readonly known_at: TimeText
  readonly record_id: string
}

/**
 * Lists events and messages that a feed showed and no webhook announced, newest first. Leaves out backfill.
 * `before_tracked` is true if the record happened more than `lostAfterMs` before its submission was tracked. The
 * service may then have sent the webhook to another receiver.
 * @param lostAfterMs the setting WEBHOOK_LOST_AFTER, in ms.
 * @template T the selected columns, except those of `FoundPlace`.
 */
export async function foundWithoutWebhook<T>(q: Query, account: string, lostAfterMs: number, limit: number, after?: FoundPlace) {
  const at = after && timeValue(q, after.known_at)
  const isBehind = after ? sql`(seen.first_at < ${at} or (seen.first_at = ${at} and seen.record_id > ${after.record_id}))` : sql`1 = 1`
  const rows = await q.all(sql<T & FoundPlace & { readonly occurred_at: TimeText | null; readonly tracked_at: TimeText }>`
    select s.tracked_at, seen.account, seen.submission_id, s.insured_name, seen.entity, seen.record_id, coalesce(e.type, m.kind) as what, e.market_name,
      coalesce(e.occurred_at, m.occurred_at) as occurred_at, seen.first_at as known_at,
      case when reread.way is null then coalesce(e.first_seen_via, m.first_seen_via) else 'full_read' end as known_via
    from (select account, entity, submission_id, record_id, first_at from sync_arrivals
      where account = ${account} and way = 'feed' order by first_at desc limit ${LOOKED_AT}) as seen
    join submissions s on s.account = seen.account and s.submission_id = seen.submission_id
    left join market_events e on seen.entity = 'market_events' and e.account = seen.account and e.event_id = seen.record_id
      and e.submission_id = seen.submission_id
    left join thread_messages m on seen.entity = 'thread_messages' and m.account = seen.account and m.message_id = seen.record_id
      and m.submission_id = seen.submission_id
    left join sync_arrivals reread on reread.account = seen.account and reread.entity = seen.entity
      and reread.submission_id = seen.submission_id and reread.record_id = seen.record_id and reread.way = 'full_read'
    where ${isBehind} and coalesce(e.first_seen_via, m.first_seen_via) <> 'backfill' and ${isUnannounced}
    order by seen.first_at desc, seen.record_id limit ${limit}`)
  return rows.map(({ tracked_at, ...row }) => ({
    ...row,
    before_tracked: row.occurred_at !== null && msFromTime(row.occurred_at) < msFromTime(tracked_at) - lostAfterMs,
  }))
}
