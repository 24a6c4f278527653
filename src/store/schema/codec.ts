import type { ColumnKind } from '../../model/entity.ts'
import { type Json, parsedJson } from '../../model/json.ts'
import { internalTables, relations } from './tables.ts'

/** Values that better-sqlite3 accepts as statement parameters. */
export type SqliteValue = string | number | bigint | Uint8Array | null

export type Encode = (value: Json | undefined) => SqliteValue

export type Decode = (value: SqliteValue) => Json

export function encoderOf(kind: ColumnKind): Encode {
  if (kind === 'bool') return (value) => (value == null ? null : value ? 1 : 0)
  if (kind === 'json') return (value) => (value == null ? null : JSON.stringify(value))
  return (value) => (value ?? null) as SqliteValue
}

/**
 * @returns the decoder for columns of `kind`. The decoder never throws. A value of an unexpected type stays unchanged.
 */
export function decoderOf(kind: ColumnKind): Decode {
  if (kind === 'bool') return (value) => (value === 1 ? true : value === 0 ? false : (value as Json))
  if (kind === 'json') return (value) => (typeof value === 'string' ? jsonOrText(value) : (value as Json))
  return (value) => value as Json
}

function jsonOrText(text: string): Json {
  const value = parsedJson(text)
  return value === undefined ? text : value
}

/** Kinds of the columns that SQLite and Postgres store in different forms. Keys are `table.column`. */
const convertedKinds = new Map<string, ColumnKind>(
  [...relations, ...internalTables].flatMap(({ name, columns }) =>
    Object.entries(columns).flatMap(([column, { kind }]): [string, ColumnKind][] =>
      kind === 'json' || kind === 'bool' ? [[`${name}.${column}`, kind]] : [],
    ),
  ),
)

/**
 * Finds the decoder for a column of a statement without a TableSpec.
 * @returns the decoder, which gives the same values as Postgres. Null if the column's values need no decoder.
 */
export function decoderOfColumn(table: string | null, column: string | null): Decode | null {
  const kind = convertedKinds.get(`${table}.${column}`)
  return kind === undefined ? null : decoderOf(kind)
}

/**
 * Converts a parameter of a statement without a TableSpec: a boolean to 0 or 1, a list or object to JSON text.
 * @throws TypeError for a Date, because a Date has no microseconds. Pass a TimeText instead.
 */
export function bindable(value: unknown): SqliteValue {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value === undefined || value === null) return null
  if (typeof value !== 'object') return value as SqliteValue
  if (value instanceof Uint8Array) return value
  if (value instanceof Date) throw new TypeError('Times are given to the store as TimeText, not as Date')
  return JSON.stringify(value)
}
