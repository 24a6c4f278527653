import { type RawBuilder, sql } from 'kysely'
import type { Row } from '../../model/entity.ts'
import { msFromTime, type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query, Tx } from './db.ts'

/** Default maximum of a count. If a count equals this value, there may be more rows. */
export const COUNT_CAP = 100_000

type Kind = Pick<Query, 'kind'>

/**
 * The current time plus `plusMs`, as an SQL value.
 * On Postgres, the time comes from the database's clock, so that all processes agree on leases.
 * On SQLite, the time comes from this process's clock.
 * Because of the subselect, Postgres evaluates the time once and can use an index.
 * Without the subselect, Postgres would evaluate `clock_timestamp()` for each row.
 */
export function dbTime(q: Pick<Query, 'kind' | 'clock'>, plusMs = 0): RawBuilder<TimeText> {
  if (q.kind === 'sqlite') return sql<TimeText>`${timeFromMs(q.clock.now() + plusMs)}`
  return sql<TimeText>`(select ${timePlus(q, sql`clock_timestamp()`, plusMs)})`
}

/** Current database time in ms since the Unix epoch. */
export async function databaseNowMs(q: Query): Promise<number> {
  if (q.kind === 'sqlite') return q.clock.now()
  const { now } = await q.sql.selectNoFrom(dbTime(q).as('now')).executeTakeFirstOrThrow()
  return msFromTime(now)
}

/** SQL: a time plus milliseconds. */
export function timePlus(q: Kind, time: RawBuilder<unknown>, ms: RawBuilder<unknown> | number): RawBuilder<TimeText> {
  const plus = sql`(${ms})`
  if (q.kind === 'sqlite') return sql<TimeText>`strftime('%Y-%m-%dT%H:%M:%f000Z', ${time}, (${plus} / 1000.0) || ' seconds')`
  return sql<TimeText>`(${time} + ${plus}::float8 * interval '1 millisecond')`
}

/** A time as an SQL value. Because of the cast, Postgres can compare the value with a time column. */
export function timeValue<T extends TimeText | null>(q: Kind, time: T): RawBuilder<T> {
  return q.kind === 'sqlite' ? sql<T>`${time}` : sql<T>`${time}::timestamptz`
}

/**
 * SQL: the given rows as table `given`, for a `from` clause.
 * All rows are one JSON parameter, so one statement takes any number of rows on both databases.
 * @param columns the type of each column.
 */
export function valuesTable(q: Kind, columns: Readonly<Record<string, 'text' | 'int'>>, rows: readonly Row[]): RawBuilder<unknown> {
  const json = JSON.stringify(rows)
  const names = Object.keys(columns)
  if (q.kind === 'sqlite') {
    const picked = names.map((name) => sql`value ->> ${sql.lit(name)} as ${sql.ref(name)}`)
    return sql`(select ${sql.join(picked)} from json_each(${json})) as given`
  }
  const typed = names.map((name) => sql`${sql.ref(name)} ${sql.raw(columns[name] === 'int' ? 'bigint' : 'text collate "C"')}`)
  return sql`json_to_recordset(${json}::json) as given(${sql.join(typed)})`
}

/**
 * SQL: the smallest of several values. The values must not be null.
 * If a value is null, SQLite returns null, but Postgres ignores the value.
 */
export function least(q: Kind, ...values: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql`${sql.raw(q.kind === 'sqlite' ? 'min' : 'least')}(${sql.join(values)})`
}

/** SQL: the greatest of several values. The values must not be null (see `least`). */
export function greatest(q: Kind, ...values: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql`${sql.raw(q.kind === 'sqlite' ? 'max' : 'greatest')}(${sql.join(values)})`
}

/** SQL clause that locks the selected rows on Postgres. Empty on SQLite, which has one writer at a time. */
export function rowLock(q: Kind, clause: 'for update' | 'for update of l' | 'for update of t' | 'for share'): RawBuilder<unknown> {
  return q.kind === 'sqlite' ? sql`` : sql.raw(clause)
}

/** SQL clause that skips rows locked by concurrent claims. Empty on SQLite, which has one writer at a time. */
export function skipLocked(q: Kind): RawBuilder<unknown> {
  return q.kind === 'sqlite' ? sql`` : sql`for update skip locked`
}

/**
 * SQL of a column, in a form that prevents SQLite from using an index on the column.
 * SQLite doesn't know how many rows have a value. With an index on `account`, for example, SQLite might read and sort
 * nearly the whole table. Postgres has statistics and gets the plain column.
 */
export function unindexed(q: Kind, column: string): RawBuilder<unknown> {
  return q.kind === 'sqlite' ? sql`+${sql.ref(column)}` : sql.ref(column)
}

/** Deletes all rows except the `most` rows with the greatest values in `column`. */
export async function keepNewest(tx: Tx, table: string, column: string, most: number): Promise<void> {
  const [from, value] = [sql.table(table), sql.ref(column)]
  await tx.run(sql`
    delete from ${from} where ${value} <= (select ${value} from ${from} order by ${value} desc limit 1 offset ${sql.lit(most)})`)
}

export interface Distinct {
  /** SQL condition on the rows. Must contain an equality for each column that precedes `column` in the index. */
  readonly where?: RawBuilder<unknown>
  /** Only values greater than this value. */
  readonly after?: string
  readonly limit?: number
}

/**
 * SQL: distinct values of a column, in order.
 * Jumps from value to value in an index. The time depends on the number of values, not on the number of rows.
 */
export function distinctIn(table: string, column: string, { where = sql`1 = 1`, after, limit }: Distinct = {}): RawBuilder<unknown> {
  const next = (behind: RawBuilder<unknown>) => sql`(select min(${sql.ref(column)}) from ${sql.table(table)} where ${where} ${behind})`
  const isBehind = (value: RawBuilder<unknown>) => sql`and ${sql.ref(column)} > ${value}`
  return sql`(
    with recursive known(value, n) as (
      select ${next(after === undefined ? sql`` : isBehind(sql`${after}`))}, 1
      union all select ${next(isBehind(sql`known.value`))}, n + 1 from known
        where value is not null ${limit === undefined ? sql`` : sql`and n < ${sql.lit(limit)}`})
    select value from known where value is not null)`
}

/** A character that sorts after every character of an id. */
const AFTER_IDS = '\u{10ffff}'

/**
 * Finds distinct ids of a column that match a shortened id.
 * Needs an index on the column, or on the columns of `where` followed by this column.
 * @param shortened the beginning of an id, or `beginning…end`, as tables show long ids.
 */
export async function idsLike(
  q: Query,
  table: string,
  column: string,
  shortened: string,
  { where = sql`1 = 1`, limit }: { readonly where?: RawBuilder<unknown>; readonly limit: number },
): Promise<string[]> {
  const [beginning = '', end = ''] = shortened.split('…', 2)
  if (beginning === '') return []
  const id = sql.ref(column)
  const isLike = sql`${where} and ${id} >= ${beginning} and ${id} < ${beginning + AFTER_IDS}`
  const known = distinctIn(table, column, { where: isLike, limit: MOST_LOOKED })
  const ids = (await q.all(sql<{ value: string }>`select value from ${known} as ids`)).map(({ value }) => value)
  return ids.filter((value) => value.endsWith(end)).slice(0, limit)
}

/** Maximum ids to read with the given beginning. `idsLike` then compares the end of each id. */
const MOST_LOOKED = 200

/** Counts rows up to `cap`. @param from SQL after the word `from`. */
export async function countCapped(q: Query, from: RawBuilder<unknown>, cap = COUNT_CAP): Promise<number> {
  return await q.count(sql<{ n: number }>`
    select count(*) as n from (select 1 as one from ${from} limit ${sql.lit(cap)}) as capped`)
}

/**
 * SQL for rows with one value in the first column of an index, in the order of the next column.
 * Postgres assumes that such rows are evenly spread over the table.
 * With `=`, Postgres might search them in the order of the primary key, and read millions of other rows.
 * With a range condition, and with the column in the `order by`, Postgres can only use this index.
 * @returns `is`: the condition; `order`: the beginning of the `order by`.
 */
export function byFirstColumn(q: Kind, column: string, value: string, direction: 'asc' | 'desc' = 'asc') {
  const name = sql.ref(column)
  if (q.kind === 'sqlite') return { is: sql`${name} = ${value}`, order: sql`` }
  return { is: sql`${name} >= ${value} and ${name} <= ${value}`, order: sql`${name} ${sql.raw(direction)},` }
}
