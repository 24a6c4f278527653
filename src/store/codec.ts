import { type ColumnKind, entities } from '../model/entities.ts'
import type { Json } from '../model/json.ts'

/** What better-sqlite3 binds. */
export type SqliteValue = string | number | bigint | Uint8Array | null

/** Turns a value of a row into what SQLite stores. */
export type Encode = (value: Json | undefined) => SqliteValue

/** Turns what SQLite stores into a value of a row. */
export type Decode = (value: SqliteValue) => Json

/** @returns how a column of `kind` is written to SQLite. */
export function encoderOf(kind: ColumnKind): Encode {
  if (kind === 'bool') return (value) => (value === null || value === undefined ? null : value ? 1 : 0)
  if (kind === 'json') return (value) => (value === null || value === undefined ? null : JSON.stringify(value))
  return plain
}

function plain(value: Json | undefined): SqliteValue {
  return (value ?? null) as SqliteValue
}

/** @returns how a column of `kind` is read from SQLite, or null when its value is taken as it is. */
export function decoderOf(kind: ColumnKind): Decode | null {
  if (kind === 'bool') return (value) => (value === null ? null : value !== 0)
  if (kind === 'json') return (value) => (value === null ? null : (JSON.parse(String(value)) as Json))
  return null
}

const publicKinds = new Map<string, ColumnKind>([
  ...entities.flatMap((entity) =>
    Object.entries(entity.columns).map(([column, kind]): [string, ColumnKind] => [`${entity.table}.${column}`, kind]),
  ),
  ['changes.before', 'json'],
  ['changes.after', 'json'],
  ['push_map.fields', 'json'],
  ['reconcile_runs.options', 'json'],
  ['reconcile_findings.fields', 'json'],
  ['reconcile_findings.standing', 'bool'],
  ['operator_actions.detail', 'json'],
])

/**
 * For statements that name no TableSpec: how SQLite's value of a table's column is read, so that booleans and JSON come out
 * as Postgres gives them.
 */
export function decoderOfColumn(table: string | null, column: string | null): Decode | null {
  const kind = publicKinds.get(`${table}.${column}`)
  return kind ? decoderOf(kind) : null
}

/**
 * A parameter of a statement that names no TableSpec, as SQLite can bind it: booleans become 0 and 1, lists and objects JSON text.
 * @throws TypeError for a Date, which knows no microseconds: times are TimeText.
 */
export function bindable(value: unknown): SqliteValue {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value === undefined || value === null) return null
  if (typeof value !== 'object') return value as SqliteValue
  if (value instanceof Uint8Array) return value
  if (value instanceof Date) throw new TypeError('Times are given to the store as TimeText, not as Date')
  return JSON.stringify(value)
}
