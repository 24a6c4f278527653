import { type RawBuilder, sql } from 'kysely'
import { columnsWhere, type Entity, isInChangeLog, type Row } from '../../model/entity.ts'
import type { Query } from './db.ts'

/** Position in a sorted list: the values of the sort columns in the row before the position. */
export type KeyPlace = readonly (string | number)[]

/**
 * Reads rows of a service table in key order, with the columns that the change log has.
 * @param of values of the first columns of the key or of an index. Only rows with these values are read; `{}`: all rows.
 * @param after the last row of the previous page, as values of the key columns that aren't in `of`;
 * null for the first page.
 */
export async function rowsInOrder(q: Query, entity: Entity, of: Row, after: KeyPlace | null, limit: number): Promise<Row[]> {
  const columns = columnsWhere(entity, isInChangeLog).map((column) => sql.ref(column))
  const order = entity.key.map((column) => sql.ref(column))
  const conditions = Object.entries(of).map(([column, value]) => sql`${sql.ref(column)} = ${value}`)
  if (after !== null) conditions.push(isBehind(q, entity, keyWithout(entity, of), after))
  const where = conditions.length === 0 ? sql`` : sql`where ${sql.join(conditions, sql` and `)}`
  return await q.all(sql<Row>`
    select ${sql.join(columns)} from ${sql.table(entity.table)} ${where} order by ${sql.join(order)} limit ${sql.lit(limit)}`)
}

/** The key columns that are not in `of`. */
export function keyWithout({ key }: Pick<Entity, 'key'>, of: Row): string[] {
  return key.filter((column) => !(column in of))
}

/**
 * SQL condition: a row comes after `place`. The order of texts depends on the database's collation, so only the
 * database can compare texts.
 * @param columns the sort columns, of kind text or integer.
 * @param row values of the sort columns to compare with `place`; default: the values of the current row.
 */
export function isBehind(
  q: Pick<Query, 'kind'>,
  { columns: kinds }: Pick<Entity, 'columns'>,
  columns: readonly string[],
  place: KeyPlace,
  row?: KeyPlace,
): RawBuilder<unknown> {
  const valuesOf = (values: KeyPlace) =>
    columns.map((column, index) => keyValue(q, kinds[column] === 'int' ? 'int' : 'text', values[index]))
  const before = row ? valuesOf(row) : columns.map((column) => sql.ref(column))
  return sql`(${sql.join(before)}) > (${sql.join(valuesOf(place))})`
}

function keyValue(q: Pick<Query, 'kind'>, kind: 'int' | 'text', value: string | number | undefined): RawBuilder<unknown> {
  const type = q.kind === 'sqlite' ? '' : kind === 'int' ? '::bigint' : '::text'
  return sql`${value ?? null}${sql.raw(type)}`
}
