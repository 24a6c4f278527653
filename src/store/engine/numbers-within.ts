import { sql } from 'kysely'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from './db.ts'

/** A table whose row numbers grow with a time column. The time column has no index. */
interface Numbered {
  readonly table: 'sync_inbox' | 'sync_outbox'
  readonly number: 'inbox_id' | 'outbox_id'
  readonly time: 'received_at' | 'queued_at'
}

/** The search extends the span by this many ms (one day) at both ends. Clocks may differ, or may have been set back. */
const TOLERANCE_MS = 86_400_000
/** The binary search stops when this many numbers are left. Reading their rows is cheaper than further steps. */
const CLOSE = 500

export interface Span {
  readonly since?: TimeText | undefined
  readonly until?: TimeText | undefined
}

/**
 * Finds the row numbers of a time span by binary search. An index on the time would slow each insert.
 * @returns `from`: all rows of the span have this or a higher number; undefined without `since`. `to`: all rows of the
 * span have a lower number; undefined without `until`.
 */
export async function numbersWithin(q: Query, of: Numbered, { since, until }: Span): Promise<{ from?: number; to?: number }> {
  return {
    ...(since !== undefined && { from: (await around(q, of, shifted(since, -TOLERANCE_MS))).lower }),
    ...(until !== undefined && { to: (await around(q, of, shifted(until, TOLERANCE_MS))).upper }),
  }
}

/**
 * Searches for the first row at or after a time.
 * @returns the range of numbers from `lower` to `upper`, at most `CLOSE` apart, that contains the number of this row.
 */
async function around(q: Query, of: Numbered, time: TimeText): Promise<{ lower: number; upper: number }> {
  let lower = (await rowAt(q, of, 0))?.number ?? 0
  let upper = ((await lastNumber(q, of)) ?? 0) + 1
  while (upper - lower > CLOSE) {
    const middle = Math.floor((lower + upper) / 2)
    const row = await rowAt(q, of, middle)
    if (row === null || row.time >= time) upper = middle
    else lower = row.number + 1
  }
  return { lower, upper }
}

async function rowAt(q: Query, { table, number, time }: Numbered, from: number): Promise<{ number: number; time: TimeText } | null> {
  return await q.one(sql<{ number: number; time: TimeText }>`
    select ${sql.ref(number)} as number, ${sql.ref(time)} as time from ${sql.table(table)}
    where ${sql.ref(number)} >= ${from} order by ${sql.ref(number)} limit 1`)
}

async function lastNumber(q: Query, { table, number }: Numbered): Promise<number | null> {
  const row = await q.one(sql<{ number: number | null }>`select max(${sql.ref(number)}) as number from ${sql.table(table)}`)
  return row?.number ?? null
}

function shifted(time: TimeText, ms: number): TimeText {
  return timeFromMs(Math.max(0, msFromTime(time) + ms))
}
