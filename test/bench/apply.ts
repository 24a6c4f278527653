import pg from 'pg'
import { systemClock } from '../../src/base/clock.ts'
import type { DatabaseConfig } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { openDb } from '../../src/store/open/open.ts'
import { newPostgres, newSqlite, silentLog } from '../tools/databases.ts'
import { startPostgres } from '../tools/postgres-server.ts'
import { type RowsByTable, share, sqliteRows, writeSqlite } from './hand-written.ts'
import { fillInbox, workOff } from './inbox.ts'
import { type BenchRow, compare } from './table.ts'

const DELIVERIES = 10_000
const SUBMISSIONS = 500
/** Deliveries per transaction, as in work/worker.ts. */
const BATCH = { sqlite: 100, postgres: 250 } as const
/** Tables that a message fills, in the order of the hand-written inserts. */
const TABLES = ['submissions', 'sync_reads', 'thread_messages', 'thread_attachments', 'sync_arrivals', 'changes'] as const

type Rows = RowsByTable<(typeof TABLES)[number]>

/** Applies a full inbox, against the same rows inserted by prepared statements in equal transactions. */
export async function applyBench(): Promise<BenchRow[]> {
  const server = await startPostgres()
  try {
    return [await onSqlite(), await onPostgres(server.url)]
  } finally {
    await server.remove()
  }
}

async function onSqlite(): Promise<BenchRow> {
  let rows: Rows | undefined
  const ours = async () => {
    const place = newSqlite()
    const rate = await rateOn(place.config)
    rows ??= sqliteRows(place.config.path, TABLES)
    await place.remove()
    return rate
  }
  await ours()
  const theirs = async () => DELIVERIES / (await writeSqlite(rows as Rows, DELIVERIES / BATCH.sqlite))
  return compare('deliveries applied, inbox full, SQLite', 'deliveries/s', 0.4, ours, theirs)
}

async function onPostgres(url: string): Promise<BenchRow> {
  let rows: Rows | undefined
  const ours = async () => {
    const place = newPostgres(url)
    const rate = await rateOn(place.config)
    rows ??= await postgresRows(url, place.config)
    await place.remove()
    return rate
  }
  await ours()
  return compare('deliveries applied, inbox full, Postgres', 'deliveries/s', 0.4, ours, () => writePostgres(url, rows as Rows))
}

async function rateOn(config: DatabaseConfig): Promise<number> {
  const db = await openDb(config, { clock: systemClock, log: silentLog })
  try {
    await migrate(db)
    await fillInbox(db, 'bench', DELIVERIES, SUBMISSIONS)
    return DELIVERIES / (await workOff(db, DELIVERIES))
  } finally {
    await db.close()
  }
}

async function connect(url: string, config: Extract<DatabaseConfig, { kind: 'postgres' }>): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`set search_path = "${config.schema}"; set synchronous_commit = on`)
  return client
}

async function postgresRows(url: string, config: Extract<DatabaseConfig, { kind: 'postgres' }>): Promise<Rows> {
  const client = await connect(url, config)
  const rows: [string, unknown[][]][] = []
  for (const table of TABLES) {
    const { rows: texts } = await client.query<{ row: string }>(`select row_to_json(t)::text as row from ${table} t`)
    rows.push([table, texts.map(({ row }) => [row])])
  }
  await client.end()
  return Object.fromEntries(rows) as unknown as Rows
}

/** Prepared once on the server; each row is one parameter, the text of `row_to_json`. */
async function writePostgres(url: string, rows: Rows): Promise<number> {
  const place = newPostgres(url)
  const db = await openDb(place.config, { clock: systemClock, log: silentLog })
  await migrate(db)
  await db.close()
  const client = await connect(url, place.config)
  const transactions = DELIVERIES / BATCH.postgres
  const startedAt = performance.now()
  for (let n = 0; n < transactions; n++) {
    await client.query('begin')
    for (const table of TABLES) {
      const text = `insert into ${table} select * from json_populate_record(null::${table}, $1)`
      for (const row of share(rows[table], n, transactions)) await client.query({ name: table, text, values: [...row] })
    }
    await client.query('commit')
  }
  const seconds = (performance.now() - startedAt) / 1000
  await client.end()
  await place.remove()
  return DELIVERIES / seconds
}
