import { type RawBuilder, sql } from 'kysely'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Db, Query, TableSpec, Tx } from '../engine/db.ts'
import { dbTime, rowLock, timeValue } from '../engine/sql.ts'
import type { DueTimes, LongestWait, LongestWaits, WaitingRow } from './due-times.ts'

/** Rows that one step looks at, and that one transaction changes. */
const PAGE = 500
const MOST_CHANGED = 100
/** Differences between the clocks of machines pass by themselves. */
export const SLACK_MS = 60_000

/** Where the next step begins; null at the end. */
export type HealPosition = { readonly scope: number; readonly after: WaitingRow | null } | null

/** A step of one table. */
export interface HealStep {
  /** Rows whose times were brought back. */
  readonly healed: number
  readonly next: HealPosition
}

export const HEAL_START: HealPosition = { scope: 0, after: null }

/** The time of the database, which counts for everything that waits there (invariant 14). */
export async function databaseNowMs(q: Query): Promise<number> {
  if (q.kind === 'sqlite') return q.clock.now()
  const { now } = await q.sql.selectNoFrom(dbTime(q).as('now')).executeTakeFirstOrThrow()
  return msFromTime(now)
}

/**
 * Looks at the next rows of a table and brings back times that lie further ahead than any wait may take, as a clock that ran ahead leaves
 * them. Rows that need nothing cost no write.
 */
export async function healStep(db: Db, due: DueTimes, waits: LongestWaits, position: NonNullable<HealPosition>): Promise<HealStep> {
  const scopes = due.scopes?.(waits) ?? [sql`1 = 1`]
  const scope = scopes[position.scope]
  if (scope === undefined) return { healed: 0, next: null }
  const nowMs = await databaseNowMs(db.read)
  const rows = await page(db.read, due, scope, nowMs, position.after)
  const wrong = rows.filter((row) => newTimes(due, row, waits, nowMs, 0) !== null)
  let healed = 0
  for (let from = 0; from < wrong.length; from += MOST_CHANGED)
    healed += await bringBack(db, due, waits, wrong.slice(from, from + MOST_CHANGED))
  const last = rows.at(-1)
  const next =
    rows.length < PAGE || last === undefined ? { scope: position.scope + 1, after: null } : { scope: position.scope, after: last }
  return { healed, next: next.scope < scopes.length ? next : null }
}

/** Whether a read is due later than any read may be: its table is too large to be walked every minute. */
export async function isAnyReadTooFar(q: Query, accounts: readonly string[], longestMs: number): Promise<boolean> {
  for (const account of accounts) {
    const { rows } = await sql`
      select 1 from sync_reads where account = ${account} and rank in (0, 1, 2, 3) and due_at > ${dbTime(q, longestMs + SLACK_MS)} limit 1`.execute(
      q.sql,
    )
    if (rows.length > 0) return true
  }
  return false
}

async function page(q: Query, due: DueTimes, scope: RawBuilder<unknown>, nowMs: number, after: WaitingRow | null): Promise<WaitingRow[]> {
  const [first = ''] = Object.keys(due.columns)
  const order = due.walk === 'index' ? [first, ...due.key] : due.key
  const ahead = due.walk === 'index' ? sql`and t.${sql.ref(first)} > ${timeValue(q, timeFromMs(nowMs + SLACK_MS))}` : sql``
  const values = order.map((column) =>
    column in due.columns ? timeValue(q, after?.[column] as TimeText) : sql`${after?.[column] ?? null}`,
  )
  const behind = after === null ? sql`` : sql`and (${columnsOf(order)}) > (${sql.join(values)})`
  const { rows } = await sql<WaitingRow>`
    select ${fields(due)} from ${sql.table(due.table)} as t
    where ${scope} ${ahead} ${behind} order by ${columnsOf(order)} limit ${sql.lit(PAGE)}`.execute(q.sql)
  return rows
}

/** Reads the rows again, locked, since somebody may have settled them meanwhile. @returns how many were changed. */
function bringBack(db: Db, due: DueTimes, waits: LongestWaits, wrong: readonly WaitingRow[]): Promise<number> {
  return db.write('due-times', async (tx) => {
    const nowMs = await databaseNowMs(tx)
    const changed: Record<string, string | number | null>[] = []
    for (const row of wrong) {
      const current = await lock(tx, due, row)
      const times = current === null ? null : newTimes(due, current, waits, nowMs, tx.clock.random())
      if (current !== null && times !== null) changed.push({ ...pick(current, [...due.key, ...Object.keys(due.columns)]), ...times })
    }
    await tx.updateMany(specOf(due, wrong[0]), Object.keys(due.columns), changed)
    return changed.length
  })
}

async function lock(tx: Tx, due: DueTimes, row: WaitingRow): Promise<WaitingRow | null> {
  const same = due.key.map((column) => sql`t.${sql.ref(column)} = ${row[column] ?? null}`)
  const { rows } = await sql<WaitingRow>`
    select ${fields(due)} from ${sql.table(due.table)} as t where ${sql.join(same, sql` and `)} ${rowLock(tx, 'for update of t')}`.execute(
    tx.sql,
  )
  return rows[0] ?? null
}

/** @returns the times of a row that are to change; null when all are within their waits. */
function newTimes(
  { columns }: DueTimes,
  row: WaitingRow,
  waits: LongestWaits,
  nowMs: number,
  random: number,
): Record<string, TimeText | null> | null {
  const times: Record<string, TimeText | null> = {}
  for (const [column, longestOf] of Object.entries(columns)) {
    const time = row[column] as TimeText | null
    if (time === null || time === undefined) continue
    const longest = longestOf({ ...row, now_ms: nowMs }, waits)
    if (time > timeFromMs(nowMs + longest.ms + SLACK_MS)) times[column] = broughtBack(longest, nowMs, random)
  }
  return Object.keys(times).length === 0 ? null : times
}

function broughtBack({ ms, becomes }: LongestWait, nowMs: number, random: number): TimeText | null {
  switch (becomes) {
    case 'clear':
      return null
    case 'now':
      return timeFromMs(nowMs)
    case 'lease':
      return timeFromMs(nowMs + ms)
    case 'spread':
      return timeFromMs(nowMs + ms * random)
  }
}

function fields({ key, columns, others = [], extra }: DueTimes): RawBuilder<unknown> {
  const computed = extra === undefined ? sql`` : sql`, case when ${sql.raw(extra)} then 1 else 0 end as extra`
  return sql`${columnsOf([...key, ...Object.keys(columns), ...others])}${computed}`
}

function columnsOf(names: readonly string[]): RawBuilder<unknown> {
  return sql.join(names.map((name) => sql`t.${sql.ref(name)}`))
}

function specOf(due: DueTimes, row: WaitingRow | undefined): TableSpec {
  const keys = due.key.map((column) => [column, typeof row?.[column] === 'number' ? ('int' as const) : ('text' as const)] as const)
  const times = Object.keys(due.columns).map((column) => [column, 'time' as const] as const)
  return { table: due.table, key: due.key, columns: Object.fromEntries([...keys, ...times]) }
}

function pick(row: WaitingRow, names: readonly string[]): Record<string, string | number | null> {
  return Object.fromEntries(names.map((name) => [name, row[name] ?? null]))
}
