import type Database from 'better-sqlite3'
import { sql } from 'kysely'
import { migrations } from '../../../migrations/index.ts'
import type { Query } from '../engine/db.ts'
import { columnTypes } from '../schema/migration.ts'
import { internalTables, relations } from '../schema/tables.ts'

/** A message lists up to this many missing parts. The message only counts the others. */
const LISTED = 5

/** A column of a table, or a view. `field` is null for a view. */
interface Part {
  readonly kind: 'table' | 'view'
  readonly name: string
  readonly field: string | null
}

const SQLITE_PARTS = `select m.type as kind, m.name, c.name as field
  from sqlite_master m left join pragma_table_info(case m.type when 'table' then m.name end) c where m.type in ('table', 'view')`

const POSTGRES_PARTS = `select case c.relkind when 'v' then 'view' else 'table' end as kind, c.relname as name, a.attname as field
  from pg_class c left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and c.relkind <> 'v'
  where c.relkind in ('r', 'p', 'v') and c.relnamespace <> 'pg_catalog'::regnamespace and pg_table_is_visible(c.oid)`

const SQLITE_NAMES = "select name from sqlite_master where type in ('table', 'index')"

const POSTGRES_NAMES = `select relname as name from pg_class
  where relkind in ('r', 'p', 'i') and relnamespace <> 'pg_catalog'::regnamespace and pg_table_is_visible(oid)`

const INDEX = /^create (?:unique )?index (\w+) on (\w+)/

/** Tables, columns, and views that the database lacks, such as `the view quote_board`. */
export async function missingParts(q: Query): Promise<string[]> {
  const rows = await q.all(sql<Part>`${sql.raw(q.kind === 'sqlite' ? SQLITE_PARTS : POSTGRES_PARTS)}`)
  return missingFrom(rows, wantedParts())
}

/** Tables and columns that a SQLite database lacks. */
export function missingTables(database: Database.Database): string[] {
  const wanted = wantedParts().filter(({ kind }) => kind === 'table')
  return missingFrom(database.prepare<[], Part>(SQLITE_PARTS).all(), wanted)
}

/** Finds missing indexes of existing tables. @returns the statements that create the indexes. */
export async function missingIndexes(q: Query): Promise<string[]> {
  const rows = await q.all(sql<{ name: string }>`${sql.raw(q.kind === 'sqlite' ? SQLITE_NAMES : POSTGRES_NAMES)}`)
  const there = new Set(rows.map(({ name }) => name))
  return indexStatements(q.kind).filter((statement) => {
    const [, name = '', table = ''] = INDEX.exec(statement) ?? []
    return !there.has(name) && there.has(table)
  })
}

export function missingIndexText(statement: string): string {
  const [, name] = INDEX.exec(statement) ?? []
  return `the index ${name} is missing (it was dropped). Queries that use it are slow, or rows may no longer be unique. Stop \`serve\` and create it again: ${statement}`
}

/**
 * Rights that the database user lacks on this program's tables, such as `insert on sync_inbox`. Empty on SQLite.
 */
export async function missingRights(q: Query): Promise<string[]> {
  if (q.kind === 'sqlite') return []
  const ours = new Set(wantedParts().map(({ name }) => name))
  const rows = await q.all(sql<{ name: string; right: string }>`
    select c.relname as name, wanted.right
    from pg_class c cross join unnest(array['delete', 'insert', 'select', 'update']) as wanted("right")
    where c.relkind in ('r', 'p') and c.relnamespace <> 'pg_catalog'::regnamespace and pg_table_is_visible(c.oid)
      and not has_table_privilege(c.oid, wanted.right)
    order by name, wanted.right`)
  return rows.filter(({ name }) => ours.has(name)).map(({ name, right }) => `${right} on ${name}`)
}

export function rightsText(missing: readonly string[]): string {
  return `the user of DATABASE_URL lacks rights: ${listed(missing)}; grant it select, insert, update and delete on all tables of the schema`
}

export function missingText(missing: readonly string[]): string {
  return `it lacks ${listed(missing)} (dropped by hand); restore a backup that has ${missing.length === 1 ? 'it' : 'them'}`
}

function listed(missing: readonly string[]): string {
  const more = missing.length > LISTED ? ` and ${missing.length - LISTED} more` : ''
  return `${missing.slice(0, LISTED).join(', ')}${more}`
}

function wantedParts(): Part[] {
  return [...relations, ...internalTables].flatMap(({ name, type, columns }): Part[] =>
    type === 'view' ? [{ kind: type, name, field: null }] : Object.keys(columns).map((field) => ({ kind: type, name, field })),
  )
}

function indexStatements(kind: Query['kind']): string[] {
  const statements = migrations.flatMap((migration) => migration.statements(columnTypes[kind]))
  return statements.filter((statement) => INDEX.test(statement)).map((statement) => statement.replace(/\s+/g, ' '))
}

function missingFrom(there: readonly Part[], wanted: readonly Part[]): string[] {
  const names = new Set(there.map(({ name }) => name))
  const fields = new Set(there.map(({ name, field }) => `${name}.${field}`))
  const missing = new Set<string>()
  for (const { kind, name, field } of wanted) {
    if (!names.has(name)) missing.add(`the ${kind} ${name}`)
    else if (field !== null && !fields.has(`${name}.${field}`)) missing.add(`the column ${name}.${field}`)
  }
  return [...missing]
}
