import Database from 'better-sqlite3'
import { sql } from 'kysely'
import { migrations } from '../../migrations/index.ts'
import type { Db } from '../../src/store/engine/db.ts'
import type { ColumnTypes } from '../../src/store/schema/migration.ts'

/** A table as the migrations up to some version make it, its columns with their kinds, which SQLite itself does not tell apart. */
export interface OldTable {
  readonly name: string
  /** How many rows it can have, three at most: some hold the one row that there is. */
  readonly rows: number
  readonly columns: readonly { readonly name: string; readonly kind: string; readonly key: boolean }[]
}

/** SQLite takes any word for a type. */
const KINDS: ColumnTypes = {
  kind: 'sqlite',
  time: 'TIME',
  date: 'DATE',
  bool: 'BOOL',
  json: 'JSON',
  raw: 'RAW',
  int: 'INT',
  real: 'REAL',
  bytes: 'BYTES',
  serial: 'SERIAL primary key',
}

const MOST_ROWS = 3
/** `insured_name 1 ü`, as triggers split it. */
const WORDS_OF_NAME = 4

/** Triggers fill them, from the rows of other tables. */
const KEPT_BY_TRIGGERS = ['sync_record_counts', 'sync_search_words']

/** The tables that a database of that version has, but for the two that migrating itself keeps. */
export function tablesOf(version: number): OldTable[] {
  const scratch = new Database(':memory:')
  try {
    for (const migration of migrations.filter((each) => each.version <= version)) {
      for (const statement of migration.statements(KINDS)) scratch.exec(statement)
    }
    const names = scratch
      .prepare<[], { name: string; sql: string }>("select name, sql from sqlite_master where type = 'table' order by name")
      .all()
    return names
      .filter(({ name }) => name !== 'mirror_info')
      .map(({ name, sql: made }) => {
        const columns = scratch.pragma(`table_info(${name})`) as { name: string; type: string; pk: number }[]
        return {
          name,
          rows: /check \(id = 1\)/.test(made) ? 1 : name === 'sync_search_words' ? MOST_ROWS * WORDS_OF_NAME : MOST_ROWS,
          columns: columns.map((column) => ({
            name: column.name,
            kind: column.type === 'bigint' ? 'INT' : column.type,
            key: column.pk > 0,
          })),
        }
      })
  } finally {
    scratch.close()
  }
}

type Value = string | number | null

/** A value of the column's kind, as JSON has it; another one in each row. */
function sampleOf(column: OldTable['columns'][number], row: number): Value {
  const { name, kind } = column
  const second = `0${row}`.slice(-2)
  switch (kind) {
    case 'TIME':
      return `2026-01-0${row}T12:00:${second}.123456Z`
    case 'DATE':
      return `2026-02-0${row}`
    case 'BOOL':
      return row % 2
    case 'INT':
    case 'bigint':
    case 'SERIAL':
      return row
    case 'REAL':
      return row + 0.25
    case 'JSON':
    case 'RAW':
      return JSON.stringify({ [name]: [row, null, 'Straße', { deep: row }] })
    case 'BYTES':
      return `\\x${Buffer.from(`body ${row}`).toString('hex')}`
    default:
      return `${name} ${row} ü`
  }
}

/** Puts rows into every table, and numbers the change log as it is filled. */
export async function fill(db: Db, tables: readonly OldTable[]): Promise<void> {
  for (const table of tables) {
    if (KEPT_BY_TRIGGERS.includes(table.name)) continue
    for (let row = 1; row <= table.rows; row++) await insert(db, table, row)
  }
  await db.write('test', (tx) => sql`update mirror_info set last_seq = ${MOST_ROWS}`.execute(tx.sql))
}

async function insert(db: Db, table: OldTable, row: number): Promise<void> {
  // What the database numbers itself it must go on to number.
  const columns = table.columns.filter(({ kind }) => kind !== 'SERIAL')
  const names = sql.join(columns.map(({ name }) => sql.ref(name)))
  const values = columns.map((column) => {
    const value = sampleOf(column, row)
    if (db.kind === 'sqlite' && column.kind === 'BYTES') return sql`${Buffer.from(String(value).slice(2), 'hex')}`
    if (db.kind === 'sqlite') return sql`${value}`
    const types: Readonly<Record<string, string>> = {
      TIME: 'timestamptz',
      DATE: 'date',
      JSON: 'jsonb',
      RAW: 'json',
      BYTES: 'bytea',
      INT: 'bigint',
      REAL: 'double precision',
    }
    if (column.kind === 'BOOL') return sql`${value === 1}`
    return types[column.kind] ? sql`${value}::${sql.raw(types[column.kind] ?? '')}` : sql`${value}`
  })
  await db.write('test', (tx) => sql`insert into ${sql.table(table.name)} (${names}) values (${sql.join(values)})`.execute(tx.sql))
}

/** Everything that the tables hold in the columns that they had then, as text, by table. */
export async function contents(db: Db, tables: readonly OldTable[]): Promise<Record<string, string[]>> {
  const all: Record<string, string[]> = {}
  for (const { name, columns } of tables) {
    const picked = sql.join(columns.map((column) => sql.ref(column.name)))
    const { rows } = await sql<Record<string, unknown>>`select ${picked} from ${sql.table(name)}`.execute(db.read.sql)
    all[name] = rows.map((row) => JSON.stringify(row)).sort()
  }
  return all
}
