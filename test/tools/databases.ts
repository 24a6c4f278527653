import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { inject } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createLog, type Log } from '../../src/base/log.ts'
import type { DatabaseConfig, Db, FailPoint } from '../../src/store/engine/db.ts'
import { openDb } from '../../src/store/open/open.ts'
import { databaseFolder } from './database-folder.ts'
import { copyMigrated, createMigrated, giveBack } from './migrated.ts'

export interface TestOptions {
  readonly clock?: Clock
  readonly failPoint?: FailPoint
  readonly listsDocuments?: boolean
  /** false for a database without any table. */
  readonly migrated?: boolean
}

export interface OpenedDatabase {
  readonly db: Db
  readonly config: DatabaseConfig
  /** Closes `db` and removes the database. */
  close(): Promise<void>
}

export interface TestDatabase {
  readonly name: 'sqlite' | 'postgres'
  /** A new database, migrated unless told otherwise. */
  open(options?: TestOptions): Promise<OpenedDatabase>
}

/** Writes nothing. */
export const silentLog: Log = createLog({ level: 'silent', pretty: false, secrets: [], destination: { write() {} } })

export const sqliteDatabase: TestDatabase = { name: 'sqlite', open: (options) => openNew(newSqlite, migratedSqlite, options) }

export const postgresDatabase: TestDatabase = {
  name: 'postgres',
  open: (options) => openNew(() => newPostgres(inject('postgresUrl')), migratedPostgres, options),
}

/** Whether the project of the run tries this database: `npm test` tries SQLite, a project of the proofs Postgres (`vitest.config.ts`). */
const isTried = ({ name }: TestDatabase) => (process.env['TEST_DATABASE'] ?? name) === name

/** For `describe.each(testDatabases)`: what holds on one database must hold on both. */
export const testDatabases: readonly TestDatabase[] = [sqliteDatabase, postgresDatabase].filter(isTried)

/** For what sends Postgres no SQL that the tests on both do not send it, too: HTTP, rules of an AMS, scheduling. */
export const onSqlite: readonly TestDatabase[] = [sqliteDatabase].filter(isTried)

/** One more handle on a database, as another process would have. */
export function openAgain(config: DatabaseConfig, options: TestOptions = {}): Promise<Db> {
  const { clock = systemClock, failPoint, listsDocuments = true } = options
  return openDb(config, { clock, log: silentLog, failPoint, listsDocuments })
}

interface Place {
  readonly config: DatabaseConfig
  remove(): Promise<void>
}

async function openNew(empty: () => Place, migrated: () => Promise<Place>, options: TestOptions = {}): Promise<OpenedDatabase> {
  const place = options.migrated === false ? empty() : await migrated()
  const db = await openAgain(place.config, options)
  if (options.migrated !== false) {
    // As after a migration of its own: no two databases have one epoch.
    await db.write('test-epoch', (tx) => tx.sql.updateTable('mirror_info').set({ log_epoch: randomUUID() }).execute())
  }
  return {
    db,
    config: place.config,
    async close() {
      await db.close()
      await place.remove()
    },
  }
}

async function migratedSqlite(): Promise<Place> {
  const place = newSqlite()
  await copyMigrated(place.config.path)
  return place
}

async function migratedPostgres(): Promise<Place> {
  const url = inject('postgresUrl')
  const config = await createMigrated(url)
  return { config, remove: () => giveBack(config, url) }
}

/** A place for a SQLite database that does not exist yet. */
export function newSqlite(): { config: Extract<DatabaseConfig, { kind: 'sqlite' }>; remove(): Promise<void> } {
  const folder = mkdtempSync(join(databaseFolder(), 'submission-mirror-test-'))
  return {
    config: { kind: 'sqlite', path: join(folder, 'mirror.db') },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** A place for a schema that does not exist yet, on the server at `url`. */
export function newPostgres(url: string): { config: Extract<DatabaseConfig, { kind: 'postgres' }>; remove(): Promise<void> } {
  const schema = `test_${randomBytes(8).toString('hex')}`
  const secret = { reveal: () => url }
  return {
    config: { kind: 'postgres', url: secret, schema, listenUrl: secret },
    async remove() {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await client.query(`drop schema if exists ${schema} cascade`)
      await client.end()
    },
  }
}
