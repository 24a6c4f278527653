import { damaged, damageOf, isDamaged, readableValue } from '../../model/damaged.ts'
import { entities } from '../../model/entities.ts'
import type { ColumnKind } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import { internalTables, relations } from './tables.ts'

/** Values that better-sqlite3 can bind. */
export type SqliteValue = string | number | bigint | Uint8Array | null

/** Encodes a row's value for SQLite. */
export type Encode = (value: Json | undefined) => SqliteValue

/** Decodes SQLite's value of a row. */
export type Decode = (value: SqliteValue) => Json

/** @returns the encoder for columns of `kind`. Damage that was read is written back unchanged. */
export function encoderOf(kind: ColumnKind): Encode {
  if (kind === 'bool') return (value) => (value == null ? null : isDamaged(value) ? plain(value) : value ? 1 : 0)
  if (kind === 'json') return (value) => (value == null ? null : isDamaged(value) ? plain(value) : JSON.stringify(value))
  return plain
}

function plain(value: Json | undefined): SqliteValue {
  const damage = damageOf(value)
  if (damage === null) return (value ?? null) as SqliteValue
  if (damage.kind === 'blob') return Buffer.from(damage.text, 'hex')
  return damage.kind === 'number' ? Number(damage.text) : damage.text
}

/** @returns the decoder for columns of `kind`. It never throws: a value that the kind cannot hold is read as damage (see damaged.ts). */
export function decoderOf(kind: ColumnKind): Decode {
  const rightOf = readers[kind]
  return (value) => {
    if (value === null) return null
    const right = rightOf(value)
    return right === undefined ? damageAt(value) : right
  }
}

const DATE = /^\d{4}-\d\d-\d\d$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

/** Decodes a stored value of each kind; undefined when it is invalid. */
const readers: Readonly<Record<ColumnKind, (value: SqliteValue) => Json | undefined>> = {
  text: textOf,
  raw: textOf,
  date: (value) => (typeof value === 'string' && DATE.test(value) ? value : undefined),
  time: (value) => (typeof value === 'string' && TIME.test(value) ? value : undefined),
  int: (value) => (Number.isSafeInteger(value) ? (value as number) : undefined),
  real: (value) => (typeof value === 'number' ? value : undefined),
  bool: (value) => (value === 1 ? true : value === 0 ? false : undefined),
  json: (value) => (typeof value === 'string' ? parsed(value) : undefined),
}

function textOf(value: SqliteValue): string | undefined {
  return typeof value === 'string' && !isDamaged(value) ? value : undefined
}

function parsed(text: string): Json | undefined {
  try {
    const value = JSON.parse(text) as Json
    return isDamaged(value) ? undefined : value
  } catch {
    return undefined
  }
}

function damageAt(value: NonNullable<SqliteValue>): string {
  if (typeof value === 'string') return damaged({ kind: 'text', text: value })
  if (value instanceof Uint8Array) return damaged({ kind: 'blob', text: Buffer.from(value).toString('hex') })
  return damaged({ kind: 'number', text: String(value) })
}

const mirrorKinds = new Map<string, ColumnKind>(
  entities.flatMap((entity) =>
    Object.entries(entity.columns).map(([column, kind]): [string, ColumnKind] => [`${entity.table}.${column}`, kind]),
  ),
)

/** Of the tables beside the mirror, what SQLite keeps in another form, and the numbers that somebody may have damaged. */
const otherKinds = new Map<string, ColumnKind>([
  ['mirror_info.first_seq', 'int'],
  ['mirror_info.last_seq', 'int'],
  ...[...relations, ...internalTables].flatMap(({ name, columns }) =>
    Object.entries(columns).flatMap(([column, { kind }]): [string, ColumnKind][] =>
      kind === 'json' || kind === 'bool' ? [[`${name}.${column}`, kind]] : [],
    ),
  ),
])

/**
 * Decoders for statements without a TableSpec, by table and column, so that booleans and JSON come out as from Postgres. Outside the mirror,
 * where nothing is repaired, a damaged value is returned as text at once.
 */
export function decoderOfColumn(table: string | null, column: string | null): Decode | null {
  const name = `${table}.${column}`
  const kind = mirrorKinds.get(name)
  if (kind) return decoderOf(kind)
  const other = otherKinds.get(name)
  if (!other) return null
  const decode = decoderOf(other)
  return (value) => readableValue(decode(value))
}

/**
 * A parameter of a statement without a TableSpec, as SQLite can bind it: booleans become 0 and 1, lists and objects JSON text, and damage that
 * was read its original value.
 * @throws TypeError for a Date, which has no microseconds: times are TimeText.
 */
export function bindable(value: unknown): SqliteValue {
  if (typeof value === 'boolean') return value ? 1 : 0
  if (value === undefined || value === null) return null
  if (typeof value !== 'object') return plain(value as Json)
  if (value instanceof Uint8Array) return value
  if (value instanceof Date) throw new TypeError('Times are given to the store as TimeText, not as Date')
  return JSON.stringify(value)
}
