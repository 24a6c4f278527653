import { type RawBuilder, sql } from 'kysely'
import type { Row } from '../../model/entity.ts'
import { type TimeText, timeFromMs } from '../../model/time.ts'
import type { Query } from './db.ts'

/** What `dbTime` needs: which database, and on SQLite whose clock. */
type Timed = Pick<Query, 'kind' | 'clock'>

/**
 * The database's clock, `plusMs` milliseconds from now, as a value for a statement (invariant 14). Processes on one
 * Postgres thus agree on leases whatever their own clocks say; SQLite has one machine and takes our clock.
 */
export function dbTime(q: Timed, plusMs = 0): RawBuilder<TimeText> {
  if (q.kind === 'sqlite') return sql<TimeText>`${timeFromMs(q.clock.now() + plusMs)}`
  return sql<TimeText>`(clock_timestamp() + ${plusMs}::float8 * interval '1 millisecond')`
}

/** A moment that we name ourselves, typed so that Postgres can compare it. */
export function timeValue<T extends TimeText | null>(q: Pick<Query, 'kind'>, time: T): RawBuilder<T> {
  return q.kind === 'sqlite' ? sql<T>`${time}` : sql<T>`${time}::timestamptz`
}

/**
 * Rows given as one parameter, to stand in a `from` clause under the name `given`, so that one statement serves any
 * number of them on both databases.
 * @param columns the columns' names, and whether each is `text` or `int`.
 */
export function valuesTable(
  q: Pick<Query, 'kind'>,
  columns: Readonly<Record<string, 'text' | 'int'>>,
  rows: readonly Row[],
): RawBuilder<unknown> {
  const json = JSON.stringify(rows)
  const names = Object.keys(columns)
  if (q.kind === 'sqlite') {
    const picked = names.map((name) => sql`value ->> ${sql.lit(name)} as ${sql.ref(name)}`)
    return sql`(select ${sql.join(picked)} from json_each(${json})) as given`
  }
  const typed = names.map((name) => sql`${sql.ref(name)} ${sql.raw(columns[name] === 'int' ? 'bigint' : 'text')}`)
  return sql`json_to_recordset(${json}::json) as given(${sql.join(typed)})`
}

/** `for update skip locked` where several processes claim from one table; SQLite has one writer at a time. */
export function skipLocked(q: Pick<Query, 'kind'>): RawBuilder<unknown> {
  return q.kind === 'sqlite' ? sql`` : sql`for update skip locked`
}

/**
 * A column by which SQLite shall look for no index, to be compared or ordered by. It has counted no rows, and takes every index for a good one:
 * by that of an account it would fetch nearly all rows of a table one by one, and sort them. Postgres has counted.
 */
export function unindexed(q: Pick<Query, 'kind'>, column: string): RawBuilder<unknown> {
  return q.kind === 'sqlite' ? sql`+${sql.ref(column)}` : sql.ref(column)
}

/** The accounts that a table has rows of, from one to the next by an index that begins with them: few, however many rows there are. */
export function accountsIn(table: string): RawBuilder<unknown> {
  const next = (behind: RawBuilder<unknown>) => sql`(select min(account) from ${sql.table(table)} ${behind})`
  return sql`(
    with recursive known(account) as (
      select ${next(sql``)} union all select ${next(sql`where account > known.account`)} from known where known.account is not null)
    select account from known where account is not null)`
}
