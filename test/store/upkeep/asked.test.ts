import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { LeaseLostError } from '../../../src/base/errors.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { countConflicts } from '../../../src/store/operators/alarm-queries.ts'
import { reportAlarm } from '../../../src/store/operators/alarms.ts'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { apiChangeCounts, MAX_API_CHANGES, readApiChanges, writeApiChanges } from '../../../src/store/upkeep/api-changes.ts'
import { readClocks } from '../../../src/store/upkeep/clocks.ts'
import { documentCoverage, extraReadCoverage, readCoverage, tableCoverage } from '../../../src/store/upkeep/coverage.ts'
import { probeListening, readDatabaseHealth } from '../../../src/store/upkeep/database-health.ts'
import { readFigures, writeFigures } from '../../../src/store/upkeep/figures.ts'
import { readHealth } from '../../../src/store/upkeep/health.ts'
import {
  countProcesses,
  isCommandReading,
  listProcesses,
  recordHeartbeat,
  removeDeadProcesses,
  removeProcess,
} from '../../../src/store/upkeep/processes.ts'
import { readReplication } from '../../../src/store/upkeep/replication.ts'
import { sizeOfRun } from '../../../src/store/upkeep/run-size.ts'
import { readsOffStatus, readsStatus } from '../../../src/store/upkeep/status.ts'
import {
  claimUpkeep,
  confirmUpkeep,
  endUpkeep,
  isUpkeepDone,
  lastUpkeep,
  renewUpkeep,
  setUpkeepWait,
  slotText,
  type UpkeepLease,
} from '../../../src/store/upkeep/upkeep.ts'
import { testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { at, observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { fillScene } from '../../tools/query-scene.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const BAKERY = uuid(9, 1)
const time = (minute: number) => at(minute).replace('.000Z', '.000000Z')

describe.each(testDatabases)('upkeep on $name', (database) => {
  async function opened(clock = new ManualClock(Date.now())): Promise<Db> {
    const { db } = await closedAtEnd(database.open({ clock }))
    return db
  }

  function deliver(db: Db, ...minutes: number[]) {
    const items = minutes.map((minute) => {
      const receivedAt = time(minute)
      return { account: 'acme', deliveryId: `msg_${minute}`, receivedAt, secret: 1, headers: {}, body: Buffer.from('{}') }
    })
    return new InboxAppender(db).append(items)
  }

  it('one process performs a run of a task, another resumes it, and it may wait for an operator', async () => {
    const db = await opened()
    const turn = { slot: timeFromMs(Date.now()).slice(0, 10), settings: 'a' }
    const claim = (over: object = {}, leaseMs = 60_000) => claimUpkeep(db, 'retention', { ...turn, ...over }, leaseMs)
    const first = (await claim({}, -1)) as UpkeepLease
    expect(first).toMatchObject({ task: 'retention', position: 0 })
    const second = (await claim()) as UpkeepLease
    expect(await claim()).toBe('held')
    await expect(db.write('test', (tx) => renewUpkeep(tx, first))).rejects.toThrow(LeaseLostError)
    await db.write('test', (tx) => renewUpkeep(tx, second, 42))
    await endUpkeep(db, second, null)
    expect([await isUpkeepDone(db, 'retention', turn), await isUpkeepDone(db, 'other', turn)]).toEqual([false, false])
    const third = (await claim()) as UpkeepLease
    expect(third.position).toBe(42)
    await endUpkeep(db, third, 'removed 3 rows')
    expect([await claim(), await claim({ slot: '2020-01-01' }), await isUpkeepDone(db, 'retention', turn)]).toEqual(['done', 'done', true])
    expect(await claim({ settings: 'b' })).toMatchObject({ task: 'retention' })
    await setUpkeepWait(db, 'retention', 'the clock is wrong')
    const { waits_since } = (await lastUpkeep(db.read, 'retention')) ?? {}
    await setUpkeepWait(db, 'retention', 'much would go')
    expect(await lastUpkeep(db.read, 'retention')).toMatchObject({ waits_for: 'much would go', waits_since })
    await setUpkeepWait(db, 'retention', null)
    await confirmUpkeep(db, 'retention', turn)
    expect(await lastUpkeep(db.read, 'retention')).toMatchObject({ waits_for: null, waits_since: null, confirmed: slotText(turn) })
    expect(await lastUpkeep(db.read, 'other')).toBeNull()
  })

  it('processes count while they live, by what they do', async () => {
    const clock = new ManualClock(Date.now())
    const db = await opened(clock)
    const beat = (id: string, role: 'all' | 'receive' | 'sync') => recordHeartbeat(db, { id, role, version: '1' })
    await beat('a', 'all')
    await beat('b', 'receive')
    expect([await countProcesses(db.read), await isCommandReading(db.read)]).toEqual([{ reading: 1, pushing: 1 }, false])
    await beat('c', 'sync')
    expect([await countProcesses(db.read), await isCommandReading(db.read)]).toEqual([{ reading: 2, pushing: 1 }, true])
    const old = timeFromMs(clock.now() - 21_000)
    await db.write('test', (tx) => tx.sql.updateTable('sync_processes').set({ seen_at: old }).where('process_id', '<>', 'a').execute())
    expect((await listProcesses(db.read)).map(({ process_id }) => process_id)).toEqual(['a'])
    expect((await db.write('test', removeDeadProcesses)).sort()).toEqual(['b', 'c'])
    expect(await recordHeartbeat(db, { id: 'a', role: 'all', version: '1' }, async () => 'also')).toBe('also')
    await removeProcess(db, 'a')
    expect(await listProcesses(db.read)).toEqual([])
  })

  it('the clocks, settings and notifications of the database', async () => {
    const db = await opened()
    expect((await readClocks(db.read)).recorded).toEqual([])
    await deliver(db, 5)
    await applyAll(db, [observedEvent('acme', BAKERY, wireEvent(1))])
    const { nowMs, recorded } = await readClocks(db.read)
    expect(nowMs === null).toBe(database.name === 'sqlite')
    expect(recorded.map(({ what }) => what)).toEqual(['the newest delivery', 'the newest change'])
    expect(recorded[0]?.atMs).toBe(Date.parse(time(5)))
    const health = await readDatabaseHealth(db)
    expect(health.server).toMatch(database.name === 'sqlite' ? /^SQLite 3/ : /^PostgreSQL \d/)
    expect(health.sizeBytes).toBeGreaterThan(10_000)
    expect(health.durability.map(({ name }) => name)).toContain(database.name === 'sqlite' ? 'synchronous' : 'synchronous_commit')
    expect(await db.read.sql.selectFrom('sync_inbox').select('delivery_id').execute()).toHaveLength(1)
    if (database.name === 'sqlite') return
    expect(await probeListening(db)).toBe('hears')
    expect(await readReplication(db.read)).toMatchObject({ standbys: [], slots: [] })
  })

  it('how far reads and tables are, by account', async () => {
    const db = await opened()
    await fillScene(db)
    await applyAll(db, [observedEvent('zenith', BAKERY, wireEvent(7))])
    const events = (await readCoverage(db.read, 'acme', ['events']))[0]
    const readAt = '2026-01-05T12:55:00.000000Z'
    expect(events).toEqual({ read: 'events', total: 2, done: 1, never: 1, oldest_at: readAt, median_at: readAt })
    expect((await readCoverage(db.read, 'acme', ['bind_request']))[0]).toMatchObject({
      total: 1,
      done: expect.any(Number),
    })
    expect(await extraReadCoverage(db.read, 'acme')).toEqual([])
    const of = (account: string) =>
      tableCoverage(db.read, account).then((all) => Object.fromEntries(all.map(({ table, rows }) => [table, rows])))
    expect([await of('acme'), await of('zenith')]).toMatchObject([
      { submissions: 2, lanes: 2, quotes: 2, market_events: 2 },
      { submissions: 1, market_events: 1 },
    ])
    expect(await documentCoverage(db.read, 'zenith')).toEqual({ known: 0, stored: 0 })
    expect((await documentCoverage(db.read, 'acme')).known).toBeGreaterThan(0)
  })

  it('figures are written again without counting twice, and the old ones go', async () => {
    const db = await opened()
    const minute = (ago: number) => timeFromMs(Math.floor(Date.now() / 60_000) * 60_000 - ago * 60_000)
    const step = (ago: number, n: number) => ({ stepSeconds: 60, at: minute(ago), figures: { taken: { acme: n } } })
    await writeFigures(db, [step(2, 1), step(1, 1), step(3 * 24 * 60, 9)])
    await writeFigures(db, [step(1, 5)])
    expect(await readFigures(db.read, 60, minute(5_000))).toEqual([
      { at: minute(2), figures: { taken: { acme: 1 } } },
      { at: minute(1), figures: { taken: { acme: 5 } } },
    ])
    expect([await readFigures(db.read, 60, minute(0)), await readFigures(db.read, 3_600, minute(5_000))]).toEqual([[], []])
  })

  it('API changes are added up, as much as an account has room for', async () => {
    const db = await opened()
    const seen = (path: string, minute: number, account = 'acme') => ({
      account,
      resource: 'events',
      path,
      kind: 'unknown_field',
      type: 'string',
      firstAt: time(minute),
      lastAt: time(minute),
      answers: 2,
    })
    await writeApiChanges(db, [seen('a', 1), seen('b', 2), seen('a', 1, 'zenith')] as never)
    await writeApiChanges(db, [seen('a', 5), seen('b', 0)] as never)
    const rows = await readApiChanges(db.read)
    expect(rows.map((row) => [row.account, row.path, row.first_seen_at, row.last_seen_at, row.answers])).toEqual([
      ['acme', 'b', time(2), time(2), 4],
      ['acme', 'a', time(1), time(5), 4],
      ['zenith', 'a', time(1), time(1), 2],
    ])
    await writeApiChanges(db, Array.from({ length: MAX_API_CHANGES + 5 }, (_, n) => seen(`p${n}`, 1)) as never)
    expect((await apiChangeCounts(db.read)).sort((a, b) => a.count - b.count)).toEqual([
      { account: 'zenith', kind: 'unknown_field', count: 1 },
      { account: 'acme', kind: 'unknown_field', count: MAX_API_CHANGES },
    ])
  })

  it('how much a run of retention would remove is found by times', async () => {
    const db = await opened()
    expect(await sizeOfRun(db.read, 'deliveries', time(9), [])).toEqual({ rows: 0, of: 0 })
    await deliver(db, 1, 2, 3, 4)
    expect(await sizeOfRun(db.read, 'deliveries', time(3), [])).toEqual({ rows: 2, of: 4 })
    await applyAll(db, [observedEvent('acme', BAKERY, wireEvent(1)), observedEvent('acme', BAKERY, wireEvent(2))])
    const { of } = await sizeOfRun(db.read, 'changes', time(0), [])
    expect(of).toBeGreaterThan(2)
    const later = timeFromMs(Date.now() + 60_000)
    expect(await sizeOfRun(db.read, 'changes', later, [])).toEqual({ rows: of, of })
  })

  it('the verdict is judged by each account and destination itself', async () => {
    const db = await opened()
    await ensureAccounts(db, ['acme', 'zenith'])
    await fillScene(db)
    await deliver(db, 1)
    const alarm = {
      name: 'silent',
      account: 'acme',
      destination: '',
      state: 'firing',
      severity: 'warning',
      text: 'Nothing comes.',
    } as const
    await reportAlarm(db, { ...alarm, since: time(0), last_at: time(1), resolved_at: null, notified_at: null }, [])
    const health = await readHealth(db.read)
    expect(health).toMatchObject({
      inbox: { count: 1, oldest_at: time(1) },
      isServed: false,
      alarmsAt: null,
      alarms: [{ name: 'silent' }],
      accounts: [
        {
          account: 'acme',
          submissions: 2,
          unreachable: 0,
          never_read: 1,
          failing: { once: 0, often: 0, long: 0 },
          newest_read_at: '2026-01-05T12:55:00.000000Z',
          runs: [],
        },
        { account: 'zenith', submissions: 0, never_read: 0, newest_read_at: null },
      ],
      destinations: [
        {
          destination: 'agency',
          dead: { count: 1, oldest_at: expect.stringMatching(/^2026-01-05T12:40:00/) },
          unknown: { count: 0 },
          held: { count: 0 },
        },
      ],
    })
    const status = (await readsStatus(db.read))('acme')
    expect(status).toMatchObject({ submissions: 2, unreachable: 0, reads: { failing: 0 } })
    expect(status.reads.overdue).toBeGreaterThan(0)
    expect((await readsStatus(db.read))('zenith')).toEqual({
      submissions: 0,
      unreachable: 0,
      reads: { overdue: 0, oldest_due_at: null, failing: 0 },
      demand_rps: 0,
    })
    expect((await readsOffStatus(db.read))('acme')).toEqual([])
    expect(await countConflicts(db.read, 'acme')).toEqual({ conflicts: 0, unreadable: 0 })
  })
})
