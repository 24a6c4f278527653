import { type RawBuilder, sql } from 'kysely'
import type { Json } from '../../model/json.ts'
import type { Query, Tx } from '../engine/db.ts'
import { decoderOf, decoderOfColumn, type SqliteValue } from '../schema/codec.ts'
import type { CopiedKind, CopiedTable } from './copied-tables.ts'

/** A value in the form that both databases return: times as TimeText, JSON parsed, `raw` columns as text. */
export type CopiedValue = Json | Buffer
export type CopiedRow = Readonly<Record<string, CopiedValue>>

/** Maximum parameters per statement. SQLite allows 32,766; Postgres allows 65,535. */
const MAX_PARAMETERS = 30_000

/**
 * Reads up to `limit` rows in key order.
 * @param after the key of the last row of the previous page; null for the first page.
 */
export async function readRows(q: Query, table: CopiedTable, after: CopiedRow | null, limit: number): Promise<CopiedRow[]> {
  const key = sql.join(table.key.map((column) => sql.ref(column)))
  const columns = sql.join(Object.keys(table.columns).map((column) => sql.ref(column)))
  const behind = after === null ? sql`` : sql`where (${key}) > (${sql.join(table.key.map((column) => sql`${after[column]}`))})`
  const rows = await q.all(sql<CopiedRow>`
    select ${columns} from ${sql.table(table.name)} ${behind} order by ${key} limit ${sql.lit(limit)}`)
  const late = q.kind === 'sqlite' ? lateDecoders(table) : []
  if (late.length === 0) return rows
  return rows.map((row) => ({
    ...row,
    ...Object.fromEntries(late.map(([column, decode]) => [column, decode(row[column] as SqliteValue)])),
  }))
}

/** Decoders for the JSON and boolean columns that SQLite queries don't decode automatically. */
function lateDecoders({ name, columns }: CopiedTable) {
  return Object.entries(columns).flatMap(([column, kind]) => {
    const isLate = (kind === 'json' || kind === 'bool') && decoderOfColumn(name, column) === null
    return isLate ? [[column, decoderOf(kind)] as const] : []
  })
}

export async function insertRows(tx: Tx, table: CopiedTable, rows: readonly CopiedRow[]): Promise<void> {
  const columns = Object.entries(table.columns)
  const names = sql.join(columns.map(([column]) => sql.ref(column)))
  const atOnce = Math.floor(MAX_PARAMETERS / columns.length)
  for (let from = 0; from < rows.length; from += atOnce) {
    const values = rows
      .slice(from, from + atOnce)
      .map((row) => sql`(${sql.join(columns.map(([column, kind]) => parameter(kind, row[column] ?? null)))})`)
    await tx.run(sql`insert into ${sql.table(table.name)} (${names}) values ${sql.join(values)}`)
  }
}

function parameter(kind: CopiedKind, value: CopiedValue): RawBuilder<unknown> {
  // Serializes JSON here. Otherwise, both drivers would pass a JSON string without quotes. The Postgres driver would
  // also pass a list as an SQL array.
  return sql`${kind === 'json' && value !== null ? JSON.stringify(value) : value}`
}

/**
 * Reads the last number that the identity column assigned, even if the row with this number was deleted.
 * @returns null if no number was assigned or the table has no identity column.
 */
export async function lastNumber(q: Query, { name, serial }: CopiedTable): Promise<number | null> {
  if (serial === null) return null
  const text =
    q.kind === 'sqlite'
      ? sql<{ last: number | null }>`select (select seq from sqlite_sequence where name = ${name}) as last`
      : sql<{ last: number | null }>`select pg_sequence_last_value(pg_get_serial_sequence(${name}, ${serial})) as last`
  // SQLite stores 0 if all inserts so far added no rows. No number was assigned then.
  return (await q.one(text))?.last || null
}

/** Sets the identity counter of a table to `last`. The next new row gets a greater number. */
export async function continueNumbers(tx: Tx, { name, serial }: CopiedTable, last: number | null): Promise<void> {
  if (serial === null || last === null) return
  if (tx.kind === 'postgres') await tx.run(sql`select setval(pg_get_serial_sequence(${name}, ${serial}), ${last}::bigint)`)
  else {
    await tx.run(sql`delete from sqlite_sequence where name = ${name}`)
    await tx.run(sql`insert into sqlite_sequence (name, seq) values (${name}, ${last})`)
  }
}
