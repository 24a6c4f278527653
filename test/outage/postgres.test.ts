import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { accountEnv, databaseEnv, type ServeProcess, startServe } from '../e2e/serve.ts'
import { newPostgres, openAgain } from '../tools/databases.ts'
import { type PostgresServer, startPostgres } from '../tools/postgres-server.ts'
import { expectNothingLost, Load, readiness } from './load.ts'

const ENOUGH = 40
/** Each takes the whole time limit of a sender. */
const FEW = 8

let server: PostgresServer
let sandbox: Sandbox
let running: ServeProcess
let load: Load
let place: ReturnType<typeof newPostgres>

beforeAll(async () => {
  server = await startPostgres()
  sandbox = await startSandbox({ submissions: 0 })
})
afterAll(async () => {
  await sandbox.close()
  await server.remove()
})
beforeEach(async () => {
  place = newPostgres(server.url)
  running = await startServe({ ...databaseEnv(place.config), ...accountEnv(sandbox) })
  load = new Load({
    url: `${running.receiver}/webhooks`,
    secret: sandbox.account('default').webhookSecret,
    submissionId: sandbox.addSubmission('default'),
  })
  await load.answered(204, ENOUGH)
})
afterEach(async () => {
  await running.kill()
  await place.remove()
})

async function open(): Promise<Db> {
  return await openAgain(place.config)
}

async function expectRecovery(): Promise<void> {
  await load.answered(204, ENOUGH)
  await load.stop()
  await readiness(running, 200)
  const db = await open()
  await expectNothingLost(load, running, db)
  await db.close()
  expect(await running.stop()).toBe(0)
}

it.each(['stop', 'kill'] as const)(
  'while Postgres is away (%s) deliveries are answered 503, and accepted again when it is back',
  {},
  async (how) => {
    await server[how]()
    await load.answered(503, ENOUGH)
    await readiness(running, 503)
    await server.start()
    await expectRecovery()
  },
)

it('while Postgres hangs deliveries are answered 503 in time, and accepted again when it continues', async () => {
  const processes = await postgresProcesses()
  try {
    for (const pid of processes) signalIfAlive(pid, 'SIGSTOP')
    await load.answered(503, FEW)
    await readiness(running, 503)
  } finally {
    for (const pid of processes) signalIfAlive(pid, 'SIGCONT')
  }
  await expectRecovery()
})

/** The process of a connection may have ended since. */
function signalIfAlive(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** The postmaster and the process of every connection. */
async function postgresProcesses(): Promise<number[]> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  const text = "select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
  const { rows } = await client.query<{ pid: number }>(text)
  const setting = await client.query<{ line: string }>("select pg_read_file('postmaster.pid') as line")
  await client.end()
  return [...rows.map((row) => row.pid), Number.parseInt(setting.rows[0]?.line ?? '', 10)]
}
