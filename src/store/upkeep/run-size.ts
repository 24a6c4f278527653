import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { oldestNeeded } from './needed-changes.ts'
import { isPassed } from './retention.ts'
import { lastUpkeep } from './upkeep.ts'

/** Tables from which retention removes the oldest rows. Rows are removed in the order of their numbers. */
const TABLES = {
  deliveries: { table: 'sync_inbox', number: 'inbox_id', time: 'received_at' },
  changes: { table: 'changes', number: 'seq', time: 'changed_at' },
} as const

export type RunTable = keyof typeof TABLES

/**
 * `rows`: number of rows that a retention run would remove. `of`: number of all rows. Both are estimated from row
 * numbers, which may have gaps.
 */
export interface RunSize {
  readonly rows: number
  readonly of: number
}

/**
 * Estimates how many rows retention would remove from a table. A binary search finds the first row that isn't older
 * than `before`, because newer rows have higher numbers.
 * @param destinations names of configured destinations.
 */
export async function sizeOfRun(q: Query, name: RunTable, before: TimeText, destinations: readonly string[]): Promise<RunSize> {
  const { table, number } = TABLES[name]
  const from = name === 'deliveries' ? ((await lastUpkeep(q, 'retention'))?.position ?? 0) : 0
  const ends = await q.one(sql<{ first: number | null; last: number | null }>`
    select (select min(${sql.ref(number)}) from ${sql.table(table)} where ${sql.ref(number)} > ${from}) as first,
      (select max(${sql.ref(number)}) from ${sql.table(table)}) as last`)
  if (ends?.first == null || ends.last == null) return { rows: 0, of: 0 }
  const [first, last] = [ends.first, ends.last]
  const end = await firstKept(q, name, first, last, before)
  const needed = name === 'changes' ? await oldestNeeded(q, destinations) : Number.POSITIVE_INFINITY
  return { rows: Math.max(0, Math.min(end, needed) - first), of: last - first + 1 }
}

/** @returns the number of the first row to keep; `last + 1` if no row is kept. */
async function firstKept(q: Query, name: RunTable, first: number, last: number, before: TimeText): Promise<number> {
  const { table, number, time } = TABLES[name]
  const old = sql`case when ${isPassed(q, time, before)} then 1 else 0 end`
  let [low, high] = [first, last + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const row = await q.one(sql<{ number: number; old: number }>`
      select ${sql.ref(number)} as number, ${old} as old from ${sql.table(table)}
      where ${sql.ref(number)} >= ${middle} order by ${sql.ref(number)} limit 1`)
    if (row === null) high = middle
    else if (row.old === 1) low = row.number + 1
    else high = middle
  }
  return low
}
