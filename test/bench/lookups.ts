import type { DatabaseConfig, Db } from '../../src/store/engine/db.ts'
import { newPostgres, newSqlite } from '../tools/databases.ts'
import { startPostgres } from '../tools/postgres-server.ts'
import { type Asked, consoleLookups, KEYS, ledgers, lookups } from './lookups/asked.ts'
import { openFilled } from './lookups/filled.ts'
import type { Scale } from './lookups/rows.ts'
import { atMost, type BenchRow, median, quantile } from './table.ts'

/** LOOKUPS_SUBMISSIONS makes a smaller database, to see what changes. */
const SUBMISSIONS = Number(process.env['LOOKUPS_SUBMISSIONS'] ?? 100_000)
const SCALE: Scale = { submissions: SUBMISSIONS, events: SUBMISSIONS * 50 }
const LOOKUP_MS = 100
const CONSOLE_MS = 150
const LEDGER_MS = 2_000
const LEDGER_RUNS = 3

/** What people look up, one by one, in a year of a large brokerage; and sums over all of it. */
export async function lookupsBench(): Promise<BenchRow[]> {
  const sqlite = newSqlite()
  const rows = await measure('SQLite', sqlite.config).finally(sqlite.remove)
  const server = await startPostgres({ fsync: false })
  try {
    return [...rows, ...(await measure('Postgres', newPostgres(server.url).config))]
  } finally {
    await server.remove()
  }
}

async function measure(name: string, config: DatabaseConfig): Promise<BenchRow[]> {
  const db = await openFilled(config, SCALE)
  try {
    const rows: BenchRow[] = []
    for (const asked of lookups(SCALE)) rows.push(await row(db, name, asked, KEYS, LOOKUP_MS))
    for (const asked of consoleLookups(SCALE)) rows.push(await row(db, name, asked, KEYS, CONSOLE_MS))
    for (const asked of ledgers()) rows.push(await row(db, name, asked, LEDGER_RUNS, LEDGER_MS))
    return rows
  } finally {
    await db.close()
  }
}

async function row(db: Db, database: string, asked: Asked, runs: number, limit: number): Promise<BenchRow> {
  const times: number[] = []
  for (let n = 0; n < runs; n++) times.push(await msOf(() => asked.run(db, n)))
  const measured = atMost(`${asked.name}, ${database}`, 'ms', median(times), limit)
  return { ...measured, value: `${measured.value} (p99 ${quantile(times, 0.99).toFixed(1)})` }
}

async function msOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}
