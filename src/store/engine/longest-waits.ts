import { type RawBuilder, sql } from 'kysely'
import type { Clock } from '../../base/clock.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query } from './db.ts'
import { dbTime, timeValue } from './sql.ts'

/** Rows that one step looks at, and that one transaction changes. */
const PAGE = 500
const MOST_CHANGED = 100
/** Differences between the clocks of machines pass by themselves. */
export const SLACK_MS = 60_000

/** A row: its key, its times, and the columns that its waits depend on. `now_ms`: the time of the database. */
export type WaitingRow = Readonly<Record<string, string | number | null>>

/**
 * How far ahead a time may lie. `lease`: somebody may be at work until then, so a time beyond is brought to the longest lease from now;
 * `spread`: to a moment within the longest wait, so that many rows do not come due together; `now`: to now; `clear`: to null.
 */
export interface LongestWait {
  readonly ms: number
  readonly becomes: 'lease' | 'spread' | 'now' | 'clear'
}

/** The longest legal wait of a row, by what the settings allow. */
export type LongestOf<Allowed> = (row: WaitingRow, allowed: Allowed) => LongestWait

/** The columns of one table that make something wait. */
export interface WaitingTimes<Allowed> {
  readonly table: string
  readonly key: readonly string[]
  readonly columns: Readonly<Record<string, LongestOf<Allowed>>>
  /** Other columns that the waits depend on. */
  readonly others?: readonly string[]
  /** An expression that they depend on, under the name `extra`. The row is `t`. */
  readonly extra?: string
  /** The condition of an index that has these rows in order of their one time: of a large table only those that lie ahead are looked at. */
  readonly indexed?: string
}

/** The time of the database, which counts for everything that waits there (invariant 14). */
export async function databaseNowMs(q: Query): Promise<number> {
  if (q.kind === 'sqlite') return q.clock.now()
  const { now } = await q.sql.selectNoFrom(dbTime(q).as('now')).executeTakeFirstOrThrow()
  return msFromTime(now)
}

/**
 * Brings back times that lie further ahead than any wait may take: those that a clock left that ran ahead, and those that longer settings left.
 * Walks the table a page at a time. Rows that need nothing cost no write.
 * @param pause comes before each further page; the walk ends when it answers false.
 * @returns how many rows were changed.
 */
export async function capWaits<Allowed>(
  db: Db,
  times: WaitingTimes<Allowed>,
  allowed: Allowed,
  pause: () => Promise<boolean>,
): Promise<number> {
  let changed = 0
  for (let after: WaitingRow | null = null; ; ) {
    const nowMs = await databaseNowMs(db.read)
    const rows: WaitingRow[] = await page(db.read, times, nowMs, after)
    const late = rows.flatMap((row) => {
      const earlier = earlierTimes(times, { ...row, now_ms: nowMs }, allowed, db.clock)
      return earlier.length === 0 ? [] : [{ row, earlier }]
    })
    for (let from = 0; from < late.length; from += MOST_CHANGED)
      changed += await bringBack(db, times, late.slice(from, from + MOST_CHANGED))
    after = rows.at(-1) ?? null
    if (rows.length < PAGE || !(await pause())) return changed
  }
}

async function page<T>(q: Query, times: WaitingTimes<T>, nowMs: number, after: WaitingRow | null): Promise<WaitingRow[]> {
  const { table, key, columns, others = [], extra, indexed } = times
  const [first = ''] = Object.keys(columns)
  const order = indexed === undefined ? key : [first, ...key]
  const ahead =
    indexed === undefined ? sql`` : sql`and ${sql.raw(indexed)} and t.${sql.ref(first)} > ${timeValue(q, timeFromMs(nowMs + SLACK_MS))}`
  const values = order.map((column) => (column in columns ? timeValue(q, after?.[column] as TimeText) : sql`${after?.[column] ?? null}`))
  const behind = after === null ? sql`` : sql`and (${refs(order)}) > (${sql.join(values)})`
  const computed = extra === undefined ? sql`` : sql`, case when ${sql.raw(extra)} then 1 else 0 end as extra`
  const { rows } = await sql<WaitingRow>`
    select ${refs([...key, ...Object.keys(columns), ...others])}${computed} from ${sql.table(table)} as t
    where 1 = 1 ${ahead} ${behind} order by ${refs(order)} limit ${sql.lit(PAGE)}`.execute(q.sql)
  return rows
}

type Earlier = readonly [column: string, was: TimeText, becomes: TimeText | null]

/** @returns the times of a row that are to change. */
function earlierTimes<T>({ columns }: WaitingTimes<T>, row: WaitingRow, allowed: T, clock: Clock): Earlier[] {
  const nowMs = Number(row['now_ms'])
  return Object.entries(columns).flatMap(([column, longestOf]): Earlier[] => {
    const time = row[column] as TimeText | null
    if (time === null) return []
    const { ms, becomes } = longestOf(row, allowed)
    if (time <= timeFromMs(nowMs + ms + SLACK_MS)) return []
    const waitMs = becomes === 'lease' ? ms : becomes === 'spread' ? ms * clock.random() : 0
    return [[column, time, becomes === 'clear' ? null : timeFromMs(nowMs + waitMs)]]
  })
}

/** A row that somebody has settled meanwhile has another time and is left alone. @returns how many were changed. */
function bringBack<T>(
  db: Db,
  { table, key }: WaitingTimes<T>,
  late: readonly { readonly row: WaitingRow; readonly earlier: readonly Earlier[] }[],
): Promise<number> {
  return db.write('due-times', async (tx) => {
    let changed = 0
    for (const { row, earlier } of late) {
      const set = earlier.map(([column, , becomes]) => sql`${sql.ref(column)} = ${timeValue(tx, becomes)}`)
      const isSame = [
        ...key.map((column) => sql`${sql.ref(column)} = ${row[column] ?? null}`),
        ...earlier.map(([column, was]) => sql`${sql.ref(column)} = ${timeValue(tx, was)}`),
      ]
      const { numAffectedRows } = await sql`
        update ${sql.table(table)} set ${sql.join(set)} where ${sql.join(isSame, sql` and `)}`.execute(tx.sql)
      changed += Number(numAffectedRows ?? 0)
    }
    return changed
  })
}

function refs(names: readonly string[]): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql`t.${sql.ref(name)}`))
}
