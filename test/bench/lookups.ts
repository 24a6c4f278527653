import type { DatabaseConfig } from '../../src/store/engine/db.ts'
import { newPostgres, newSqlite } from '../tools/databases.ts'
import { startPostgres } from '../tools/postgres-server.ts'
import { consoleLookups, KEYS, type Lookup, ledgers, lookups } from './lookups/asked.ts'
import { openFilled } from './lookups/filled.ts'
import type { Scale } from './lookups/rows.ts'
import { type BenchRow, timed } from './table.ts'

/** LOOKUPS_SUBMISSIONS overrides the number of submissions. */
const SUBMISSIONS = Number(process.env['LOOKUPS_SUBMISSIONS'] ?? 100_000)
const SCALE: Scale = { submissions: SUBMISSIONS, events: SUBMISSIONS * 50 }
const LOOKUP_MS = 100
const CONSOLE_MS = 150
const LEDGER_MS = 2_000
const LEDGER_RUNS = 3

/** Lookups in a year of a large brokerage, and totals over all of it. */
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
  const row = (asked: Lookup, runs: number, limitMs: number) => timed(`${asked.name}, ${name}`, runs, limitMs, (n) => asked.run(db, n))
  try {
    const rows: BenchRow[] = []
    for (const asked of lookups(SCALE)) rows.push(await row(asked, KEYS, LOOKUP_MS))
    for (const asked of consoleLookups(SCALE)) rows.push(await row(asked, KEYS, CONSOLE_MS))
    for (const asked of ledgers()) rows.push(await row(asked, LEDGER_RUNS, LEDGER_MS))
    return rows
  } finally {
    await db.close()
  }
}
