import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import type { ServerUrl } from '../../src/base/postgres-url.ts'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { DatabaseConfig } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { openDb } from '../../src/store/open/open.ts'
import { PostgresServers } from '../../src/store/postgres/servers.ts'
import { json, runHere } from '../app/run.ts'
import { accountEnv, databaseEnv } from '../e2e/serve.ts'
import { newPostgres, openAgain } from '../tools/databases.ts'
import { type Server, startPostgres } from '../tools/postgres-server.ts'
import { ask, promote, REPLICATED, startStandby, waitFor } from '../tools/postgres-standby.ts'
import { closedAtEnd } from '../tools/servers.ts'

let old: Server
let promoted: Server
let config: Extract<DatabaseConfig, { kind: 'postgres' }>

beforeAll(async () => {
  old = await startPostgres({ fsync: false, settings: REPLICATED })
  const { config: alone } = newPostgres(old.url)
  const db = await openAgain(alone)
  await migrate(db)
  await db.close()
  promoted = await startStandby(old, 'db2', { fsync: false })
  // Later commits reach the standby before its promotion.
  await waitFor(old, 'db2')
  // An ordinary role, which may not read control data.
  await ask(old, async (client) => {
    await client.query("create role plain login password 'x'")
    await client.query(`grant usage on schema ${alone.schema} to plain`)
    await client.query(`grant select, insert, update, delete on all tables in schema ${alone.schema} to plain`)
  })
  await waitFor(old, '')
  await promote(promoted)
  const url = { reveal: () => `postgres://plain:x@127.0.0.1:${old.port},127.0.0.1:${promoted.port}/postgres` }
  config = { ...alone, url, listenUrl: url }
})
afterAll(async () => {
  await promoted?.remove()
  await old?.remove()
})

const warning = () =>
  `2 servers of DATABASE_URL are primary: 127.0.0.1:${old.port} (timeline 1), 127.0.0.1:${promoted.port} (timeline 2). ` +
  `Stop all but 127.0.0.1:${promoted.port}, which has the highest timeline and is used`

it('a new process uses the primary with the highest timeline, and warns of two', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'warn', pretty: false, secrets: [], destination: { write: (line: string) => void lines.push(line) } })
  const db = await closedAtEnd(openDb(config, { clock: systemClock, log }))
  const rows = await db.read.all(sql<{ port: number }>`select inet_server_port() as port`)
  expect(rows).toEqual([{ port: promoted.port }])
  expect(lines).toContainEqual(expect.stringContaining(warning()))
})

it('a connection to the old primary is rejected, and one to the new primary closes those to the old', async () => {
  const servers = new PostgresServers(config.url)
  const connect = async (server: Server) => {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    onTestFinished(() => client.end())
    return client
  }
  const [ofOld, ofPromoted] = servers.all as [ServerUrl, ServerUrl]
  await servers.inspect(await connect(old), ofOld)
  const before = servers.generation
  await servers.inspect(await connect(promoted), ofPromoted)
  expect(servers.generation).toBe(before + 1)
  await expect(servers.inspect(await connect(old), ofOld)).rejects.toThrow(
    `127.0.0.1:${old.port} is primary on timeline 1, and another server on timeline 2; stop 127.0.0.1:${old.port}`,
  )
})

it('doctor checks that primary, and reports two', async () => {
  const sandbox = await closedAtEnd(startSandbox({ submissions: 0, autoStart: false }))
  const env = { ...databaseEnv(config), ...accountEnv(sandbox) }
  const { items } = json<{ items: { text: string; ok: boolean }[] }>(await runHere(['doctor', '--json'], env))
  expect(items).toContainEqual(expect.objectContaining({ ok: false, text: warning() }))
})
