import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Insertable } from 'kysely'
import pg from 'pg'
import { inject } from 'vitest'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createLog, type Log } from '../../src/base/log.ts'
import type { DatabaseConfig, Db, FailPoint, Statement } from '../../src/store/engine/db.ts'
import { openDb } from '../../src/store/open/open.ts'
import type { Tables } from '../../src/store/schema/tables.ts'
import { databaseFolder } from './database-folder.ts'
import { copyMigrated, createMigrated, giveBack } from './migrated.ts'

export interface TestOptions {
  readonly clock?: Clock
  readonly failPoint?: FailPoint
  readonly listsDocuments?: boolean
  readonly migrated?: boolean
}

export interface OpenedDatabase {
  readonly db: Db
  readonly config: DatabaseConfig
  close(): Promise<void>
}

export interface TestDatabase {
  readonly name: 'sqlite' | 'postgres'
  open(options?: TestOptions): Promise<OpenedDatabase>
}

export const silentLog: Log = createLog({ level: 'silent', pretty: false, secrets: [], destination: { write() {} } })

export const sqliteDatabase: TestDatabase = { name: 'sqlite', open: (options) => openNew(newSqlite, migratedSqlite, options) }

export const postgresDatabase: TestDatabase = {
  name: 'postgres',
  open: (options) => openNew(() => newPostgres(inject('postgresUrl')), migratedPostgres, options),
}

/** Whether the run's project uses this database: `npm test` SQLite, a project of the proofs Postgres (`vitest.config.ts`). */
const isTried = ({ name }: TestDatabase) => (process.env['TEST_DATABASE'] ?? name) === name

/** For `describe.each(testDatabases)`: behavior of both databases. */
export const testDatabases: readonly TestDatabase[] = [sqliteDatabase, postgresDatabase].filter(isTried)

/** For behavior without SQL of its own: HTTP, rules of an AMS, scheduling. */
export const onSqlite: readonly TestDatabase[] = [sqliteDatabase].filter(isTried)

export function openAgain(config: DatabaseConfig, options: TestOptions = {}): Promise<Db> {
  const { clock = systemClock, failPoint, listsDocuments = true } = options
  return openDb(config, { clock, log: silentLog, failPoint, listsDocuments })
}

export function runSql(db: Db, statement: Statement<unknown>): Promise<number> {
  return db.write('test', (tx) => tx.run(statement))
}

export function insertRows<T extends keyof Tables>(db: Db, table: T, rows: Insertable<Tables[T]> | readonly Insertable<Tables[T]>[]) {
  return db.write('test', (tx) =>
    tx.sql
      .insertInto(table)
      .values(rows as never)
      .execute(),
  )
}

interface Place {
  readonly config: DatabaseConfig
  remove(): Promise<void>
}

async function openNew(empty: () => Place, migrated: () => Promise<Place>, options: TestOptions = {}): Promise<OpenedDatabase> {
  const place = options.migrated === false ? empty() : await migrated()
  const db = await openAgain(place.config, options)
  if (options.migrated !== false) {
    // Databases must have different epochs, as after separate migrations.
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

export function newSqlite(): { config: Extract<DatabaseConfig, { kind: 'sqlite' }>; remove(): Promise<void> } {
  const folder = mkdtempSync(join(databaseFolder(), 'submission-mirror-test-'))
  return {
    config: { kind: 'sqlite', path: join(folder, 'mirror.db') },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

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
