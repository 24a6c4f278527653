import { type RawBuilder, sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { least } from '../engine/sql.ts'

/** The oldest change number that a push may still need; if none, `MAX_SAFE_INTEGER`. */
export async function oldestNeeded(q: Query, destinations: readonly string[]): Promise<number> {
  const states = await q.sql.selectFrom('sync_destinations').select(['destination', 'cursor']).execute()
  let oldest = NONE
  for (const { destination, cursor } of states) {
    if (destinations.includes(destination)) oldest = Math.min(oldest, cursor + 1)
    // Resent changes are queued after newer changes.
    const resent = sql`coalesce((select min(seq) from sync_outbox
      where destination = ${destination} and ${sql.raw(RESENT)} and state in ('ready', 'dead', 'unknown')), ${sql.lit(NONE)})`
    // One statement, because two could both miss a row retried in between.
    oldest = Math.min(
      oldest,
      await q.count(sql`select ${least(q, resent, ...OPEN_ROWS.map((open) => oldestOpen(destination, open)))} as seq`),
    )
  }
  return oldest
}

/** The oldest change that a waiting row needs; 0 if too many rows before it are snapshots. */
function oldestOpen(destination: string, open: string): RawBuilder<unknown> {
  const waiting = sql`(
    select seq, snapshot from sync_outbox where destination = ${destination} and ${sql.raw(open)}
    order by outbox_id limit ${sql.lit(LOOKED_AT)}) as waiting`
  return sql`coalesce((select seq from ${waiting} where snapshot is null limit 1),
    case when (select count(*) from ${waiting}) < ${sql.lit(LOOKED_AT)} then ${sql.lit(NONE)} else 0 end)`
}

const NONE = Number.MAX_SAFE_INTEGER

/** Maximum rows to search. A snapshot pauses at half this number of undelivered rows, so its rows leave room for others. */
const LOOKED_AT = 20_000

/** Conditions on waiting rows. Each matches a partial index. Rows without their own content are in change log order. */
const OPEN_ROWS = ["state = 'ready'", ...['dead', 'unknown'].map(stopped)]

/** Matches the partial index on resent rows. */
export const RESENT = "resent is not null and state <> 'delivered'"

/** Matches the partial index on stopped rows. */
export function stopped(state: string): string {
  return `state = '${state}' and state in ('dead', 'unknown', 'skipped')`
}
