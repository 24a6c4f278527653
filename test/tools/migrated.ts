import { randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, mkdtempSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import type { DatabaseConfig } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { openDb } from '../../src/store/open/open.ts'
import { sharedFolder } from './compile-cache.ts'
import { describeFresh, keepWashed, takeWashed, wash } from './washed.ts'

const TEMPLATE = 'migrated_template'
const SCHEMA = 'mirror'

let sqliteTemplate: string | undefined
let postgresTemplate: Promise<void> | undefined
const servers = new Map<string, Promise<pg.Client>>()

/**
 * Creates a migrated database at `path`, as a copy, since migrating takes longer than many tests. Copies share a log epoch until they get
 * their own.
 */
export async function copyMigrated(path: string): Promise<void> {
  sqliteTemplate ??= await makeSqlite()
  copyFileSync(sqliteTemplate, path)
}

export async function createMigrated(url: string): Promise<Extract<DatabaseConfig, { kind: 'postgres' }>> {
  postgresTemplate ??= makePostgres(url)
  await postgresTemplate
  const client = await serverAt(url)
  const washed = await takeWashed(client)
  if (washed !== undefined) return configOf(url, washed)
  const name = `test_${randomBytes(8).toString('hex')}`
  await client.query(`create database ${name} template ${TEMPLATE}${await copyStrategy(client)}`)
  return configOf(url, name)
}

/** Copying files is much faster than copying pages through the log; before Postgres 15 it is the only way. */
async function copyStrategy(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ isKnown: boolean }>(`select current_setting('server_version_num')::int >= 150000 as "isKnown"`)
  return rows[0]?.isKnown ? ' strategy file_copy' : ''
}

/** Ends the use of a database, which is emptied for reuse, or removed. */
export async function giveBack(config: Extract<DatabaseConfig, { kind: 'postgres' }>, url: string): Promise<void> {
  const own = config.url.reveal()
  const name = new URL(own).pathname.slice(1)
  const client = await serverAt(url)
  const isWashed = await onServer(own, (used) => wash(client, used, SCHEMA)).catch(() => false)
  await (isWashed ? keepWashed(client, name) : client.query(`drop database if exists ${name} with (force)`))
}

/** Concurrent workers create one each, and all use the last. */
async function makeSqlite(): Promise<string> {
  const folder = sharedFolder()
  if (folder === undefined) throw new Error('databases are copied only within a run of the tests')
  const template = join(folder, 'migrated.db')
  if (existsSync(template)) return template
  const own = mkdtempSync(join(folder, 'migrating-'))
  const path = join(own, 'mirror.db')
  await migrateNew({ kind: 'sqlite', path })
  if (readdirSync(own).length > 1) throw new Error(`the database was closed, and yet there are ${readdirSync(own).join(', ')}`)
  renameSync(path, template)
  return template
}

async function makePostgres(url: string): Promise<void> {
  await onServer(url, async (client) => {
    await client.query('select pg_advisory_lock(hashtext($1))', [TEMPLATE])
    const made = await client.query('select 1 from pg_database where datname = $1', [TEMPLATE])
    if (made.rows.length > 0) return
    const unfinished = `${TEMPLATE}_unfinished`
    await client.query(`drop database if exists ${unfinished}`)
    await client.query(`create database ${unfinished}`)
    const config = configOf(url, unfinished)
    await migrateNew(config)
    await onServer(config.url.reveal(), (fresh) => describeFresh(client, fresh, SCHEMA))
    // Only a database without connections can be copied.
    await client.query(`alter database ${unfinished} allow_connections false`)
    await client.query(`alter database ${unfinished} rename to ${TEMPLATE}`)
  })
}

async function migrateNew(config: DatabaseConfig): Promise<void> {
  const log = createLog({ level: 'silent', pretty: false, secrets: [], destination: { write() {} } })
  const db = await openDb(config, { clock: systemClock, log })
  await migrate(db)
  await db.close()
}

function configOf(url: string, database: string): Extract<DatabaseConfig, { kind: 'postgres' }> {
  const own = new URL(url)
  own.pathname = `/${database}`
  const secret = { reveal: () => own.href }
  return { kind: 'postgres', url: secret, schema: SCHEMA, listenUrl: secret }
}

function serverAt(url: string): Promise<pg.Client> {
  const known = servers.get(url) ?? connect(url)
  servers.set(url, known)
  return known
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  // The server may end before this process.
  client.on('error', () => servers.delete(url))
  await client.connect()
  return client
}

async function onServer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
