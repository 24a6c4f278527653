// Measures Postgres with very many changes, and prints a table: `npm run build && node test/bench/many-changes.ts 100000000`. A server is filled and
// removed; MANY_CHANGES_URL is that of one that was filled before, and stays.
import { cpus, loadavg } from 'node:os'
import { systemClock } from '../../src/base/clock.ts'
import { openDb } from '../../src/store/open/open.ts'
import { silentLog } from '../tools/databases.ts'
import { configOf, manyChanges, startFilled } from './many-changes/filled.ts'
import { measureLoad } from './many-changes/load.ts'
import { changeLookups } from './many-changes/lookups.ts'
import { atMost, type BenchRow, median, quantile, tableOf } from './table.ts'

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
    for (const { name, run } of changeLookups(CHANGES)) {
      const times: number[] = []
      for (let n = 0; n < RUNS; n++) {
        const startedAt = performance.now()
        await run(db.read, n)
        times.push(performance.now() - startedAt)
      }
      const row = atMost(name, 'ms', median(times), LOOKUP_MS)
      rows.push({ ...row, value: `${row.value} (p99 ${quantile(times, 0.99).toFixed(1)})` })
    }
    return rows
  } finally {
    await db.close()
  }
}
