import type { Statement } from 'better-sqlite3'
import type { Row } from '../../model/entity.ts'
import type { Json } from '../../model/json.ts'
import type { TableSpec } from '../engine/db.ts'
import { type Decode, decoderOf, type Encode, encoderOf, type SqliteValue } from '../schema/codec.ts'
import type { SqliteConnection } from './connection.ts'

type Prepared = Statement<SqliteValue[], Record<string, SqliteValue>>

/** A prepared statement, with the columns of its parameters in order. */
interface Bound {
  readonly statement: Prepared
  readonly columns: readonly string[]
  readonly encoders: readonly Encode[]
}

interface Select extends Bound {
  readonly decoders: readonly (readonly [column: string, decode: Decode])[]
}

/**
 * Row functions on SQLite. Each function prepares one statement for each table, and runs it once for each row. This is
 * fast, because SQLite runs inside this process.
 */
export class SqliteRows {
  readonly #connection: SqliteConnection
  readonly #made = new WeakMap<TableSpec, Map<string, Bound | Select>>()

  constructor(connection: SqliteConnection) {
    this.#connection = connection
  }

  selectMany(spec: TableSpec, keys: readonly Row[]): Row[] {
    const select = this.#once(spec, 'select', () => this.#makeSelect(spec, spec.key, [], ''))
    const found: Row[] = []
    for (const key of keys) {
      const row = select.statement.get(...encode(select, key))
      if (row) found.push(decode(select, row))
    }
    return found
  }

  /**
   * @param limit maximum number of rows. Without a limit, rows are in the order of the key; with a limit, in any order.
   * Pass no limit if possible, because a limit makes short statements several times slower.
   */
  selectWhere(spec: TableSpec, where: Row, limit?: number): Row[] {
    const columns = Object.keys(where)
    const nulls = columns.filter((column) => where[column] === null)
    const given = columns.filter((column) => where[column] !== null)
    const tail = limit === undefined ? `order by ${list(spec.key)}` : `limit ${limit}`
    const name = `where ${given.join()} ${nulls.join()} ${tail}`
    const select = this.#once(spec, name, () => this.#makeSelect(spec, given, nulls, tail))
    return select.statement.all(...encode(select, where)).map((row) => decode(select, row))
  }

  insertMany(spec: TableSpec, rows: readonly Row[], ignore: boolean): number {
    const insert = this.#once(spec, ignore ? 'ignore' : 'insert', () => this.#makeInsert(spec, ignore))
    return runAll(insert, rows)
  }

  updateMany(spec: TableSpec, columns: readonly string[], rows: readonly Row[]): number {
    if (columns.length === 0) return 0
    return runAll(
      this.#once(spec, `update ${columns.join()}`, () => this.#makeUpdate(spec, columns)),
      rows,
    )
  }

  #once<T extends Bound>(spec: TableSpec, name: string, make: () => T): T {
    let made = this.#made.get(spec)
    if (!made) {
      made = new Map()
      this.#made.set(spec, made)
    }
    let bound = made.get(name)
    if (!bound) {
      bound = make()
      made.set(name, bound)
    }
    return bound as T
  }

  #makeSelect(spec: TableSpec, given: readonly string[], nulls: readonly string[], tail: string): Select {
    const conditions = [...given.map((column) => `"${column}" = ?`), ...nulls.map((column) => `"${column}" is null`)]
    const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
    const text = `select ${list(Object.keys(spec.columns))} from "${spec.table}"${where} ${tail}`
    const decoders = Object.entries(spec.columns).map(([column, kind]): [string, Decode] => [column, decoderOf(kind)])
    return { ...this.#bind(spec, text, given), decoders }
  }

  #makeInsert(spec: TableSpec, ignore: boolean): Bound {
    const columns = Object.keys(spec.columns)
    const places = columns.map(() => '?').join(', ')
    const text = `insert into "${spec.table}" (${list(columns)}) values (${places})${ignore ? ' on conflict do nothing' : ''}`
    return this.#bind(spec, text, columns)
  }

  #makeUpdate(spec: TableSpec, columns: readonly string[]): Bound {
    const set = columns.map((column) => `"${column}" = ?`).join(', ')
    const key = spec.key.map((column) => `"${column}" = ?`).join(' and ')
    return this.#bind(spec, `update "${spec.table}" set ${set} where ${key}`, [...columns, ...spec.key])
  }

  #bind(spec: TableSpec, text: string, columns: readonly string[]): Bound {
    return {
      statement: this.#connection.prepare(text).statement,
      columns,
      encoders: columns.map((column) => encoderOf(kindOf(spec, column))),
    }
  }
}

function kindOf(spec: TableSpec, column: string) {
  const kind = spec.columns[column]
  if (!kind) throw new Error(`${spec.table} has no column ${column}`)
  return kind
}

function list(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(', ')
}

function encode(bound: Bound, row: Row): SqliteValue[] {
  const { columns, encoders } = bound
  const values = new Array<SqliteValue>(columns.length)
  for (let i = 0; i < columns.length; i++) values[i] = (encoders[i] as Encode)(row[columns[i] as string])
  return values
}

function decode(select: Select, row: Record<string, SqliteValue>): Row {
  const out = row as Record<string, Json>
  for (const [column, decoder] of select.decoders) out[column] = decoder(row[column] as SqliteValue)
  return out
}

function runAll(bound: Bound, rows: readonly Row[]): number {
  let changed = 0
  for (const row of rows) changed += bound.statement.run(...encode(bound, row)).changes
  return changed
}
