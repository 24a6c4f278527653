import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { TransientError } from '../../../src/base/errors.ts'
import type { Log } from '../../../src/base/log.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { Heartbeat } from '../../../src/ops/status/heartbeat.ts'
import { Readiness } from '../../../src/ops/status/readiness.ts'
import { checkLogEpoch } from '../../../src/store/changes/log-epoch.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { readDatabaseHealth } from '../../../src/store/upkeep/database-health.ts'
import { countProcesses, listProcesses, type ProcessCounts, type ProcessRole, removeProcess } from '../../../src/store/upkeep/processes.ts'
import { type OpenedDatabase, openAgain, runSql, silentLog, testDatabases } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const entry = (id: string, role: ProcessRole) => ({ id, role, version: '0.0.0' })

const delivery = { account: 'acme', deliveryId: 'msg_1', receivedAt: timeFromMs(0), headers: {}, body: Buffer.from('{}'), secret: 1 }

async function refuseRows(db: Db, longerThan = 0): Promise<void> {
  const [refuse, body] =
    db.kind === 'sqlite'
      ? [null, `when length(new.body) > ${longerThan} begin select raise(abort, 'no room'); end`]
      : [
          "create function full_disk() returns trigger language plpgsql as $$ begin raise exception 'no room' using errcode = '53100'; end $$",
          `for each row when (length(new.body) > ${longerThan}) execute function full_disk()`,
        ]
  await db.write('test', async (tx) => {
    if (refuse !== null) await tx.run(sql.raw(refuse))
    await tx.run(sql.raw(`create trigger full_disk before insert on sync_inbox ${body}`))
  })
}

describe.each(testDatabases)('processes on $name', (database) => {
  let opened: OpenedDatabase
  let db: Db
  beforeEach(async () => {
    opened = await database.open()
    db = opened.db
  })
  afterEach(() => opened.close())

  it('know how many of them share a rate: those that read from the service, and those that push', async () => {
    const heard: ProcessCounts[] = []
    const heart = (id: string, role: ProcessRole) => new Heartbeat(db, silentLog, entry(id, role), (sharing) => heard.push(sharing))
    await heart('a', 'all').beat()
    await heart('b', 'receive').beat()
    await heart('c', 'work').beat()
    await heart('d', 'sync').beat()
    expect(heard.map(({ reading }) => reading)).toEqual([1, 1, 2, 3])
    expect(heard.map(({ pushing }) => pushing)).toEqual([1, 1, 2, 2])
    await removeProcess(db, 'd')
    expect((await countProcesses(db.read)).reading).toBe(2)
    expect((await listProcesses(db.read)).map((process) => process.process_id).sort()).toEqual(['a', 'b', 'c'])
  })

  it('are no longer counted when they were not seen for a while', async () => {
    await new Heartbeat(db, silentLog, entry('a', 'all'), () => {}).beat()
    await runSql(db, sql`update sync_processes set seen_at = ${timeFromMs(Date.now() - 60_000)}`)
    expect((await countProcesses(db.read)).reading).toBe(0)
    expect(await listProcesses(db.read)).toEqual([])
  })

  it('begin a new log epoch when the database was put in the place of another while they ran', async () => {
    const said: unknown[] = []
    const log = { ...silentLog, warn: (about: unknown) => void said.push(about) }
    await checkLogEpoch(db)
    const heart = new Heartbeat(db, log as unknown as Log, entry('a', 'all'), () => {})
    await heart.beat()
    expect(said).toEqual([])
    await db.write('test', (tx) => tx.sql.updateTable('sync_log_epochs').set({ origin: 'elsewhere' }).execute())
    await heart.beat()
    const { log_epoch } = await db.read.sql.selectFrom('mirror_info').select('log_epoch').executeTakeFirstOrThrow()
    expect(said).toEqual([{ logEpoch: log_epoch, afterSeq: 0, knownSeq: null, reason: 'copy' }])
    await heart.beat()
    expect(said).toHaveLength(1)
  })

  it('release claims of a dead one, once they ran long enough to see every living one', async () => {
    const clock = new ManualClock(Date.now())
    const other = await closedAtEnd(database.open({ clock }))
    const said: unknown[] = []
    const log = { ...silentLog, warn: (about: unknown) => void said.push(about) } as unknown as Log
    await new Heartbeat(other.db, silentLog, entry('dead', 'work'), () => {}).beat()
    const seen_at = timeFromMs(Date.now() - 60_000)
    await other.db.write('test', (tx) => tx.sql.updateTable('sync_processes').set({ seen_at }).execute())
    const heart = new Heartbeat(other.db, log, entry('a', 'all'), () => {})
    const beats = async (n: number, everyMs = 5_000) => {
      for (let beat = 0; beat < n; beat++) {
        await heart.beat()
        clock.advance(everyMs)
      }
    }
    await beats(4)
    clock.advance(11_000)
    await beats(4)
    expect(said).toEqual([])
    clock.advance(11_000)
    // On a busy machine a heartbeat may be late. It is no gap while a process is seen in time.
    await beats(2, 14_000)
    expect(said).toEqual([])
    await beats(1)
    expect(said).toEqual([{ process: 'dead', deliveries: 0, reads: 0 }])
    await beats(1)
    expect(said).toHaveLength(1)
  })

  it('say once a minute that they cannot be registered', async () => {
    const said: unknown[] = []
    const log = { ...silentLog, warn: (text: unknown) => void said.push(text) } as unknown as Log
    const clock = new ManualClock(Date.now())
    const away = Object.create(db, {
      clock: { value: clock },
      write: { value: () => Promise.reject(new TransientError('the database is away')) },
    }) as Db
    const heart = new Heartbeat(away, log, entry('a', 'all'), () => {})
    for (let beat = 0; beat < 13; beat++) {
      await heart.beat()
      clock.advance(5_000)
    }
    const text = 'this process could not be registered as alive: the database is away; retrying every 5 s'
    expect(said).toEqual([text, `${text} (11 more since this was last logged)`])
  })

  it('say good-bye when they stop', async () => {
    const stopping = new AbortController()
    const beat = Promise.withResolvers<void>()
    const running = new Heartbeat(db, silentLog, entry('a', 'all'), () => beat.resolve()).run(stopping.signal)
    await beat.promise
    expect((await countProcesses(db.read)).reading).toBe(1)
    stopping.abort()
    await running
    expect((await countProcesses(db.read)).reading).toBe(0)
  })

  it('are ready while the store accepts a write, and not while they stop', async () => {
    const other = await openAgain(opened.config)
    const readiness = new Readiness(other, entry('a', 'all'))
    expect(await readiness.notReady()).toBeNull()
    await other.close()
    expect(await new Readiness(other, entry('b', 'all')).notReady()).toMatch(/^cannot store a delivery now: /)
    readiness.drain()
    expect(await readiness.notReady()).toMatch(/^stopping/)
  })

  it('are not listed again by a reader of their metrics while they stop', async () => {
    const clock = new ManualClock(Date.now())
    const other = await database.open({ clock })
    try {
      const readiness = new Readiness(other.db, entry('a', 'all'))
      expect(await readiness.storeFault()).toBeNull()
      expect((await countProcesses(other.db.read)).reading).toBe(1)
      readiness.drain()
      await removeProcess(other.db, 'a')
      clock.advance(5_000)
      expect(await readiness.storeFault()).toBeNull()
      expect(await listProcesses(other.db.read)).toEqual([])
    } finally {
      await other.close()
    }
  })

  it('are not ready when the inbox alone takes nothing', async () => {
    await db.write('test', (tx) => tx.sql.schema.alterTable('sync_inbox').renameTo('another_inbox').execute())
    expect(await new Readiness(db, entry('a', 'all')).notReady()).toMatch(/^cannot store a delivery now: .*sync_inbox/)
  })

  it('are not ready while deliveries fail that small writes do not, as on a full disk with a little room in its pages', async () => {
    await refuseRows(db)
    const appender = new InboxAppender(db)
    const entryOf = entry('a', 'all')
    expect(await new Readiness(db, entryOf, appender).notReady()).toBeNull()
    expect((await appender.append([delivery]))[0]).toBeInstanceOf(Error)
    expect(await new Readiness(db, entryOf, appender).notReady()).toMatch(/^cannot store a delivery now: .*no room/)
    await expect(readDatabaseHealth(db)).rejects.toThrow('no room')
    await db.write('test', (tx) => tx.run(sql.raw(`drop trigger full_disk${tx.kind === 'postgres' ? ' on sync_inbox' : ''}`)))
    expect(await new Readiness(db, entryOf, appender).notReady()).toBeNull()
    expect(await db.read.sql.selectFrom('sync_inbox').select('inbox_id').execute()).toEqual([])
    expect(await appender.append([delivery])).toEqual([null])
    expect(appender.failedBytes).toBe(0)
  })

  it('are not ready while larger deliveries find no room that small ones find', async () => {
    await refuseRows(db, 20_000)
    const appender = new InboxAppender(db)
    expect((await appender.append([{ ...delivery, deliveryId: 'msg_large', body: Buffer.alloc(30_000) }]))[0]).toBeInstanceOf(Error)
    expect(await appender.append([delivery])).toEqual([null])
    expect(await new Readiness(db, entry('a', 'all'), appender).notReady()).toMatch(/^cannot store a delivery now: .*no room/)
    await db.write('test', (tx) => tx.run(sql.raw(`drop trigger full_disk${tx.kind === 'postgres' ? ' on sync_inbox' : ''}`)))
    expect(await new Readiness(db, entry('a', 'all'), appender).notReady()).toBeNull()
    expect(appender.failedBytes).toBe(0)
  })

  it('show why they are not ready even while the store does not answer: its last known problem', async () => {
    const clock = new ManualClock(Date.now())
    const answers = [
      Promise.reject(new TransientError('the database is locked')),
      new Promise<never>(() => {}),
      Promise.resolve(),
      new Promise<never>(() => {}),
    ]
    const store = Object.create(db, { clock: { value: clock }, write: { value: () => answers.shift() } }) as Db
    const readiness = new Readiness(store, entry('a', 'all'))
    expect(await readiness.notReady()).toBe('cannot store a delivery now: the database is locked')
    const silent = async () => {
      clock.advance(1_000)
      const reason = readiness.notReady()
      clock.advance(2_000)
      return await reason
    }
    expect(await silent()).toBe('cannot store a delivery now: the database is locked')
    clock.advance(1_000)
    expect(await readiness.notReady()).toBeNull()
    expect(await silent()).toBe('cannot store a delivery now: the store does not answer')
  })

  it('look again whether they are ready when the clock was put back', async () => {
    const clock = new ManualClock(Date.now())
    const other = await database.open({ clock })
    try {
      const readiness = new Readiness(other.db, entry('a', 'all'))
      expect(await readiness.notReady()).toBeNull()
      await other.db.write('test', (tx) => tx.sql.schema.dropTable('sync_processes').execute())
      clock.put(-3_600_000)
      clock.advance(1_000)
      expect(await readiness.notReady()).toMatch(/^cannot store a delivery now: /)
    } finally {
      await other.close()
    }
  })
})
