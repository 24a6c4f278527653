import { randomBytes } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { type Child, startChild } from '../tools/child.ts'
import { databaseText } from '../tools/database-json.ts'
import { newPostgres, newSqlite } from '../tools/databases.ts'
import { startPostgres } from '../tools/postgres-server.ts'
import { type Load, startLoad } from './load.ts'
import { atMost, type BenchRow, compare, median, quantile, tableOf } from './table.ts'

const SECONDS = 3
const CONNECTIONS = 64
const OPEN_LOOP_SECONDS = 6
/** More than any server answers per second. */
const MOST_A_SECOND = 30_000
const LATENCY_SHARE = 0.99

interface Server {
  readonly port: number
  readonly child: Child
}

/**
 * Durable acknowledgements per second on SQLite and Postgres, in turns against the same Fastify route with a signature check and no
 * storage; and the latency at half of that rate. Servers and load have separate processes.
 */
export async function receiveBench(): Promise<BenchRow[]> {
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const postgres = await startPostgres()
  const places = { SQLite: newSqlite(), Postgres: newPostgres(postgres.url) } as const
  const load = await startLoad()
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
    await load.stop()
    await postgres.remove()
    await places.SQLite.remove()
  }
}

interface Bench {
  readonly load: Load
  readonly secret: string
  readonly baseline: Server
  readonly server: Server
}

async function measure(name: string, required: number, { load, secret, baseline, server }: Bench): Promise<BenchRow[]> {
  const rates: number[] = []
  const rateOf = async ({ port }: Server): Promise<number> => {
    const job = { port, secret, connections: CONNECTIONS, seconds: SECONDS, rate: null, requests: MOST_A_SECOND * SECONDS }
    return (await load.send(job)).answered / SECONDS
  }
  const ours = async (): Promise<number> => {
    const rate = await rateOf(server)
    rates.push(rate)
    return rate
  }
  await rateOf(baseline)
  await rateOf(server)
  const bar = `durable acknowledgements, ${CONNECTIONS} connections, 2 KB bodies, ${name}`
  const row = await compare(bar, 'acks/s', required, ours, () => rateOf(baseline))
  const rate = Math.round(median(rates) / 2)
  const job = { port: server.port, secret, connections: CONNECTIONS, seconds: OPEN_LOOP_SECONDS, rate }
  const { latencies } = await load.send({ ...job, requests: rate * OPEN_LOOP_SECONDS + CONNECTIONS })
  return [row, atMost(`acknowledgement at ${rate}/s, open loop, p99, ${name}`, 'ms', quantile(latencies, LATENCY_SHARE), 100)]
}

async function startServer(kind: string, secret: string): Promise<Server> {
  const child = startChild('bench/children/receive-server.ts', [kind, secret])
  return { child, port: Number(await child.says('listening')) }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) console.log(tableOf(await receiveBench()))
