import { createHash, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { migrations as released } from '../../../migrations/index.ts'
import { systemClock } from '../../base/clock.ts'
import { FatalError, UsageError } from '../../base/errors.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'
import { isLockTimeout } from '../postgres/errors.ts'
import { columnTypes, type Migration } from '../schema/migration.ts'
import type { Relation } from '../schema/table.ts'
import { internalTables, relations } from '../schema/tables.ts'

/** The database lacks migrations. The message says how to migrate. */
export class SchemaBehindError extends FatalError {}

/**
 * How long a migration waits for its table lock, in ms: on the first attempt, and at most.
 * On Postgres, other statements queue behind the waiting migration. If a long report has the lock, a long wait would
 * stop all work.
 * After a failed wait, the migration pauses for `REST_SHARE` times the wait. The next wait is twice the previous wait,
 * up to `LONGEST_LOCK_WAIT_MS`.
 */
const LOCK_WAIT_MS = 250
const LONGEST_LOCK_WAIT_MS = 8_000
const REST_SHARE = 2
const WAITS =
  'the migration waits for another transaction on one of the tables, such as a long report, and continues when it has ended. ' +
  '`select pid, state, query from pg_stat_activity where xact_start is not null order by xact_start` lists it'

export interface MigrateOptions {
  /** Called after each failed wait for a lock, with the reason for the delay. */
  readonly onWait?: (sentence: string) => void
  /** Stops the migration before the next step. */
  readonly signal?: AbortSignal | undefined
}

interface Applied {
  /** SHA-256 of the statements of each applied step, by version. */
  readonly steps: ReadonlyMap<number, string>
  readonly newest: number
  /** Oldest schema version whose release still works with this database. */
  readonly oldestCompatible: number
}

/** Number of migration steps in this release. */
export const STEPS = released.length

/**
 * Applies missing migrations. Each step commits together with its record, under a lock, so several processes may start
 * at the same time.
 * On Postgres, also creates a missing schema and adds comments to tables and columns.
 * @returns the names of the steps that this call applied.
 * @throws FatalError if a later release made the database unusable for this release; UsageError if an unreleased
 * version created the database, or if the encoding of a new database can't store every text; TransientError if the
 * database is unreachable; the reason of `signal` if aborted.
 * After an error, applied steps stay applied.
 */
export async function migrate(
  db: Db,
  migrations: readonly Migration[] = released,
  { onWait, signal }: MigrateOptions = {},
): Promise<string[]> {
  const taken: string[] = []
  let waitMs = LOCK_WAIT_MS
  for (;;) {
    signal?.throwIfAborted()
    try {
      const name = await db.write('migrate', (tx) => takeNext(tx, migrations, waitMs), { noTimeout: true })
      if (name === null) break
      taken.push(name)
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      onWait?.(WAITS)
      await systemClock.sleep(waitMs * REST_SHARE, signal)
      waitMs = Math.min(waitMs * 2, LONGEST_LOCK_WAIT_MS)
    }
  }
  await keepComments(db)
  return taken
}

async function keepComments(db: Db): Promise<void> {
  if ((await missingComments(db.read)).length === 0) return
  try {
    await db.write('migrate-comments', async (tx) => {
      await lockPostgresSchema(tx)
      await tx.run(sql.raw(`set local lock_timeout = ${LONGEST_LOCK_WAIT_MS}`))
      await writeComments(tx, await missingComments(tx))
    })
  } catch (error) {
    // If a long operation, such as a vacuum, has the lock, skips the comments. The next `migrate` adds the comments.
    if (!isLockTimeout(error)) throw error
  }
}

const FIX = 'run `submission-mirror migrate`, or set MIGRATE_ON_START=true'
export const NO_TABLES = `The database has no tables of submission-mirror yet; ${FIX} and start \`serve\``

const MISSING_NAMED = 5

/**
 * Checks at start that no migration is missing. Doesn't migrate.
 * @throws SchemaBehindError if a step is missing; FatalError and UsageError as in `migrate`.
 */
export async function checkSchema(db: Db, migrations: readonly Migration[] = released): Promise<void> {
  const applied = await readApplied(db.read)
  refuseOthers(db.kind, applied, migrations)
  const missing = migrations.filter((migration) => !applied.steps.has(migration.version))
  if (missing.length === 0) return
  if (applied.steps.size === 0) throw new SchemaBehindError(NO_TABLES)
  const names = missing.slice(0, MISSING_NAMED).map((migration) => `${migration.version} (${migration.name})`)
  const more = missing.length > names.length ? ` and ${missing.length - names.length} more` : ''
  throw new SchemaBehindError(`The database lacks migration ${names.join(', ')}${more}; ${FIX}`)
}

/** Applies the first missing step. @returns the name of the step; null if no step is missing. */
async function takeNext(tx: Tx, migrations: readonly Migration[], waitMs: number): Promise<string | null> {
  if (tx.kind === 'postgres') {
    await lockPostgresSchema(tx)
    await tx.run(sql.raw(`set local lock_timeout = ${waitMs}`))
  }
  const applied = await readApplied(tx)
  refuseOthers(tx.kind, applied, migrations)
  const next = migrations.find((migration) => !applied.steps.has(migration.version))
  if (!next) return null
  if (applied.steps.size === 0) {
    await refuseEncoding(tx)
    await createMigrationsTable(tx)
  }
  for (const statement of next.statements(columnTypes[tx.kind])) await tx.run(sql.raw(statement))
  await tx.run(sql`
    insert into sync_migrations (version, name, sha256, oldest_compatible, applied_at) values (${next.version}, ${next.name},
    ${hashOf(tx.kind, next)}, ${next.oldestCompatible}, ${dbTime(tx)})`)
  await noteVersion(tx, Math.max(applied.newest, next.version))
  return next.name
}

/** Creates the tables and views of this release in an empty, temporary database. */
export async function createTables(tx: Tx): Promise<void> {
  for (const { statements } of released) for (const statement of statements(columnTypes[tx.kind])) await tx.run(sql.raw(statement))
}

/** Locks the schema against other migrations. Creates a missing schema. */
async function lockPostgresSchema(tx: Tx): Promise<void> {
  const row = await tx.one(sql<{ name: string }>`select (parse_ident(current_setting('search_path')))[1] as name`)
  const schema = row?.name ?? ''
  await tx.run(sql`select pg_advisory_xact_lock(hashtextextended(${`submission-mirror migrate ${schema}`}, 0))`)
  const rows = await tx.all(sql`select 1 from pg_namespace where nspname = ${schema}`)
  // Because of this check, a user without the right to create schemas can use an existing schema.
  if (rows.length === 0) await tx.run(sql`create schema ${sql.id(schema)}`)
}

/** Encodings that can store every text. SQL_ASCII keeps bytes unchanged. */
const WHOLE_ENCODINGS = ['UTF8', 'SQL_ASCII']

/** Rejects a database whose encoding can't store every text. The encoding of a database can't be changed later. */
async function refuseEncoding(tx: Tx): Promise<void> {
  if (tx.kind === 'sqlite') return
  const row = await tx.one(sql<{ name: string; encoding: string }>`
    select current_database() as name, current_setting('server_encoding') as encoding`)
  const { name, encoding } = row ?? { name: '', encoding: 'UTF8' }
  if (WHOLE_ENCODINGS.includes(encoding)) return
  throw new UsageError([
    `the database ${name} has the encoding ${encoding}, which cannot store every text of the service; create one with the encoding UTF8 ` +
      "(`create database … encoding 'UTF8' template template0`) and name it in DATABASE_URL",
  ])
}

async function createMigrationsTable(tx: Tx): Promise<void> {
  const t = columnTypes[tx.kind]
  await tx.run(sql`create table if not exists sync_migrations (
    version ${sql.raw(t.int)} not null primary key, name text not null, sha256 text not null,
    oldest_compatible ${sql.raw(t.int)} not null, applied_at ${sql.raw(t.time)} not null)`)
}

async function noteVersion(tx: Tx, version: number): Promise<void> {
  await tx.run(sql`
    insert into mirror_info (id, schema_version, log_epoch, first_seq, last_seq) values (1, ${version}, ${randomUUID()}, 1, 0)
    on conflict (id) do update set schema_version = ${version}`)
}

async function readApplied(query: Query): Promise<Applied> {
  const steps = new Map<number, string>()
  let oldestCompatible = 0
  if (await hasMigrationsTable(query)) {
    // Selects all columns, because databases of unreleased versions have no column `sha256`.
    for (const row of await query.sql.selectFrom('sync_migrations').selectAll().execute()) {
      steps.set(row.version, row.sha256)
      oldestCompatible = Math.max(oldestCompatible, row.oldest_compatible)
    }
  }
  return { steps, newest: Math.max(0, ...steps.keys()), oldestCompatible }
}

async function hasMigrationsTable(query: Query): Promise<boolean> {
  const found =
    query.kind === 'sqlite'
      ? sql`select 1 from sqlite_master where type = 'table' and name = 'sync_migrations'`
      : sql`select 1 from pg_class where oid = to_regclass('sync_migrations')`
  return (await query.one(found)) !== null
}

/**
 * Hashes the statements of a step. If an unreleased version applied another step with the same number, the hashes
 * differ.
 */
function hashOf(kind: Query['kind'], step: Migration): string {
  return createHash('sha256').update(step.statements(columnTypes[kind]).join('\n')).digest('hex')
}

/** Rejects a database that an unreleased version created, or that a later release made unusable for this release. */
function refuseOthers(kind: Query['kind'], applied: Applied, migrations: readonly Migration[]): void {
  const differs = migrations.find((step) => applied.steps.has(step.version) && applied.steps.get(step.version) !== hashOf(kind, step))
  if (differs !== undefined) {
    const which = `its migration ${differs.version} is not ${differs.name} of this release`
    throw new UsageError([`DATABASE_URL: the database was made by an unreleased version (${which}). Create a new database`])
  }
  const ours = Math.max(0, ...migrations.map((migration) => migration.version))
  if (applied.newest <= ours || applied.oldestCompatible <= ours) return
  throw new FatalError(
    `A later release removed parts of the database that this release needs. The schema has version ${applied.newest} and requires a release with version ` +
      `${applied.oldestCompatible} or later; this release has version ${ours}. Run the later release, or restore the backup made before it`,
  )
}

/** A comment on a table or view, or on a column. */
interface Comment {
  readonly type: Relation['type']
  readonly name: string
  /** null for a comment on the table or view. */
  readonly field: string | null
  readonly text: string
}

async function writeComments(tx: Tx, comments: readonly Comment[]): Promise<void> {
  for (const { type, name, field, text } of comments) {
    const place = field === null ? sql`${sql.raw(type)} ${sql.table(name)}` : sql`column ${sql.ref(`${name}.${field}`)}`
    await tx.run(sql`comment on ${place} is ${sql.lit(text)}`)
  }
}

/**
 * Lists the comments that Postgres lacks, or has with another text than the descriptions in `schema/`.
 * Leaves out tables and columns that don't exist, and tables of other roles. SQLite has no comments.
 */
export async function missingComments(q: Query): Promise<Comment[]> {
  if (q.kind === 'sqlite') return []
  const rows = await q.all(sql<{ name: string; field: string | null; text: string | null }>`
    select c.relname as name, a.attname as field, d.description as text
    from pg_class c
    cross join lateral (
      select null as attname, 0 as attnum
      union all select attname, attnum from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped) as a
    left join pg_description d on d.objoid = c.oid and d.classoid = 'pg_class'::regclass and d.objsubid = a.attnum
    where c.relkind in ('r', 'p', 'v') and c.relnamespace = current_schema()::regnamespace
      and pg_has_role(c.relowner, 'usage')`)
  const there = new Map(rows.map(({ name, field, text }) => [keyOf(name, field), text]))
  return [...relations, ...internalTables].flatMap(commentsOf).filter(({ name, field, text }) => {
    const found = there.get(keyOf(name, field))
    return found !== undefined && found !== text
  })
}

function commentsOf({ name, type, holds, columns, isInternal }: Relation): Comment[] {
  const described = Object.entries(columns).flatMap(([field, { meaning, source, class: protection }]): Comment[] => {
    if (isInternal) return meaning === '' ? [] : [{ type, name, field, text: `${meaning}.` }]
    return [{ type, name, field, text: `${meaning}. Source: ${source.replaceAll('`', '')}. Class: ${protection}.` }]
  })
  return [{ type, name, field: null, text: holds }, ...described]
}

function keyOf(name: string, field: string | null): string {
  return `${name} ${field ?? ''}`
}
