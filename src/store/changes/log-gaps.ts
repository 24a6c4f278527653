import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { reportedBefore } from '../reconcile/findings.ts'

/** Numbers without a row in the change log, from `first` to `last` inclusive. */
export interface LogGap {
  readonly first: number
  readonly last: number
}

/** The ends of the change log from `mirror_info`. */
export function logEnds(q: Query): Promise<{ first_seq: number; last_seq: number }> {
  return q.sql.selectFrom('mirror_info').select(['first_seq', 'last_seq']).where('id', '=', 1).executeTakeFirstOrThrow()
}

/**
 * Searches the next `limit` rows of the change log behind `after`, up to `lastSeq`, for gaps. Rows that retention removes meanwhile look like
 * gaps too.
 * @returns the gaps in order, and where to go on; null at the end.
 */
export async function findGaps(q: Query, after: number, lastSeq: number, limit: number): Promise<{ gaps: LogGap[]; next: number | null }> {
  const ranged = sql`from changes where seq > ${after} and seq <= ${lastSeq}`
  const { rows } = await sql<{ n: number; newest: number | null }>`
    select count(*) as n, max(seq) as newest from (select seq ${ranged} order by seq limit ${sql.lit(limit)}) as page`.execute(q.sql)
  const count = Number(rows[0]?.n ?? 0)
  const newest = Number(rows[0]?.newest ?? after)
  const isLast = count < limit
  const tail = isLast && newest < lastSeq ? [{ first: newest + 1, last: lastSeq }] : []
  const next = isLast ? null : newest
  if (newest - after === count) return { gaps: tail, next }
  const found = await sql<{ first: number; last: number }>`
    select earlier + 1 as first, seq - 1 as last
    from (select seq, lag(seq, 1, ${sql.lit(after)}) over (order by seq) as earlier ${ranged} and seq <= ${newest}) as pairs
    where seq > earlier + 1 order by seq`.execute(q.sql)
  return { gaps: [...found.rows.map(({ first, last }) => ({ first: Number(first), last: Number(last) })), ...tail], next }
}

/**
 * Whether another run, of any account, has reported a gap (`reportedBefore`). The reported one may begin earlier: retention may have removed
 * that part since.
 * @param gap null: whether one has reported more gaps than it listed.
 */
export async function isGapReported(q: Query, gap: LogGap | null, runId: string): Promise<boolean> {
  const firstOf = q.kind === 'sqlite' ? sql`json_extract(entity_id, '$[0]')` : sql`(entity_id::json ->> 0)::bigint`
  const same = gap === null ? sql`seq is null` : sql`seq = ${gap.last} and case when kind = 'lost' then ${firstOf} end <= ${gap.first}`
  const { rows } = await sql`
    select 1 from reconcile_findings where kind = 'lost' and ${same} and ${reportedBefore(q, runId)} limit 1`.execute(q.sql)
  return rows.length > 0
}
