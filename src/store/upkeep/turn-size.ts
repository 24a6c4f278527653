import { sql } from 'kysely'
import type { TimeText } from '../../model/time.ts'
import type { Query } from '../engine/db.ts'
import { oldestNeeded } from './needed-changes.ts'
import { isPassed } from './retention.ts'
import { lastUpkeep } from './upkeep.ts'

/** Tables of which a turn of retention removes the oldest rows, by their number. */
const TABLES = {
  deliveries: { table: 'sync_inbox', number: 'inbox_id', time: 'received_at' },
  changes: { table: 'changes', number: 'seq', time: 'changed_at' },
} as const

export type TurnTable = keyof typeof TABLES

/** About how many rows a turn would pass, of how many: by their numbers, which may have gaps. */
export interface TurnSize {
  readonly rows: number
  readonly of: number
}

/**
 * How much of a table is older than `before`, and so goes or is emptied. Found by some twenty lookups, since times follow the numbers nearly
 * always; no row is counted.
 * @param destinations those of the settings: changes that they have still to get stay.
 */
export async function sizeOfTurn(q: Query, name: TurnTable, before: TimeText, destinations: readonly string[]): Promise<TurnSize> {
  const { table, number } = TABLES[name]
  const from = name === 'deliveries' ? ((await lastUpkeep(q, 'retention'))?.position ?? 0) : 0
  const { rows } = await sql<{ first: number | null; last: number | null }>`
    select (select min(${sql.ref(number)}) from ${sql.table(table)} where ${sql.ref(number)} > ${from}) as first,
      (select max(${sql.ref(number)}) from ${sql.table(table)}) as last`.execute(q.sql)
  const [ends] = rows
  if (ends?.first == null || ends.last == null) return { rows: 0, of: 0 }
  const [first, last] = [Number(ends.first), Number(ends.last)]
  const end = await firstKept(q, name, first, last, before)
  const needed = name === 'changes' ? await oldestNeeded(q, destinations) : Number.POSITIVE_INFINITY
  return { rows: Math.max(0, Math.min(end, needed) - first), of: last - first + 1 }
}

/** @returns the number of the first row that is not passed; one more than the last when all are. */
async function firstKept(q: Query, name: TurnTable, first: number, last: number, before: TimeText): Promise<number> {
  const { table, number, time } = TABLES[name]
  const old = sql`case when ${isPassed(q, time, before)} then 1 else 0 end`
  let [low, high] = [first, last + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const { rows } = await sql<{ number: number; old: number }>`
      select ${sql.ref(number)} as number, ${old} as old from ${sql.table(table)}
      where ${sql.ref(number)} >= ${middle} order by ${sql.ref(number)} limit 1`.execute(q.sql)
    const [row] = rows
    if (row === undefined) high = middle
    else if (Number(row.old) === 1) low = Number(row.number) + 1
    else high = middle
  }
  return low
}
