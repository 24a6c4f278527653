import { type RawBuilder, sql } from 'kysely'
import type { Query } from '../engine/db.ts'

/** Rows that a mark looks at: the newest, and as many of those that are worked on next. */
const ROWS = 300

/** One text each, which is another one when something of the kind changed. Changes far behind in the past may escape them. */
export interface Marks {
  readonly delivery: string
  readonly change: string
  readonly push: string
}

export async function readMarks(q: Query): Promise<Marks> {
  const { rows } = await sql<{ last_seq: number }>`select last_seq from mirror_info where id = 1`.execute(q.sql)
  return {
    delivery: await markOf(q, sql`inbox_id as id, state, attempts from sync_inbox`, sql`inbox_id desc`, sql`available_at, inbox_id`),
    change: String(rows[0]?.last_seq),
    push: await markOf(q, sql`outbox_id as id, state, attempts from sync_outbox`, sql`outbox_id desc`, sql`destination, outbox_id`),
  }
}

/** @param next the order of an index of the rows that are ready. */
async function markOf(q: Query, from: RawBuilder<unknown>, newest: RawBuilder<unknown>, next: RawBuilder<unknown>): Promise<string> {
  const { rows } = await sql<{ state: string; rows: number; ids: number; attempts: number }>`
    select state, count(*) as rows, sum(id) as ids, sum(attempts) as attempts from (
      select * from (select ${from} order by ${newest} limit ${sql.lit(ROWS)}) as newest
      union all
      select * from (select ${from} where state = 'ready' order by ${next} limit ${sql.lit(ROWS)}) as next
    ) as seen group by state order by state`.execute(q.sql)
  return JSON.stringify(rows)
}
