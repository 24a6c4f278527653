import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { reportedBefore } from '../reconcile/findings.ts'

/** Numbers of which the change log has no row: `first` to `last`, both among them. */
export interface LogGap {
  readonly first: number
  readonly last: number
}

/** Where the change log begins and ends, as `mirror_info` says. */
export function logEnds(q: Query): Promise<{ first_seq: number; last_seq: number }> {
  return q.sql.selectFrom('mirror_info').select(['first_seq', 'last_seq']).where('id', '=', 1).executeTakeFirstOrThrow()
}

/**
 * Looks at the next `limit` rows of the change log behind `after`, up to `lastSeq`, for numbers that are left out.
 * @returns the holes in their order, and where to go on; null at the end. What retention removes meanwhile looks like a hole, too.
 */
export async function findGaps(q: Query, after: number, lastSeq: number, limit: number): Promise<{ holes: LogGap[]; next: number | null }> {
  const ranged = sql`from changes where seq > ${after} and seq <= ${lastSeq}`
  const { rows } = await sql<{ n: number; newest: number | null }>`
    select count(*) as n, max(seq) as newest from (select seq ${ranged} order by seq limit ${sql.lit(limit)}) as page`.execute(q.sql)
  const count = Number(rows[0]?.n ?? 0)
  const newest = Number(rows[0]?.newest ?? after)
  const isLast = count < limit
  const tail = isLast && newest < lastSeq ? [{ first: newest + 1, last: lastSeq }] : []
  const next = isLast ? null : newest
  if (newest - after === count) return { holes: tail, next }
  const found = await sql<{ first: number; last: number }>`
    select earlier + 1 as first, seq - 1 as last
    from (select seq, lag(seq, 1, ${sql.lit(after)}) over (order by seq) as earlier ${ranged} and seq <= ${newest}) as pairs
    where seq > earlier + 1 order by seq`.execute(q.sql)
  return { holes: [...found.rows.map(({ first, last }) => ({ first: Number(first), last: Number(last) })), ...tail], next }
}

/**
 * Whether another run, of any account, has told of a hole before (`reportedBefore`): as a whole, for retention may have taken its beginning since.
 * @param hole null: whether one has told that there are more than it listed.
 */
export async function isGapReported(q: Query, hole: LogGap | null, runId: string): Promise<boolean> {
  const firstOf = q.kind === 'sqlite' ? sql`json_extract(entity_id, '$[0]')` : sql`(entity_id::json ->> 0)::bigint`
  const same = hole === null ? sql`seq is null` : sql`seq = ${hole.last} and case when kind = 'lost' then ${firstOf} end <= ${hole.first}`
  const { rows } = await sql`
    select 1 from reconcile_findings where kind = 'lost' and ${same} and ${reportedBefore(q, runId)} limit 1`.execute(q.sql)
  return rows.length > 0
}
