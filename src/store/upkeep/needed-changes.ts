import { type RawBuilder, sql } from 'kysely'
import type { Query } from '../engine/db.ts'
import { least } from '../engine/sql.ts'

/**
 * Finds the oldest change that must stay in the change log, because a push may still need it.
 * @param destinations configured destinations. Cursors of other destinations don't count, but waiting rows of all
 * destinations do.
 * @returns the number of the change; `MAX_SAFE_INTEGER` if no push needs one.
 */
export async function oldestNeeded(q: Query, destinations: readonly string[]): Promise<number> {
  const states = await q.sql.selectFrom('sync_destinations').select(['destination', 'cursor']).execute()
  let oldest = NONE
  for (const { destination, cursor } of states) {
    if (destinations.includes(destination)) oldest = Math.min(oldest, cursor + 1)
    // A resent change is queued after newer changes. The query for waiting rows may therefore miss it.
    const resent = sql`coalesce((select min(seq) from sync_outbox
      where destination = ${destination} and ${sql.raw(RESENT)} and state in ('ready', 'dead', 'unknown')), ${sql.lit(NONE)})`
    // Use one statement. Two statements could both miss a row whose state a retry changes between them.
    oldest = Math.min(
      oldest,
      await q.count(sql`select ${least(q, resent, ...OPEN_ROWS.map((open) => oldestOpen(destination, open)))} as seq`),
    )
  }
  return oldest
}

/**
 * SQL for the number of the oldest change that the rows matching `open` need. Snapshot rows need no change. Only the
 * first `LOOKED_AT` rows are searched. If all of them are snapshot rows and more rows may follow, the number is 0, so
 * that no change is removed. If no row needs a change, the number is `NONE`.
 */
function oldestOpen(destination: string, open: string): RawBuilder<unknown> {
  const waiting = sql`(
    select seq, snapshot from sync_outbox where destination = ${destination} and ${sql.raw(open)}
    order by outbox_id limit ${sql.lit(LOOKED_AT)}) as waiting`
  return sql`coalesce((select seq from ${waiting} where snapshot is null limit 1),
    case when (select count(*) from ${waiting}) < ${sql.lit(LOOKED_AT)} then ${sql.lit(NONE)} else 0 end)`
}

const NONE = Number.MAX_SAFE_INTEGER

/**
 * Number of rows to search. A snapshot pauses when half this many of its rows are undelivered, so other rows
 * are found too.
 */
const LOOKED_AT = 20_000

/**
 * Conditions on rows that may still be sent, one for each partial index. By `outbox_id`, these rows are in the order of
 * the change log, except resent rows and snapshot rows.
 */
const OPEN_ROWS = ["state = 'ready'", ...['dead', 'unknown'].map(stopped)]

/** Condition of the partial index on rows that were resent. */
export const RESENT = "resent is not null and state <> 'delivered'"

/** Condition for rows in one stopped state: `dead`, `unknown`, or `skipped`. Uses the partial index on stopped rows. */
export function stopped(state: string): string {
  return `state = '${state}' and state in ('dead', 'unknown', 'skipped')`
}
