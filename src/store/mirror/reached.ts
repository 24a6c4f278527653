import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { isAnswered, itsLane, ofPush, readyAs } from '../schema/push-states.ts'

const COUNTS = ['delivered', 'waiting', 'unmapped', 'held', 'dead', 'unknown', 'skipped', 'not_queued', 'has', 'lacks', 'differs'] as const

type Key = { readonly account: string; readonly submission_id: string }

/**
 * How many changes of a submission every destination that was ever served here has, what became of the others, and what it answered when it was
 * last asked. What it took and retention has removed is left out, of the answers too.
 * @template T the columns that are read.
 */
export async function reachedOf<T>(q: Query, { account, submission_id }: Key): Promise<T[]> {
  const ready = (is: string) => sql`sum(case when o.state = 'ready' and ${sql.raw(is)} then 1 else 0 end)`
  const ended = (state: string) => sql`sum(case when o.state = ${sql.lit(state)} then 1 else 0 end)`
  const answered = (result: string) => sql`sum(case when result = ${sql.lit(result)} then 1 else 0 end)`
  const { rows } = await sql<T & Record<(typeof COUNTS)[number], unknown>>`
    select d.destination, coalesce(f.delivered, 0) as delivered, f.last_delivered_at, coalesce(f.waiting, 0) as waiting, f.oldest_waiting_at,
      coalesce(f.unmapped, 0) as unmapped, coalesce(f.held, 0) as held, coalesce(f.dead, 0) as dead, coalesce(f.unknown, 0) as unknown,
      coalesce(f.skipped, 0) as skipped, coalesce(v.has, 0) as has, coalesce(v.lacks, 0) as lacks, coalesce(v.differs, 0) as differs, v.verified_at,
      (select count(*) from changes c where c.account = ${account} and c.submission_id = ${submission_id} and c.seq > d.cursor) as not_queued
    from sync_destinations d
    left join (
      select o.destination, count(distinct case when o.state = 'delivered' then o.message_id end) as delivered,
        max(${sql.raw(ofPush.deliveredAt)}) as last_delivered_at,
        ${ready('l.blocked is null')} as waiting, min(case when o.state = 'ready' then o.queued_at end) as oldest_waiting_at,
        ${ready(readyAs.unmapped)} as unmapped, ${ready(readyAs.held)} as held,
        ${ended('dead')} as dead, ${ended('unknown')} as unknown, ${ended('skipped')} as skipped
      from sync_outbox o
      left join sync_push_lanes l on ${sql.raw(itsLane)}
      where o.account = ${account} and o.submission_id = ${submission_id}
        and o.state in ('ready', 'delivered', 'dead', 'unknown', 'skipped')
      group by o.destination) as f on f.destination = d.destination
    left join (
      select destination, min(verified_at) as verified_at, ${answered('has')} as has,
        sum(case when result = 'lacks' and repaired_at is null then 1 else 0 end) as lacks, ${answered('differs')} as differs
      from sync_push_verifications v where account = ${account} and submission_id = ${submission_id} and ${sql.raw(isAnswered)}
      group by destination) as v on v.destination = d.destination
    order by d.destination`.execute(q.sql)
  return rows.map((row) => ({ ...row, ...Object.fromEntries(COUNTS.map((name) => [name, Number(row[name])])) }))
}
