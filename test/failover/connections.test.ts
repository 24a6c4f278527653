import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { TransientError } from '../../src/base/errors.ts'
import type { DatabaseConfig, Db } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { newPostgres, openAgain } from '../tools/databases.ts'
import { type Server, startPostgres } from '../tools/postgres-server.ts'
import { ask, follow, promote, REPLICATED, startStandby } from '../tools/postgres-standby.ts'
import { closedAtEnd } from '../tools/servers.ts'
import { until } from '../tools/until.ts'

let first: Server
let second: Server
let config: Extract<DatabaseConfig, { kind: 'postgres' }>

beforeAll(async () => {
  first = await startPostgres({ fsync: false, settings: REPLICATED })
  config = newPostgres(first.url).config
  const db = await openAgain(config)
  await migrate(db)
  await db.close()
  second = await startStandby(first, 'second', { fsync: false })
})
afterAll(async () => {
  await second.remove()
  await first.remove()
})

/** Opens the product's handle with a URL that names the servers in this order. */
async function openBoth(...servers: readonly Server[]): Promise<Db> {
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(',')
  const url = { reveal: () => `postgres://postgres:${first.password}@${hosts}/postgres?target_session_attrs=read-write` }
  const db = await closedAtEnd(openAgain({ ...config, url, listenUrl: url }))
  return db
}

/** Writes a row. @returns the port of the server. */
function write(db: Db): Promise<number> {
  return db.write('test', async (tx) => {
    await tx.run(sql`insert into sync_counters values (${`a${Math.random()}`}, 'n', '', 1)`)
    const row = await tx.one(sql<{ port: string }>`select current_setting('port') as port`)
    return Number(row?.port)
  })
}

async function written(server: Server): Promise<number> {
  const { rows } = await ask(server, (client) => client.query(`select count(*)::int as count from ${config.schema}.sync_counters`))
  return rows[0].count
}

it('connects to the server that takes writes, in whichever order they are named', async () => {
  expect(await write(await openBoth(first, second))).toBe(first.port)
  expect(await write(await openBoth(second, first))).toBe(first.port)
  const many = await openBoth(second, first)
  expect(await Promise.all(Array.from({ length: 12 }, () => write(many)))).toEqual(Array(12).fill(first.port))
})

it('hears notifications of other processes, though the standby is named first', async () => {
  const hearing = await openBoth(second, first)
  const stop = new AbortController()
  const listening = hearing.listen(stop.signal)
  const next = () => hearing.signals.wait('outbox', 60_000, stop.signal)
  // A new connection notifies every topic.
  await next()
  const heard = next()
  await (await openBoth(first)).write('test', async (tx) => tx.notifyOthers('outbox'))
  await heard
  stop.abort()
  await listening
})

it('rejects a standby that is named alone, in one sentence, and of several says why none can be used', async () => {
  const alone = await openBoth(second)
  await expect(write(alone)).rejects.toThrow(
    `127.0.0.1:${second.port} is a standby and takes no writes; name the primary in DATABASE_URL, or all servers: h1:5432,h2:5432`,
  )
  await expect(write(alone)).rejects.toThrow(TransientError)
  const nowhere = await openBoth(second, { port: 1 } as Server)
  await expect(write(nowhere)).rejects.toThrow(
    /^none of the 2 servers in DATABASE_URL takes writes now: 127\.0\.0\.1:\d+ is a standby .*; 127\.0\.0\.1:1: Postgres cannot be reached/,
  )
})

it('passes over a server that is read-only while another one can be asked; alone it is read', async () => {
  await ask(first, (client) => client.query("alter system set default_transaction_read_only = 'on'"))
  await ask(first, (client) => client.query('select pg_reload_conf()'))
  onTestFinished(async () => {
    await ask(first, async (client) => {
      await client.query('set default_transaction_read_only = off')
      await client.query('alter system reset default_transaction_read_only')
      await client.query('select pg_reload_conf()')
      await until('it is writable', async () => {
        const other = new pg.Client({ connectionString: first.url })
        await other.connect()
        const { rows } = await other.query("select current_setting('transaction_read_only') as now")
        await other.end()
        return rows[0].now === 'off'
      })
    })
  })
  await expect(write(await openBoth(first, second))).rejects.toThrow(/:\d+ is read-only and takes no writes.*is a standby/)
  const alone = await openBoth(first)
  expect(await alone.read.all(sql`select 1 as one`)).toEqual([{ one: 1 }])
  await expect(write(alone)).rejects.toThrow(/^Postgres is read-only now/)
})

it('drops every idle connection once a server says that it takes no writes', async () => {
  const db = await openBoth(first)
  const backends = async () => {
    const look = () => db.read.sql.selectNoFrom(sql<number>`pg_backend_pid()`.as('pid')).executeTakeFirstOrThrow()
    return new Set((await Promise.all(Array.from({ length: 8 }, look))).map(({ pid }) => pid))
  }
  const before = await backends()
  await db.write('test', (tx) => tx.run(sql`set session characteristics as transaction read only`))
  let refused = false
  while (!refused)
    refused = await write(db).then(
      () => false,
      () => true,
    )
  for (const pid of await backends()) expect(before).not.toContain(pid)
})

it('goes to the other server automatically after a switch, and back again', async () => {
  const db = await openBoth(first, second)
  expect(await write(db)).toBe(first.port)
  const before = await written(first)
  await until('the standby has it', async () => (await written(second)) === before)
  await first.kill()
  await expect(write(db)).rejects.toThrow(TransientError)
  await promote(second)
  expect(await write(db)).toBe(second.port)
  await follow(first, second, 'first')
  expect(await write(db)).toBe(second.port)
  // A new handle tries the standby first.
  expect(await write(await openBoth(first, second))).toBe(second.port)
  await second.kill()
  await promote(first)
  expect(await until('a write is taken', () => write(db).catch(() => null))).toBe(first.port)
})
