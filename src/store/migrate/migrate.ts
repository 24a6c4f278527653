import { createHash, randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { migrations as released } from '../../../migrations/index.ts'
import { systemClock } from '../../base/clock.ts'
import { FatalError, UsageError } from '../../base/errors.ts'
import type { Db, Query, Tx } from '../engine/db.ts'
import { dbTime } from '../engine/sql.ts'
import { isLockTimeout } from '../postgres/errors.ts'
import { columnTypes } from '../schema/column-types.ts'
import type { Migration } from '../schema/migration.ts'
import { missingComments, writeComments } from './comments.ts'

/** The database is behind, or has no tables at all; the message says how to migrate it. */
export class SchemaBehindError extends FatalError {}

/**
 * On Postgres everybody queues behind a statement that waits to alter a table, so behind a long report all work would stop. A migration
 * therefore waits only this long for its lock, and lets the others run for longer before it tries again.
 */
const LOCK_WAIT_MS = 250
const LONGEST_LOCK_WAIT_MS = 8_000
const REST_SHARE = 2
const WAITS =
  'migrating waits for another transaction that uses one of the tables, such as a long report; it goes on when that has ended. ' +
  '`select pid, state, query from pg_stat_activity where xact_start is not null order by xact_start` names it'

export interface MigrateOptions {
  /** Called once per failed attempt, with the reason for the delay. */
  readonly onWait?: (sentence: string) => void
  /** Stops before the next step when it aborts. */
  readonly signal?: AbortSignal | undefined
}

/** What a database says about its own schema. */
interface Applied {
  /** Versions of the steps taken, and the SHA-256 of each one's statements. */
  readonly steps: ReadonlyMap<number, string>
  readonly newest: number
  /** The oldest schema version whose program still runs on it. */
  readonly oldestCompatible: number
}

/** Steps from an empty database to this release. */
export const STEPS = released.length

/**
 * Migrates the schema. Each step commits together with its record, under a lock that one process holds at a time, so several may start at
 * once. On Postgres the schema is created when missing, and tables and columns get comments.
 * @returns the names of the steps taken now.
 * @throws FatalError when a later release has changed the database so that this one no longer runs on it; UsageError when an unreleased version
 * made it, or the encoding of a new database cannot hold every text; TransientError when the database is unreachable; the reason of `signal` when it aborts. Steps taken stay.
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

/** Updates the comments on tables and columns. One read when they are current. */
async function keepComments(db: Db): Promise<void> {
  if ((await missingComments(db.read)).length === 0) return
  try {
    await db.write('migrate-comments', async (tx) => {
      await lockPostgresSchema(tx)
      await sql.raw(`set local lock_timeout = ${LONGEST_LOCK_WAIT_MS}`).execute(tx.sql)
      await writeComments(tx, await missingComments(tx))
    })
  } catch (error) {
    // Something like a vacuum of a large table is running. Nothing depends on a comment, and the next migration writes it.
    if (!isLockTimeout(error)) throw error
  }
}

const FIX = 'run `submission-mirror migrate`, or set MIGRATE_ON_START=true'
/** The message about a database without any table of ours. */
export const NO_TABLES = `The database has none of our tables yet; ${FIX} and start \`serve\``

/** How many missing migrations a message names. */
const MISSING_NAMED = 5

/**
 * Checks the schema for a start without migrating.
 * @throws SchemaBehindError when a step is missing; FatalError as `migrate` does.
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

/** Takes the first missing step. @returns its name, or null when none is missing. */
async function takeNext(tx: Tx, migrations: readonly Migration[], waitMs: number): Promise<string | null> {
  if (tx.kind === 'postgres') {
    await lockPostgresSchema(tx)
    await sql.raw(`set local lock_timeout = ${waitMs}`).execute(tx.sql)
  }
  const applied = await readApplied(tx)
  refuseOthers(tx.kind, applied, migrations)
  const next = migrations.find((migration) => !applied.steps.has(migration.version))
  if (!next) return null
  if (applied.steps.size === 0) {
    await refuseEncoding(tx)
    await createMigrationsTable(tx)
  }
  for (const statement of next.statements(columnTypes[tx.kind])) await sql.raw(statement).execute(tx.sql)
  await tx.sql
    .insertInto('sync_migrations')
    .values({
      version: next.version,
      name: next.name,
      sha256: hashOf(tx.kind, next),
      oldest_compatible: next.oldestCompatible,
      applied_at: dbTime(tx),
    })
    .execute()
  await noteVersion(tx, Math.max(applied.newest, next.version))
  return next.name
}

/** Waits for other processes that migrate the same schema, and creates it when it is missing. */
async function lockPostgresSchema(tx: Tx): Promise<void> {
  const named = await sql<{ name: string }>`select (parse_ident(current_setting('search_path')))[1] as name`.execute(tx.sql)
  const schema = named.rows[0]?.name ?? ''
  await sql`select pg_advisory_xact_lock(hashtextextended(${`submission-mirror migrate ${schema}`}, 0))`.execute(tx.sql)
  const { rows } = await sql`select 1 from pg_namespace where nspname = ${schema}`.execute(tx.sql)
  // Checked first: a role without the right to create schemas can still use an existing one.
  if (rows.length === 0) await sql`create schema ${sql.id(schema)}`.execute(tx.sql)
}

/** Encodings that hold every text. SQL_ASCII stores the bytes unchanged. */
const WHOLE_ENCODINGS = ['UTF8', 'SQL_ASCII']

/** A character that the encoding lacks could never be mirrored, and the encoding cannot be changed later. */
async function refuseEncoding(tx: Tx): Promise<void> {
  if (tx.kind === 'sqlite') return
  const { rows } = await sql<{ name: string; encoding: string }>`
    select current_database() as name, current_setting('server_encoding') as encoding`.execute(tx.sql)
  const { name, encoding } = rows[0] ?? { name: '', encoding: 'UTF8' }
  if (WHOLE_ENCODINGS.includes(encoding)) return
  throw new UsageError([
    `the database ${name} has the encoding ${encoding}, which does not hold every text of the service as it is; make one with the encoding UTF8 ` +
      "(`create database … encoding 'UTF8' template template0`) and name it in DATABASE_URL",
  ])
}

async function createMigrationsTable(tx: Tx): Promise<void> {
  const t = columnTypes[tx.kind]
  await sql`create table if not exists sync_migrations (
    version ${sql.raw(t.int)} not null primary key, name text not null, sha256 text not null,
    oldest_compatible ${sql.raw(t.int)} not null, applied_at ${sql.raw(t.time)} not null)`.execute(tx.sql)
}

async function noteVersion(tx: Tx, version: number): Promise<void> {
  await tx.sql
    .insertInto('mirror_info')
    .values({ id: 1, schema_version: version, log_epoch: randomUUID(), first_seq: 1, last_seq: 0 })
    .onConflict((conflict) => conflict.column('id').doUpdateSet({ schema_version: version }))
    .execute()
}

async function readApplied(query: Query): Promise<Applied> {
  const steps = new Map<number, string>()
  let oldestCompatible = 0
  if (await hasMigrationsTable(query)) {
    // All columns: a table that an unreleased version made has no hashes.
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
  return (await found.execute(query.sql)).rows.length > 0
}

/** Identifies a step by what it does. Databases keep it, so that tables which only bear the same numbers are never taken for ours. */
function hashOf(kind: Query['kind'], step: Migration): string {
  return createHash('sha256').update(step.statements(columnTypes[kind]).join('\n')).digest('hex')
}

/** Refuses a database that this program cannot serve: one of an unreleased version, or one that a later release has contracted. */
function refuseOthers(kind: Query['kind'], applied: Applied, migrations: readonly Migration[]): void {
  const differs = migrations.find((step) => applied.steps.has(step.version) && applied.steps.get(step.version) !== hashOf(kind, step))
  if (differs !== undefined) {
    const which = `its migration ${differs.version} is not ${differs.name} of this release`
    throw new UsageError([`DATABASE_URL: the database was made by an unreleased version (${which}); begin a new database`])
  }
  const ours = Math.max(0, ...migrations.map((migration) => migration.version))
  if (applied.newest <= ours || applied.oldestCompatible <= ours) return
  throw new FatalError(
    `A later release has contracted this database: its schema is version ${applied.newest} and needs a program of version ` +
      `${applied.oldestCompatible} or later, this one knows ${ours}; run the later release, or restore the backup made before it`,
  )
}
