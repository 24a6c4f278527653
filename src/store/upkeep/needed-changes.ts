import { sql } from 'kysely'
import type { Query } from '../engine/db.ts'

/** The oldest change number that somebody may still need; larger than any when nobody does. */
export async function oldestNeeded(q: Query, destinations: readonly string[]): Promise<number> {
  const states = await q.sql.selectFrom('sync_destinations').select(['destination', 'cursor']).execute()
  let oldest = Number.MAX_SAFE_INTEGER
  for (const { destination, cursor } of states) {
    if (destinations.includes(destination)) oldest = Math.min(oldest, cursor + 1)
    for (const open of OPEN_ROWS) oldest = Math.min(oldest, await oldestOpen(q, destination, open))
    // What is sent again stands behind younger changes.
    const { rows } = await sql<{ seq: number | null }>`
      select min(seq) as seq from sync_outbox
      where destination = ${destination} and ${sql.raw(RESENT)} and state in ('ready', 'dead', 'unknown')`.execute(q.sql)
    oldest = Math.min(oldest, Number(rows[0]?.seq ?? oldest))
  }
  return oldest
}

/** The oldest change that a waiting row needs. When too many rows in front have content of their own it is not known, and nothing may go. */
async function oldestOpen(q: Query, destination: string, open: string): Promise<number> {
  const waiting = sql`
    select seq, snapshot from sync_outbox where destination = ${destination} and ${sql.raw(open)} order by outbox_id limit ${sql.lit(LOOKED_AT)}`
  const { rows } = await sql<{ seq: number }>`select seq from (${waiting}) as waiting where snapshot is null limit 1`.execute(q.sql)
  const [first] = rows
  if (first !== undefined) return first.seq
  const counted = await sql<{ count: number }>`select count(*) as count from (${waiting}) as waiting`.execute(q.sql)
  return Number(counted.rows[0]?.count) < LOOKED_AT ? Number.MAX_SAFE_INTEGER : 0
}

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
