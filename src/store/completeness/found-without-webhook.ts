import { sql } from 'kysely'
import { msFromTime, type TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { timeValue } from '../engine/sql.ts'

/** How many of the newest records that a feed showed first are looked at: most of them were told of a little later. */
const LOOKED_AT = 1_000

/** Where a list of them goes on. */
export interface FoundPlace {
  readonly known_at: TimeText
  readonly record_id: string
}

/**
 * The newest events and messages of an account that a reading of the feeds found and no webhook has announced, the newest first. History that a
 * first reading found is none of them. A webhook may still come. `before_tracked`: it happened more than
 * `lostAfterMs` before its submission was tracked, so its webhook may have come to whoever was there before.
 * @param lostAfterMs the setting WEBHOOK_LOST_AFTER.
 * @template T the columns that are read.
 */
export async function foundWithoutWebhook<T>(q: Query, account: string, lostAfterMs: number, limit: number, after?: FoundPlace) {
  const at = after && timeValue(q, after.known_at)
  const isBehind = after ? sql`(seen.first_at < ${at} or (seen.first_at = ${at} and seen.record_id > ${after.record_id}))` : sql`1 = 1`
  const { rows } = await sql<T & FoundPlace & { readonly occurred_at: TimeText | null; readonly tracked_at: TimeText }>`
    select s.tracked_at, seen.account, seen.submission_id, s.insured_name, seen.entity, seen.record_id, coalesce(e.type, m.kind) as what, e.market_name,
      coalesce(e.occurred_at, m.occurred_at) as occurred_at, seen.first_at as known_at,
      case when replayed.way is null then coalesce(e.first_seen_via, m.first_seen_via) else 'replay' end as known_via
    from (select account, entity, submission_id, record_id, first_at from sync_arrivals
      where account = ${account} and way = 'feed' order by first_at desc limit ${LOOKED_AT}) as seen
    join submissions s on s.account = seen.account and s.submission_id = seen.submission_id
    left join market_events e on seen.entity = 'market_events' and e.account = seen.account and e.event_id = seen.record_id
      and e.submission_id = seen.submission_id
    left join thread_messages m on seen.entity = 'thread_messages' and m.account = seen.account and m.message_id = seen.record_id
      and m.submission_id = seen.submission_id
    left join sync_arrivals replayed on replayed.account = seen.account and replayed.entity = seen.entity
      and replayed.submission_id = seen.submission_id and replayed.record_id = seen.record_id and replayed.way = 'replay'
    where ${isBehind} and coalesce(e.first_seen_via, m.first_seen_via) <> 'backfill'
      and not exists (select 1 from sync_arrivals told where told.account = seen.account and told.entity = seen.entity
        and told.submission_id = seen.submission_id and told.record_id = seen.record_id and told.way = 'webhook')
    order by seen.first_at desc, seen.record_id limit ${limit}`.execute(q.sql)
  return rows.map(({ tracked_at, ...row }) => ({
    ...row,
    before_tracked: row.occurred_at !== null && msFromTime(row.occurred_at) < msFromTime(tracked_at) - lostAfterMs,
  }))
}
