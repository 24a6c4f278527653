import { randomBytes } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { type Child, startChild } from '../tools/child.ts'
import { databaseText } from '../tools/database-json.ts'
import { newPostgres, newSqlite } from '../tools/databases.ts'
import { startPostgres } from '../tools/postgres-server.ts'
import type { Job, LoadResult } from './children/receive-load.ts'
import { atMost, type BenchRow, compare, median, quantile, tableOf } from './table.ts'

const SECONDS = 3
const CONNECTIONS = 64
const OPEN_LOOP_SECONDS = 6
/** More than any of the servers answers in a second. */
const MOST_A_SECOND = 30_000
const LATENCY_SHARE = 0.99

/** A server that is measured, in a process of its own. */
interface Server {
  readonly port: number
  readonly child: Child
}

/**
 * Durable acknowledgements a second on SQLite and on Postgres, each against the same Fastify route with the check of the signature and no
 * storage, in turns; and the time of an acknowledgement at half of that rate. Servers and load have a process each.
 */
export async function receiveBench(): Promise<BenchRow[]> {
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const postgres = await startPostgres()
  const places = { SQLite: newSqlite(), Postgres: newPostgres(postgres.url) } as const
  const load = startChild('bench/children/receive-load.ts', [])
  await load.says('ready')
  const baseline = await startServer('baseline', secret)
  try {
    const rows: BenchRow[] = []
    for (const [name, required] of [
      ['SQLite', 0.7],
      ['Postgres', 0.7],
    ] as const) {
      const server = await startServer(databaseText(places[name].config), secret)
      rows.push(...(await measure(name, required, { load, secret, baseline, server })))
      await server.child.kill()
    }
    return rows
  } finally {
    await baseline.child.kill()
    await load.kill()
    await postgres.remove()
    await places.SQLite.remove()
  }
}

interface Bench {
  readonly load: Child
  readonly secret: string
  readonly baseline: Server
  readonly server: Server
}

async function measure(name: string, required: number, { load, secret, baseline, server }: Bench): Promise<BenchRow[]> {
  const rates: number[] = []
  const rateOf = async ({ port }: Server): Promise<number> => {
    const job = { port, secret, connections: CONNECTIONS, seconds: SECONDS, rate: null, requests: MOST_A_SECOND * SECONDS }
    return (await send(load, job)).answered / SECONDS
  }
  const ours = async (): Promise<number> => {
    const rate = await rateOf(server)
    rates.push(rate)
    return rate
  }
  // Warms both up.
  await rateOf(baseline)
  await rateOf(server)
  const bar = `durable acknowledgements, ${CONNECTIONS} connections, 2 KB bodies, ${name}`
  const row = await compare(bar, 'acks/s', required, ours, () => rateOf(baseline))
  const rate = Math.round(median(rates) / 2)
  const job = { port: server.port, secret, connections: CONNECTIONS, seconds: OPEN_LOOP_SECONDS, rate }
  const { latencies } = await send(load, { ...job, requests: rate * OPEN_LOOP_SECONDS + CONNECTIONS })
  return [row, atMost(`acknowledgement at ${rate}/s, open loop, p99, ${name}`, 'ms', quantile(latencies, LATENCY_SHARE), 100)]
}

async function startServer(kind: string, secret: string): Promise<Server> {
  const child = startChild('bench/children/receive-server.ts', [kind, secret])
  return { child, port: Number(await child.says('listening')) }
}

async function send(load: Child, job: Job): Promise<LoadResult> {
  load.tell(JSON.stringify(job))
  const result = JSON.parse(await load.says('result')) as LoadResult
  if (result.refused > 0) throw new Error(`${result.refused} deliveries were refused`)
  return result
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(tableOf(await receiveBench()))
