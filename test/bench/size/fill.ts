import Database from 'better-sqlite3'
import pg from 'pg'
import type { DatabaseConfig } from '../../../src/store/engine/db.ts'
import { type Dialect, dialects } from './dialect.ts'
import { CHANGES, type Scale, tables } from './rows.ts'

/** Indexes built after the rows, which is several times faster. */
interface Dropped {
  readonly drop: string
  readonly create: string
}

const CHUNK = 5_000_000

/** Fills an empty database directly, since filling isn't measured. */
export async function fill(config: DatabaseConfig, scale: Scale): Promise<void> {
  if (config.kind === 'sqlite') fillSqlite(config.path, scale)
  else await fillPostgres(config, scale)
}

function fillSqlite(path: string, scale: Scale): void {
  const database = new Database(path)
  database.pragma('synchronous = off')
  database.pragma('journal_mode = memory')
  database.pragma('cache_size = -2000000')
  const indexes = database
    .prepare<[], { name: string; sql: string }>("select name, sql from sqlite_master where type = 'index' and sql is not null")
    .all()
    .map(({ name, sql }): Dropped => ({ drop: `drop index ${name}`, create: sql }))
  for (const statement of statementsOf(dialects.sqlite, scale, indexes)) database.exec(statement)
  database.pragma('journal_mode = wal')
  database.close()
}

async function fillPostgres(config: Extract<DatabaseConfig, { kind: 'postgres' }>, scale: Scale): Promise<void> {
  const client = new pg.Client({ connectionString: config.url.reveal() })
  await client.connect()
  await client.query(`set search_path = "${config.schema}"; set maintenance_work_mem = '1GB'; set synchronous_commit = off`)
  const { rows: keys } = await client.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
     from pg_constraint where connamespace = current_schema()::regnamespace and contype in ('p', 'u')`,
  )
  const { rows: others } = await client.query<{ name: string; definition: string }>(
    `select indexname as name, indexdef as definition from pg_indexes
     where schemaname = current_schema() and indexname not in (select conname from pg_constraint where contype in ('p', 'u'))`,
  )
  const dropped: Dropped[] = [
    ...keys.map(({ table, name, definition }) => ({
      drop: `alter table ${table} drop constraint ${name}`,
      create: `alter table ${table} add constraint ${name} ${definition}`,
    })),
    ...others.map(({ name, definition }) => ({ drop: `drop index ${name}`, create: definition })),
  ]
  const filled = tables(dialects.postgres, scale).map(({ table }) => table)
  // With `wal_level` `minimal`, a table truncated in the same transaction skips the write-ahead log.
  await client.query(`begin; truncate ${[...new Set(filled)].join()}`)
  for (const statement of statementsOf(dialects.postgres, scale, dropped)) await client.query(statement)
  await client.query('commit')
  const { rows: numbered } = await client.query<{ table: string; column: string }>(
    `select table_name as table, column_name as column from information_schema.columns
     where table_schema = current_schema() and is_identity = 'YES'`,
  )
  for (const { table, column } of numbered)
    await client.query(`select setval(pg_get_serial_sequence('${table}', '${column}'), max(${column})) from ${table}`)
  await client.query('vacuum analyze')
  await client.end()
}

function statementsOf(dialect: Dialect, scale: Scale, dropped: readonly Dropped[]): string[] {
  const inserts = tables(dialect, scale).flatMap(({ table, rows, values }) => {
    const columns = Object.keys(values).map((column) => `"${column}"`)
    const chunks = Array.from({ length: Math.ceil(rows / CHUNK) }, (_, chunk) => chunk * CHUNK)
    return chunks.map(
      (first) =>
        `insert into ${table} (${columns.join()}) select ${Object.values(values).join()} from ${dialect.series(first, Math.min(rows, first + CHUNK))}`,
    )
  })
  const ends = `update mirror_info set last_seq = ${scale.events * CHANGES}`
  return [...dropped.map(({ drop }) => drop), ...inserts, ends, ...dropped.map(({ create }) => create)]
}
