import { type RawBuilder, sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { least } from '../engine/sql.ts'

/** The oldest change number that somebody may still need; larger than any when nobody does. */
export async function oldestNeeded(q: Query, destinations: readonly string[]): Promise<number> {
  const states = await q.sql.selectFrom('sync_destinations').select(['destination', 'cursor']).execute()
  let oldest = NONE
  for (const { destination, cursor } of states) {
    if (destinations.includes(destination)) oldest = Math.min(oldest, cursor + 1)
    // Changes that are sent again come after newer changes in the outbox.
    const resent = sql`coalesce((select min(seq) from sync_outbox
      where destination = ${destination} and ${sql.raw(RESENT)} and state in ('ready', 'dead', 'unknown')), ${sql.lit(NONE)})`
    // In one statement: a row that is retried between two of them would be missed by both.
    const { rows } = await sql<{ seq: number }>`
      select ${least(q, resent, ...OPEN_ROWS.map((open) => oldestOpen(destination, open)))} as seq`.execute(q.sql)
    oldest = Math.min(oldest, Number(rows[0]?.seq))
  }
  return oldest
}

/** The oldest change that a waiting row needs; 0 if too many rows in front have their own content to find it. */
function oldestOpen(destination: string, open: string): RawBuilder<unknown> {
  const waiting = sql`(
    select seq, snapshot from sync_outbox where destination = ${destination} and ${sql.raw(open)}
    order by outbox_id limit ${sql.lit(LOOKED_AT)}) as waiting`
  return sql`coalesce((select seq from ${waiting} where snapshot is null limit 1),
    case when (select count(*) from ${waiting}) < ${sql.lit(LOOKED_AT)} then ${sql.lit(NONE)} else 0 end)`
}

/** Larger than the number of any change. */
const NONE = Number.MAX_SAFE_INTEGER

/** Waiting rows looked at. A snapshot that nobody takes stops at half as many. */
const LOOKED_AT = 20_000

/**
 * Conditions on rows that wait, each matching a partial index. Those without content of their own stand in the order of the change log, in
 * which it is read when they are sent.
 */
const OPEN_ROWS = ["state = 'ready'", ...['dead', 'unknown'].map(stopped)]

/** Matches the partial index. */
export const RESENT = "resent is not null and state <> 'delivered'"

/** Matches the partial index. */
export function stopped(state: string): string {
  return `state = '${state}' and state in ('dead', 'unknown', 'skipped')`
}
