import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import type { Newest } from './access.ts'

/** Summary of a submission's records that are not gone, from the tables. */
export async function newestOf(q: Query, account: string, submissionId: string): Promise<Newest> {
  const newest = (table: 'market_events' | 'thread_messages') =>
    q.sql
      .selectFrom(table)
      .select('occurred_at')
      .where('account', '=', account)
      .where('submission_id', '=', submissionId)
      .where('gone_at', 'is', null)
      .orderBy('occurred_at', 'desc')
      .limit(1)
      .executeTakeFirst()
  const eventAt: TimeText | null = (await newest('market_events'))?.occurred_at ?? null
  const messageAt: TimeText | null = (await newest('thread_messages'))?.occurred_at ?? null
  const { rows } = await sql<{ event_id: string }>`
    select event_id from (
      select event_id, row_number() over (partition by lane_id order by occurred_at desc, event_id desc) as place
      from market_events where account = ${account} and submission_id = ${submissionId} and lane_id is not null and gone_at is null) ranked
    where place = 1 order by event_id`.execute(q.sql)
  return { eventAt, messageAt, laneEvents: rows.map((row) => row.event_id) }
}
