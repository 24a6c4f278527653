// Measures Postgres with very many changes, and prints a table: `npm run build && node test/bench/many-changes.ts 100000000`. Fills a
// server and removes it, unless MANY_CHANGES_URL names a filled one.
import { cpus, loadavg } from 'node:os'
import { systemClock } from '../../src/base/clock.ts'
import { openDb } from '../../src/store/open/open.ts'
import { silentLog } from '../tools/databases.ts'
import { configOf, manyChanges, startFilled } from './many-changes/filled.ts'
import { measureLoad } from './many-changes/load.ts'
import { changeLookups } from './many-changes/lookups.ts'
import { type BenchRow, tableOf, timed } from './table.ts'

const CHANGES = Number(process.argv[2] ?? 1_000_000)
const RUNS = 15
const LOOKUP_MS = 100

const given = process.env['MANY_CHANGES_URL']
const server = given === undefined ? await startFilled(manyChanges(CHANGES)) : null
const url = given ?? server?.url ?? ''
try {
  const rows = [...(await lookups(url)), ...(await measureLoad(url))]
  const [load = 0] = loadavg()
  console.log(
    `${new Date().toISOString().slice(0, 10)}, ${CHANGES.toLocaleString('en')} changes, ${cpus().length} cores, load ${load.toFixed(1)}\n`,
  )
  console.log(tableOf(rows))
} finally {
  await server?.remove()
}

async function lookups(url: string): Promise<BenchRow[]> {
  const db = await openDb(configOf(url), { clock: systemClock, log: silentLog })
  try {
    const rows: BenchRow[] = []
    for (const { name, run } of changeLookups(CHANGES)) rows.push(await timed(name, RUNS, LOOKUP_MS, (n) => run(db.read, n)))
    return rows
  } finally {
    await db.close()
  }
}
