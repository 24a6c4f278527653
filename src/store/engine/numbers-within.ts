import { sql } from 'kysely'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from './db.ts'

/** A table whose numbers grow with a time that has no index of its own. */
interface Numbered {
  readonly table: 'sync_inbox' | 'sync_outbox'
  readonly number: 'inbox_id' | 'outbox_id'
  readonly time: 'received_at' | 'queued_at'
}

/** Tolerates clocks that differ or were set back by up to a day. */
const TOLERANCE_MS = 86_400_000
/** Reading this many rows is cheaper than further steps. */
const CLOSE = 500

export interface Span {
  readonly since?: TimeText | undefined
  readonly until?: TimeText | undefined
}

/**
 * Finds a span's rows by a binary search, because an index on the time would slow each insert. Without a limit, a number is undefined.
 * @returns `from`: no row of the span has a lower number; `to`: none has this or a higher one.
 */
export async function numbersWithin(q: Query, of: Numbered, { since, until }: Span): Promise<{ from?: number; to?: number }> {
  return {
    ...(since !== undefined && { from: (await around(q, of, shifted(since, -TOLERANCE_MS))).lower }),
    ...(until !== undefined && { to: (await around(q, of, shifted(until, TOLERANCE_MS))).upper }),
  }
}

/** Numbers, at most `CLOSE` apart, between which the rows reach this time. */
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
