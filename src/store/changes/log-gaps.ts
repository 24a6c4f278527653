import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { reportedBefore } from '../reconcile/findings.ts'

export interface LogGap {
  readonly first: number
  readonly last: number
}

/**
 * Finds missing numbers among the next `limit` rows of the change log, after number `after` and up to `lastSeq`.
 * @returns `gaps`: the missing ranges in order; `next`: the value of `after` for the next call, null at the end.
 */
export async function findGaps(q: Query, after: number, lastSeq: number, limit: number): Promise<{ gaps: LogGap[]; next: number | null }> {
  const ranged = sql`from changes where seq > ${after} and seq <= ${lastSeq}`
  const row = await q.one(sql<{ n: number; newest: number | null }>`
    select count(*) as n, max(seq) as newest from (select seq ${ranged} order by seq limit ${sql.lit(limit)}) as page`)
  const count = row?.n ?? 0
  const newest = row?.newest ?? after
  const isLast = count < limit
  const tail = isLast && newest < lastSeq ? [{ first: newest + 1, last: lastSeq }] : []
  const next = isLast ? null : newest
  if (newest - after === count) return { gaps: tail, next }
  const found = await q.all(sql<{ first: number; last: number }>`
    select earlier + 1 as first, seq - 1 as last
    from (select seq, lag(seq, 1, ${sql.lit(after)}) over (order by seq) as earlier ${ranged} and seq <= ${newest}) as pairs
    where seq > earlier + 1 order by seq`)
  return { gaps: [...found, ...tail], next }
}

/**
 * Checks if another reconcile run reported a gap that includes `gap` and ends at the same number.
 * @param gap null: checks if another run reported the number of gaps that have no finding of their own.
 */
export async function isGapReported(q: Query, gap: LogGap | null, runId: string): Promise<boolean> {
  const firstOf = q.kind === 'sqlite' ? sql`json_extract(entity_id, '$[0]')` : sql`(entity_id::json ->> 0)::bigint`
  const same = gap === null ? sql`seq is null` : sql`seq = ${gap.last} and case when kind = 'lost' then ${firstOf} end <= ${gap.first}`
  return await q.exists(sql`select 1 from reconcile_findings where kind = 'lost' and ${same} and ${reportedBefore(q, runId)} limit 1`)
}
