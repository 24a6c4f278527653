import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { TransientError } from '../../../src/base/errors.ts'
import { createLog } from '../../../src/base/log.ts'
import { OnceAMinute } from '../../../src/base/once-a-minute.ts'
import type { DatabaseConfig, Db, Tx } from '../../../src/store/engine/db.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { openDb } from '../../../src/store/open/open.ts'
import { type PostgresConfig, PostgresPool } from '../../../src/store/postgres/pool.ts'
import { PostgresServers } from '../../../src/store/postgres/servers.ts'
import { timeFromPostgres } from '../../../src/store/postgres/types.ts'
import { newPostgres, openAgain, runSql } from '../../tools/databases.ts'
import { type PostgresServer, startPostgres } from '../../tools/postgres-server.ts'
import { closedAtEnd } from '../../tools/servers.ts'
import { until } from '../../tools/until.ts'

function count(tx: Tx, account: string): Promise<unknown> {
  return tx.sql
    .insertInto('sync_counters')
    .values({ account, name: 'n', label: '', value: 1 })
    .onConflict((c) => c.columns(['account', 'name', 'label']).doUpdateSet((e) => ({ value: e('sync_counters.value', '+', 1) })))
    .execute()
}

async function accounts(db: Db): Promise<string[]> {
  return (await db.read.sql.selectFrom('sync_counters').select('account').orderBy('account').execute()).map((row) => row.account)
}

/** After its first statement, cancels the connection's next statement with `part`, like `pg_cancel_backend`. @returns its result. */
function cancelNext(part: string): Promise<unknown> {
  const send = pg.Client.prototype.query as (query: { text: string }) => Promise<unknown>
  const canceled = Promise.withResolvers<unknown>()
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  spy.mockImplementation(function (this: pg.Client, query: { text: string }) {
    if (!query.text.includes(part)) return send.call(this, query)
    spy.mockRestore()
    const text = query.text.replace('; ', '; select pg_cancel_backend(pg_backend_pid()), pg_sleep(60); ')
    const sent = send.call(this, { ...query, text })
    canceled.resolve(sent.catch((error: unknown) => error))
    return sent
  } as never)
  return canceled.promise
}

describe('Postgres', () => {
  let place: ReturnType<typeof newPostgres>
  let db: Db

  beforeAll(async () => {
    place = newPostgres(inject('postgresUrl'))
    db = await openAgain(place.config)
    await migrate(db)
  })
  afterAll(async () => {
    await db.close()
    await place.remove()
  })

  it('is of the version that this project tries', async () => {
    const row = await db.read.one(sql<{ version: string }>`select current_setting('server_version') as version`)
    expect(Number.parseInt(row?.version ?? '', 10)).toBe(inject('postgresVersion'))
  })

  it('logs once a minute that the server ends its sessions, and what that means', async () => {
    const lines: string[] = []
    const destination = { write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg) }
    const own = await openDb(place.config, {
      clock: systemClock,
      log: createLog({ level: 'info', pretty: false, secrets: [], destination }),
    })
    const stop = new AbortController()
    const listening = own.listen(stop.signal)
    const admin = new pg.Client({ connectionString: inject('postgresUrl') })
    await admin.connect()
    onTestFinished(async () => {
      stop.abort()
      await Promise.all([listening, own.close(), admin.end()])
    })
    const session = () => own.read.all(sql<{ pid: number }>`select pg_backend_pid() as pid from pg_sleep(0.05)`)
    const listens = 'select pid from pg_stat_activity where query like $1'
    for (let round = 0; round < 3; round++) {
      let listeners: { pid: number }[] = []
      await until('it listens', async () => {
        listeners = (await admin.query<{ pid: number }>(listens, [`listen %${place.config.schema}"`])).rows
        return listeners.length === 1
      })
      const sessions = await Promise.all([session(), session(), session()])
      const pids = [...listeners, ...sessions.flat()].map(({ pid }) => pid)
      await admin.query('select pg_terminate_backend(pid) from unnest($1::int[]) as given(pid)', [pids])
      await until('they are gone', async () => {
        const { rows } = await admin.query('select from pg_stat_activity where pid = any($1::int[])', [pids])
        return rows.length === 0
      })
    }
    await until('all is logged', () => lines.length >= 2)
    const why =
      'Postgres ended the session (terminating connection due to administrator command); the server is stopping, or an administrator ends its sessions'
    expect(lines.toSorted()).toEqual([
      expect.stringContaining(`a Postgres connection was lost: ${why}`),
      expect.stringContaining(`notifications of other processes are not received now, so work starts up to a second later: ${why}`),
    ])
  })

  it('says of a connection that it waited for in vain that none came free, for the server may well be there', async () => {
    const config = place.config as PostgresConfig
    const pool = new PostgresPool(
      config,
      new PostgresServers(config.url),
      { max: 1, answerTimeoutMs: 35_000 },
      new OnceAMinute(systemClock, () => {}),
    )
    onTestFinished(() => pool.close())
    const held = await pool.connect()
    onTestFinished(() => held.release())
    await expect(pool.connect()).rejects.toThrow(
      /^no connection to Postgres became free in time \(timeout exceeded .*another session holds a lock/,
    )
  }, 20_000)

  it('writes again when the server is no longer read-only: a session that began while it was stays so for ever', async () => {
    const own = await closedAtEnd(openAgain(place.config))
    await runSql(own, sql`set session characteristics as transaction read only`)
    await expect(own.write('test', (tx) => count(tx, 'read-only'))).rejects.toThrow(/^Postgres is read-only now/)
    await own.write('test', (tx) => count(tx, 'read-only'))
    expect(await accounts(own)).toContain('read-only')
    await runSql(own, sql`delete from sync_counters where account = 'read-only'`)
  })

  it.each([
    ['begins a transaction', 'set local search_path'],
    ['notifies', 'notify'],
  ])('keeps no connection in a broken transaction when it is canceled while it %s', async (_, part) => {
    const own = await closedAtEnd(openAgain(place.config))
    const canceled = cancelNext(part)
    await own.write('test', async (tx) => tx.notifyOthers('outbox')).catch(() => {})
    expect(await canceled).toMatchObject({ code: '57014' })
    await new Promise(setImmediate)
    const look = () => own.write('test', async (tx) => await tx.all(sql`select 1 as one`))
    expect(await Promise.all([look(), look()])).toEqual([[{ one: 1 }], [{ one: 1 }]])
  })

  it('commits durably, in UTC and seeing earlier commits of others, with any defaults of server and role', async () => {
    const admin = new pg.Client({ connectionString: inject('postgresUrl') })
    await admin.connect()
    await admin.query(`do $$ begin
      if not exists (select 1 from pg_roles where rolname = 'careless') then create role careless login superuser password 'x'; end if; end $$`)
    await admin.query('alter role careless set synchronous_commit = off')
    await admin.query("alter role careless set timezone = 'Asia/Kolkata'")
    await admin.query("alter role careless set datestyle = 'German'")
    await admin.query("alter role careless set default_transaction_isolation = 'serializable'")
    await admin.end()
    const url = new URL(inject('postgresUrl'))
    url.username = 'careless'
    url.password = 'x'
    // Session settings are unreliable, as behind a pooler.
    for (const pooled of [false, true]) {
      const secret = { reveal: () => url.href }
      const config: DatabaseConfig = { ...place.config, url: secret, listenUrl: pooled ? { reveal: () => `${url.href}?` } : secret }
      const careless = await openAgain(config)
      const look = sql<{ durable: string; isolation: string; zone: string; at: string }>`select
        current_setting('synchronous_commit') as durable, current_setting('transaction_isolation') as isolation,
        current_setting('timezone') as zone, timestamptz '2026-01-31 08:00:00.5+05:30' as at`
      const inside = await careless.write('look', async (tx) => await tx.one(look))
      expect(inside).toEqual({ durable: 'on', isolation: 'read committed', zone: 'UTC', at: '2026-01-31T02:30:00.500000Z' })
      expect(await careless.read.one(look)).toEqual(inside)
      await careless.close()
    }
  })

  it.each([
    ['off', 'on'],
    ['local', 'on'],
    ['remote_write', 'on'],
    ['remote_apply', 'remote_apply'],
  ])('commits no less durably than %s, the default of its role, and at least with on', async (given, used) => {
    const role = `commits_${given}`
    const admin = new pg.Client({ connectionString: inject('postgresUrl') })
    await admin.connect()
    await admin.query(`do $$ begin
      if not exists (select 1 from pg_roles where rolname = '${role}') then create role ${role} login superuser password 'x'; end if; end $$`)
    await admin.query(`alter role ${role} set synchronous_commit = ${given}`)
    await admin.end()
    const url = new URL(inject('postgresUrl'))
    url.username = role
    url.password = 'x'
    const secret = { reveal: () => url.href }
    for (const listenUrl of [secret, { reveal: () => `${url.href}?` }]) {
      const own = await openAgain({ ...(place.config as PostgresConfig), url: secret, listenUrl })
      const look = async (tx: Tx) => (await tx.one(sql<{ now: string }>`select current_setting('synchronous_commit') as now`))?.now
      expect([await own.write('look', look), await own.write('look', look, { singleStatement: true })]).toEqual([used, used])
      await own.close()
    }
  })

  it('begins a transaction again that lost against another', async () => {
    await db.write('start', async (tx) => {
      await count(tx, 'a')
      await count(tx, 'b')
    })
    let runs = 0
    const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const cross = (own: number, first: string, second: string) =>
      db.write('cross', async (tx) => {
        runs++
        await count(tx, first)
        both[own]?.resolve()
        await both[1 - own]?.promise
        await count(tx, second)
      })
    await Promise.all([cross(0, 'a', 'b'), cross(1, 'b', 'a')])
    expect(runs).toBeGreaterThanOrEqual(3)
    expect(await db.read.sql.selectFrom('sync_counters').select('value').execute()).toEqual([{ value: 3 }, { value: 3 }])
  })

  it('does not take a transaction for committed in which a statement failed', async () => {
    const swallowing = db.write('swallow', async (tx) => {
      await count(tx, 'swallowed')
      await tx.run(sql`select 1 / 0`).catch(() => {})
    })
    await expect(swallowing).rejects.toThrow(/rolled back/)
    expect(await accounts(db)).not.toContain('swallowed')
  })

  it('takes a transaction of a single statement in one round trip, and no second statement', async () => {
    await db.write('alone', (tx) => count(tx, 'alone'), { singleStatement: true })
    const two = db.write(
      'two',
      async (tx) => {
        await count(tx, 'alone')
        await count(tx, 'alone')
      },
      { singleStatement: true },
    )
    await expect(two).rejects.toThrow('two ran a second statement')
    const failing = db.write('failing', (tx) => tx.run(sql`select 1 / 0`), { singleStatement: true })
    await expect(failing).rejects.toThrow(/division by zero/)
  })

  it('locks rows in key order until the transaction ends', async () => {
    const spec = {
      table: 'sync_counters',
      key: ['account', 'name', 'label'],
      columns: { account: 'text', name: 'text', label: 'text', value: 'int' },
    } as const
    const key = { account: 'locked', name: 'n', label: '' }
    await db.write('start', (tx) => count(tx, 'locked'))
    const locked = Promise.withResolvers<void>()
    const order: string[] = []
    const holder = db.write('hold', async (tx) => {
      await tx.selectMany(spec, [key], { lock: true })
      locked.resolve()
      // Continue once the other transaction is waiting for this one.
      const waiting = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%for update%'`
      await until('the other one waits', async () => (await db.read.one(waiting)) !== null)
      order.push('holder')
      await count(tx, 'locked')
    })
    await locked.promise
    const next = db.write('next', async (tx) => {
      const rows = await tx.selectMany(spec, [key], { lock: true })
      order.push('next')
      return rows[0]?.['value']
    })
    await holder
    expect(await next).toBe(2)
    expect(order).toEqual(['holder', 'next'])
  })

  it('writes times as TimeText, never cutting a fraction', () => {
    expect(timeFromPostgres('2026-01-31 08:00:00+00')).toBe('2026-01-31T08:00:00.000000Z')
    expect(timeFromPostgres('2026-01-31 08:00:00.12+00')).toBe('2026-01-31T08:00:00.120000Z')
    expect(timeFromPostgres('2026-01-31 08:00:00.123456+05:30')).toBe('2026-01-31T02:30:00.123456Z')
    expect(timeFromPostgres('infinity')).toBe('infinity')
  })
})

describe('a Postgres server that goes away', () => {
  let server: PostgresServer
  let db: Db
  let atPoint: (point: string) => void = () => {}

  beforeAll(async () => {
    server = await startPostgres({ fsync: false, version: inject('postgresVersion') })
    db = await openAgain(newPostgres(server.url).config, { failPoint: (point) => atPoint(point) })
    await migrate(db)
  })
  afterAll(async () => {
    await db.close()
    await server.remove()
  })

  it('is a transient error for reads and writes, and works again when it is back', async () => {
    await db.write('count', (tx) => count(tx, 'before'))
    await server.stop()
    await expect(db.write('count', (tx) => count(tx, 'lost'))).rejects.toThrow(TransientError)
    await expect(accounts(db)).rejects.toThrow(
      /Postgres cannot be reached \(.*\); check that it runs, .* DATABASE_URL|Postgres (?:is stopping|ended the session)|connection to Postgres broke off/,
    )
    await server.start()
    await db.write('count', (tx) => count(tx, 'after'))
    expect(await accounts(db)).toEqual(['after', 'before'])
  })

  it('rolls back open transactions', async () => {
    const inHand = db.write('count', async (tx) => {
      await count(tx, 'in hand')
      await server.kill()
      await count(tx, 'in hand too')
    })
    await expect(inHand).rejects.toThrow(TransientError)
    await server.start()
    expect(await accounts(db)).toEqual(['after', 'before'])
  })

  it('says that it is unknown whether a lone statement was committed when the answer is missing', async () => {
    atPoint = (point) => {
      if (point === 'doubtful:before-commit') void server.kill()
    }
    await expect(db.write('doubtful', (tx) => tx.run(sql`select pg_sleep(5)`), { singleStatement: true })).rejects.toThrow(
      /^It is unknown whether the transaction was committed/,
    )
    atPoint = () => {}
    await server.start()
  })

  it('says that it is unknown whether a transaction was committed when the answer is missing', async () => {
    let backend = 0
    // The server process dies before it reports the commit.
    atPoint = (point) => {
      if (point === 'doubtful:before-commit') process.kill(backend, 'SIGKILL')
    }
    const doubtful = db.write('doubtful', async (tx) => {
      const row = await tx.one(sql<{ pid: number }>`select pg_backend_pid() as pid`)
      backend = row?.pid ?? 0
      await count(tx, 'doubtful')
    })
    await expect(doubtful).rejects.toThrow(/^It is unknown whether the transaction was committed/)
    await expect(doubtful).rejects.toThrow(TransientError)
    atPoint = () => {}
    // The server restarts all its processes, and rejects connections until then.
    await until('it is back', () =>
      db
        .write('count', (tx) => count(tx, 'last'))
        .catch((error: unknown) => {
          if (!(error instanceof TransientError)) throw error
        }),
    )
    expect(await accounts(db)).toEqual(['after', 'before', 'last'])
  })
})
