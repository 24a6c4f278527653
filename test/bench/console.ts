import type { DatabaseConfig } from '../../src/store/engine/db.ts'
import { newPostgres, newSqlite } from '../tools/databases.ts'
import { startPostgres } from '../tools/postgres-server.ts'
import type { LoadResult } from './children/receive-load.ts'
import { lookAlone, lookAround, type Place, pages, type Visits } from './console/people.ts'
import { startLoad } from './load.ts'
import { openFilled } from './lookups/filled.ts'
import { BUSY, type Scale } from './lookups/rows.ts'
import { startServe, WEBHOOK_SECRET } from './serve-process.ts'
import { atMost, type BenchRow, quantile } from './table.ts'

/** LOOKUPS_SUBMISSIONS overrides the number of submissions. */
const SUBMISSIONS = Number(process.env['LOOKUPS_SUBMISSIONS'] ?? 100_000)
const SCALE: Scale = { submissions: SUBMISSIONS, events: SUBMISSIONS * 50 }
/** Existing filled databases: `sqlite:…`, and `postgres://…` with the schema `mirror`. If one is set, only that is measured. */
const FILLED = { sqlite: process.env['CONSOLE_SQLITE'], postgres: process.env['CONSOLE_POSTGRES'] }
const PEOPLE = 10
const AT_REST = 15
/** CONSOLE_SECONDS overrides the duration. */
const SECONDS = Number(process.env['CONSOLE_SECONDS'] ?? 60)
const DELIVERIES_A_SECOND = 200
const CONNECTIONS = 64
const NAMED = 500
const MEDIAN_MS = 150
const P99_MS = 400
const ACKNOWLEDGED_MS = 100
const TOKEN = 'bench-0123456789-abcdef'

/** Requests of each page of the console, with a year of a large brokerage, during deliveries, and their effect on acknowledgements. */
export async function consoleBench(): Promise<BenchRow[]> {
  const isGiven = Object.values(FILLED).some((url) => url !== undefined)
  const isMeasured = (kind: keyof typeof FILLED) => !isGiven || FILLED[kind] !== undefined
  return [...(isMeasured('sqlite') ? await onSqlite() : []), ...(isMeasured('postgres') ? await onPostgres() : [])]
}

async function onSqlite(): Promise<BenchRow[]> {
  if (FILLED.sqlite !== undefined) return await measure('SQLite', { DATABASE_URL: FILLED.sqlite })
  const { config, remove } = newSqlite()
  try {
    await fill(config)
    return await measure('SQLite', { DATABASE_URL: `sqlite:${config.path}` })
  } finally {
    await remove()
  }
}

async function onPostgres(): Promise<BenchRow[]> {
  if (FILLED.postgres !== undefined) return await measure('Postgres', { DATABASE_URL: FILLED.postgres, DATABASE_SCHEMA: 'mirror' })
  const server = await startPostgres()
  try {
    const { config } = newPostgres(server.url)
    await fill(config)
    return await measure('Postgres', { DATABASE_URL: config.url.reveal(), DATABASE_SCHEMA: config.schema })
  } finally {
    await server.remove()
  }
}

async function fill(config: DatabaseConfig): Promise<void> {
  const db = await openFilled(config, SCALE)
  await db.close()
}

async function measure(name: string, env: Record<string, string>): Promise<BenchRow[]> {
  // Keeps a year of bodies, so that retention removes nothing now.
  const settings = { ACCOUNT: BUSY, OPS_TOKENS: `bench:${TOKEN}:admin`, RETENTION_DAYS: 'off', CHANGES_RETENTION_DAYS: 'off' }
  const serve = await startServe({ ...env, ...settings })
  const load = await startLoad()
  try {
    const port = Number(new URL(serve.receiverUrl).port)
    const requests = DELIVERIES_A_SECOND * SECONDS + CONNECTIONS
    const first = Date.now() % 1_000_000_000
    const job = { port, secret: WEBHOOK_SECRET, connections: CONNECTIONS, seconds: SECONDS, rate: DELIVERIES_A_SECOND, submissions: NAMED }
    const place = { api: `${serve.opsUrl}/api/v1`, token: TOKEN, submissions: SUBMISSIONS }
    await firstSums(place)
    const atRest = await lookAlone(place, AT_REST)
    const alone = await load.send({ ...job, requests, first })
    const looking = new AbortController()
    const people = lookAround(place, PEOPLE, looking.signal)
    const watched = await load.send({ ...job, requests, first: first + requests })
    looking.abort()
    return [...pageRows(name, atRest, await people), acknowledged(name, alone, watched)]
  } finally {
    await load.stop()
    await serve.stop()
  }
}

async function firstSums({ api, token }: Place): Promise<void> {
  for (;;) {
    const answer = await fetch(`${api}/completeness`, { headers: { authorization: `Bearer ${token}` } })
    if (answer.ok) return
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}

/** Also shows each page at rest, without other users and deliveries. */
function pageRows(name: string, atRest: Visits, visits: Visits): BenchRow[] {
  return Object.keys(pages).flatMap((page) => {
    const what = `data of the page "${page}", ${PEOPLE} people, ${DELIVERIES_A_SECOND} deliveries/s, ${name}`
    return (
      [
        ['median', 0.5, MEDIAN_MS],
        ['p99', 0.99, P99_MS],
      ] as const
    ).map(([label, share, limit]) => ({
      ...atMost(`${what}, ${label}`, 'ms', quantile(visits.get(page) ?? [], share), limit),
      baseline: `${quantile(atRest.get(page) ?? [], share).toFixed(1)} ms at rest`,
    }))
  })
}

function acknowledged(name: string, alone: LoadResult, watched: LoadResult): BenchRow {
  const [before, after] = [alone, watched].map(({ latencies }) => quantile(latencies, 0.99)) as [number, number]
  return {
    ...atMost(`acknowledgement at ${DELIVERIES_A_SECOND}/s, p99, with ${PEOPLE} people looking, ${name}`, 'ms', after, ACKNOWLEDGED_MS),
    baseline: `${before.toFixed(1)} ms with nobody`,
    ratio: (after / before).toFixed(2),
  }
}
