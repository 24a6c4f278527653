import { newPostgres, newSqlite } from '../tools/databases.ts'
import { startPostgres } from '../tools/postgres-server.ts'
import { openFilled } from './size/filled.ts'
import { measureQueries } from './size/queries.ts'
import { measureRoutes } from './size/routes.ts'
import type { Scale } from './size/rows.ts'
import type { BenchRow } from './table.ts'

/** SIZE_SUBMISSIONS overrides the number of submissions. Each has 50 events. */
const SUBMISSIONS = Number(process.env['SIZE_SUBMISSIONS'] ?? 100_000)
const SCALE: Scale = { submissions: SUBMISSIONS, events: SUBMISSIONS * 50, queued: SUBMISSIONS * 10 }
/** Databases that an earlier run filled: `sqlite:…`, and `postgres://…` with the schema `mirror`. If one is set, only that is measured. */
const FILLED = { sqlite: process.env['SIZE_SQLITE'], postgres: process.env['SIZE_POSTGRES'] }

/** Every route and every example query, with a year of a large brokerage. Prints only what exceeds a bar, and the slowest of the rest. */
export async function sizeBench(): Promise<BenchRow[]> {
  const isGiven = Object.values(FILLED).some((url) => url !== undefined)
  const isMeasured = (kind: keyof typeof FILLED) => !isGiven || FILLED[kind] !== undefined
  return [...(isMeasured('sqlite') ? await onSqlite() : []), ...(isMeasured('postgres') ? await onPostgres() : [])]
}

async function onSqlite(): Promise<BenchRow[]> {
  if (FILLED.sqlite !== undefined) return await measure('SQLite', { DATABASE_URL: FILLED.sqlite })
  const { config, remove } = newSqlite()
  try {
    await (await openFilled(config, SCALE)).close()
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
    await (await openFilled(config, SCALE)).close()
    return await measure('Postgres', { DATABASE_URL: config.url.reveal(), DATABASE_SCHEMA: config.schema })
  } finally {
    await server.remove()
  }
}

async function measure(name: string, env: Readonly<Record<string, string>>): Promise<BenchRow[]> {
  return [...(await measureRoutes(name, env, SCALE)), ...(await measureQueries(name, env, SCALE))]
}
