import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { TransientError } from '../../../src/base/errors.ts'
import { lastSlot } from '../../../src/reconcile/run/schedule.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { pinBrokerage } from '../../../src/store/reads/accounts.ts'
import { claimNewRun, releaseRun, requestRun } from '../../../src/store/reconcile/claims.ts'
import { listRuns } from '../../../src/store/reconcile/runs.ts'
import type { RunOptions } from '../../../src/store/schema/reconcile.ts'
import { onSqlite, runSql } from '../../tools/databases.ts'
import { interrupted } from '../../tools/meddled.ts'
import { until } from '../../tools/until.ts'
import { ACCOUNT, RunRig } from '../rig.ts'

const daily = { cron: '0 3 * * *', timeZone: 'UTC' }
const at = (text: string) => Date.parse(text)
const HOUR_MS = 3_600_000
const LOOK_MS = 5_000

describe('the last time of a schedule', () => {
  it.each([
    ['0 3 * * *', 'UTC', '2026-03-05T02:59:59.999Z', '2026-03-04T03:00:00.000000Z'],
    ['0 3 * * *', 'UTC', '2026-03-05T03:00:00.000Z', '2026-03-05T03:00:00.000000Z'],
    ['0 3 * * *', 'America/New_York', '2026-03-05T08:30:00.000Z', '2026-03-05T08:00:00.000000Z'],
    ['30 */6 * * mon-fri', 'UTC', '2026-03-09T00:10:00.000Z', '2026-03-06T18:30:00.000000Z'],
    ['0 22-2 * * *', 'UTC', '2026-03-09T23:10:00.000Z', '2026-03-09T23:00:00.000000Z'],
    // cron matches either of two day fields.
    ['0 3 1 * mon', 'UTC', '2026-06-09T00:00:00.000Z', '2026-06-08T03:00:00.000000Z'],
    ['0 3 1 * mon', 'UTC', '2026-07-02T00:00:00.000Z', '2026-07-01T03:00:00.000000Z'],
  ])('%s in %s at %s', (cron, timeZone, now, slot) => {
    expect(lastSlot({ cron, timeZone }, at(now))).toBe(slot)
  })

  it.each([
    // Clocks set ahead over it: due at the change.
    ['30 2 * * *', 'America/New_York', '2026-03-08T06:59:59.999Z', '2026-03-07T07:30:00.000000Z'],
    ['30 2 * * *', 'America/New_York', '2026-03-08T07:00:00.000Z', '2026-03-08T07:00:00.000000Z'],
    ['30 2 * * *', 'America/New_York', '2026-03-09T06:30:00.000Z', '2026-03-09T06:30:00.000000Z'],
    ['0 0 * * *', 'Africa/Cairo', '2026-04-23T21:59:00.000Z', '2026-04-22T22:00:00.000000Z'],
    ['0 0 * * *', 'Africa/Cairo', '2026-04-23T22:00:00.000Z', '2026-04-23T22:00:00.000000Z'],
    ['30 0 * * fri', 'Africa/Cairo', '2026-04-24T12:00:00.000Z', '2026-04-23T22:00:00.000000Z'],
    ['0 0 29 3 *', 'Asia/Beirut', '2026-10-23T15:00:00.000Z', '2026-03-28T22:00:00.000000Z'],
    ['0 2 * * *', 'Australia/Lord_Howe', '2026-10-03T20:00:00.000Z', '2026-10-03T15:30:00.000000Z'],
    ['0 3 * * *', 'Pacific/Chatham', '2026-09-26T14:00:00.000Z', '2026-09-26T14:00:00.000000Z'],
    // Clocks set back over it: already due.
    ['30 1 * * *', 'America/New_York', '2026-11-01T05:30:00.000Z', '2026-11-01T05:30:00.000000Z'],
    ['30 1 * * *', 'America/New_York', '2026-11-01T06:30:00.000Z', '2026-11-01T05:30:00.000000Z'],
    ['59 23 * * *', 'Africa/Cairo', '2026-10-29T22:30:00.000Z', '2026-10-29T20:59:00.000000Z'],
    ['0 2 * * sun', 'Antarctica/Troll', '2026-10-25T01:00:00.000Z', '2026-10-25T00:00:00.000000Z'],
    // Rare times are found too.
    ['0 3 29 2 *', 'UTC', '2104-02-29T02:00:00.000Z', '2096-02-29T03:00:00.000000Z'],
  ])('%s in %s at %s, with the clocks put ahead or back', (cron, timeZone, now, slot) => {
    expect(lastSlot({ cron, timeZone }, at(now))).toBe(slot)
  })

  it.each([
    ['America/New_York', '2026-03-07', '2026-10-31'],
    ['Africa/Cairo', '2026-04-22', '2026-10-28'],
    ['Australia/Lord_Howe', '2026-10-02', '2026-04-03'],
    ['Pacific/Chatham', '2026-09-25', '2026-04-03'],
    ['Antarctica/Troll', '2026-03-28', '2026-10-24'],
  ])('is due once a day in %s', (timeZone, ...days) => {
    for (const from of days.map((day) => at(`${day}T00:00:00Z`))) {
      for (const cron of ['0 0 * * *', '30 1 * * *', '45 2 * * *', '59 23 * * *']) {
        let last = at(lastSlot({ cron, timeZone }, from))
        for (let now = from; now < from + 84 * HOUR_MS; now += HOUR_MS) {
          const slot = at(lastSlot({ cron, timeZone }, now))
          if (slot !== last) expect(slot - last).toBeGreaterThan(21 * HOUR_MS)
          expect(now - slot).toBeLessThan(27 * HOUR_MS)
          last = slot
        }
      }
    }
  })
})

describe.each(onSqlite)('scheduled runs on $name', (database) => {
  /** @param since when the account was first served. @param now the clock. */
  async function rigAt(now: string, since: string, ticking = () => at(now)) {
    const rig = await RunRig.open(database, 2)
    const clock = { ...systemClock, now: ticking }
    const db = await rig.another(clock)
    await rig.reconciler(null, db).startDueRuns(new AbortController().signal)
    await runSql(
      db,
      sql`
      insert into sync_reconcile (account, run_id, lease_token, lease_until, since) values (${ACCOUNT}, null, null, null,
      ${since.replace('Z', '000Z')})`,
    )
    return { rig, clock, db }
  }
  const signal = new AbortController().signal
  const ofCron = async (db: Db) => (await listRuns(db.read)).filter((run) => run.requested_by === 'cron')

  it('creates one run per time, with any number of processes, and one for missed times', async () => {
    const { rig, clock, db } = await rigAt('2026-03-05T10:00:00.000Z', '2026-03-01T00:00:00.000Z')
    const first = rig.reconciler(daily, db)
    const second = rig.reconciler(daily, await rig.another(clock))
    await Promise.all([first.startDueRuns(signal), second.startDueRuns(signal)])
    await Promise.all([first.idle(), second.idle()])
    await first.startDueRuns(signal)
    await first.idle()
    const runs = await listRuns(rig.db.read)
    expect(runs).toMatchObject([{ requested_by: 'cron', state: 'done', slot: '2026-03-05T03:00:00.000000Z', submissions_done: 2 }])
  })

  it('creates no runs for times before an account was served', async () => {
    const { rig, db } = await rigAt('2026-03-05T10:00:00.000Z', '2026-03-05T09:00:00.000Z')
    await rig.reconciler(daily, db).startDueRuns(signal)
    expect(await listRuns(rig.db.read)).toEqual([])
  })

  it('skips a time during a run, and logs that', async () => {
    let now = at('2026-03-05T02:59:59.000Z')
    const { rig, db } = await rigAt('2026-03-05T02:59:59.000Z', '2026-03-01T00:00:00.000Z', () => now)
    const claim = await rig.claim({}, db)
    now = at('2026-03-05T03:00:00.000Z')
    const reconciler = rig.reconciler(daily, db)
    await reconciler.startDueRuns(signal)
    await rig.work(claim, { db })
    await reconciler.startDueRuns(signal)
    await reconciler.idle()
    expect(await ofCron(db)).toMatchObject([{ state: 'stopped', exit_code: 4, note: expect.stringContaining(claim.run.run_id) }])
  })

  it.each<RunOptions>([{ dry_run: true }, { submissions: ['one'] }, { no_state: true }])(
    'a run that does less, %j, puts a time off until it is over',
    async (options) => {
      const { rig, db } = await rigAt('2026-03-05T10:00:00.000Z', '2026-03-01T00:00:00.000Z')
      const claim = await rig.claim(options, db)
      const reconciler = rig.reconciler(daily, db)
      await reconciler.startDueRuns(signal)
      expect((await ofCron(db)).map((run) => run.state)).toEqual(['requested'])
      await rig.work(claim, { db })
      await reconciler.startDueRuns(signal)
      await reconciler.idle()
      expect(await ofCron(db)).toMatchObject([{ state: 'done', slot: '2026-03-05T03:00:00.000000Z', submissions_done: 2 }])
    },
  )

  it('an interrupted run is resumed, followed by the next scheduled run', async () => {
    let now = at('2026-03-05T02:00:00.000Z')
    const { rig, db } = await rigAt('2026-03-05T02:00:00.000Z', '2026-03-01T00:00:00.000Z', () => now)
    await releaseRun(db, await rig.claim({}, db))
    now = at('2026-03-05T10:00:00.000Z')
    const reconciler = rig.reconciler(daily, db)
    for (let n = 0; n < 2; n++) {
      await reconciler.startDueRuns(signal)
      await reconciler.idle()
    }
    const slot = '2026-03-05T03:00:00.000000Z'
    expect(await listRuns(db.read)).toMatchObject([
      { requested_by: 'cron', slot, state: 'done', submissions_done: 2 },
      { requested_by: 'command', state: 'done', submissions_done: 2 },
    ])
  })

  it('a failed run is repeated later, until the next time, within limits', async () => {
    let now = at('2026-03-05T10:00:00.000Z')
    const { db, rig } = await rigAt('2026-03-05T10:00:00.000Z', '2026-03-01T00:00:00.000Z', () => now)
    const reconciler = rig.reconciler(daily, db)
    const passed = async (minutes: number) => {
      now += minutes * 60_000
      await reconciler.startDueRuns(signal)
      await reconciler.idle()
      return (await ofCron(db)).map((run) => run.state)
    }
    const setAccount = (state: 'active' | 'suspended') =>
      db.write('test', (tx) => tx.sql.updateTable('sync_accounts').set({ state }).where('account', '=', ACCOUNT).execute())
    rig.sandbox.account(ACCOUNT).brokerage = { id: 'other', name: 'Another brokerage' }
    await pinBrokerage(db, ACCOUNT, { brokerage: 'mine', clientId: 'client' })
    expect(await passed(0)).toEqual(['failed'])
    expect(await passed(14)).toEqual(['failed'])
    const other = rig.reconciler(daily, await rig.another({ ...systemClock, now: () => now }))
    now += 2 * 60_000
    await Promise.all([reconciler.startDueRuns(signal), other.startDueRuns(signal)])
    await Promise.all([reconciler.idle(), other.idle()])
    expect(await passed(0)).toEqual(['failed', 'failed'])
    // Not while it would fail again.
    await setAccount('suspended')
    expect(await passed(16)).toEqual(['failed', 'failed'])
    await setAccount('active')
    for (let n = 0; n < 6; n++) await passed(16)
    expect(await passed(16)).toEqual(Array(5).fill('failed'))
    rig.sandbox.account(ACCOUNT).brokerage = { id: 'mine', name: 'The right one' }
    expect(await passed(24 * 60)).toEqual(['done', ...Array(5).fill('failed')])
    expect(await passed(24 * 60)).toEqual(['done', 'done', ...Array(5).fill('failed')])
  })

  it('a requested run is stored once, and a working process starts it', async () => {
    const rig = await RunRig.open(database, 2)
    const wanted = { account: ACCOUNT, options: { submissions: [rig.ids[0] ?? ''] }, requestedBy: 'admin:me' }
    const id = await requestRun(rig.db, wanted)
    expect(await requestRun(rig.db, wanted)).toBe(id)
    const reconciler = rig.reconciler(null)
    const stop = new AbortController()
    const running = reconciler.run(stop.signal)
    await until('the run has ended', async () => (await listRuns(rig.db.read))[0]?.state === 'done')
    stop.abort()
    await running
    expect(await listRuns(rig.db.read)).toMatchObject([{ run_id: id, requested_by: 'admin:me', submissions_done: 1, exit_code: 0 }])
  })

  it('a run of an account that was removed from the settings ends with a reason', async () => {
    const rig = await RunRig.open(database, 1)
    const claimOf = async (account: string) => {
      const claim = await claimNewRun(rig.db, { account, options: {}, requestedBy: 'command' })
      if ('busy' in claim) throw new Error(`${account} is reconciled`)
      return claim
    }
    await requestRun(rig.db, { account: 'removed', options: {}, requestedBy: 'admin:me' })
    await releaseRun(rig.db, await claimOf('removed'))
    await requestRun(rig.db, { account: 'removed', options: { dry_run: true }, requestedBy: 'admin:me' })
    await claimOf('elsewhere')
    await requestRun(rig.db, { account: ACCOUNT, options: { dry_run: true }, requestedBy: 'admin:me' })
    await rig.reconciler(null).run(AbortSignal.abort())
    const note = 'account removed is no longer configured'
    const stateOf = async (account: string) => (await listRuns(rig.db.read, { account })).map(({ state }) => state)
    expect(await listRuns(rig.db.read, { account: 'removed' })).toMatchObject([
      { state: 'stopped', exit_code: 4, note, ended_at: expect.any(String) },
      { state: 'stopped', exit_code: 4, note },
      { state: 'stopped', exit_code: 4, note },
    ])
    expect([await stateOf('elsewhere'), await stateOf(ACCOUNT)]).toEqual([['running'], ['requested']])
  })

  it('a failed check does not wait for the active run, which is released', async () => {
    const rig = await RunRig.open(database, 1)
    rig.sandbox.faults.add({ kind: 'slow', ms: 600_000, operation: 'requirements' })
    await requestRun(rig.db, { account: ACCOUNT, options: {}, requestedBy: 'admin:me' })
    const clock = { ...systemClock, sleep: (_: number, signal?: AbortSignal) => systemClock.sleep(5, signal) }
    const db = interrupted(await rig.another(clock), (name) => {
      if (name === 'reconcile-slot' && rig.asked().length > 0) throw new TransientError('the store is away')
    })
    await expect(rig.reconciler(daily, db).run(signal)).rejects.toThrow('the store is away')
    expect(await claimNewRun(rig.db, { account: ACCOUNT, options: {}, requestedBy: 'command' })).toMatchObject({ resumed: true })
  })

  it('checks again immediately after a run ended, but not after it failed', async () => {
    const rig = await RunRig.open(database, 1)
    await requestRun(rig.db, { account: ACCOUNT, options: {}, requestedBy: 'admin:me' })
    /** @returns whether the end of the run woke the service. */
    const wokenByRun = async (fails: boolean): Promise<boolean | undefined> => {
      const asleep = Promise.withResolvers<AbortSignal | undefined>()
      const sleep: Clock['sleep'] = (ms, bell) => {
        if (ms === LOOK_MS) asleep.resolve(bell)
        return systemClock.sleep(ms, bell)
      }
      const db = interrupted(await rig.another({ ...systemClock, sleep }), (name) => {
        if (fails && name === 'reconcile-repair') throw new TransientError('the store is away')
      })
      const stop = new AbortController()
      const reconciler = rig.reconciler(null, db)
      const running = reconciler.run(stop.signal)
      const bell = await asleep.promise
      await reconciler.idle()
      const woken = bell?.aborted
      stop.abort()
      await running
      return woken
    }
    expect(await wokenByRun(true)).toBe(false)
    expect(await listRuns(rig.db.read)).toMatchObject([{ state: 'running' }])
    expect(await wokenByRun(false)).toBe(true)
    expect(await listRuns(rig.db.read)).toMatchObject([{ state: 'done' }])
  })

  it('a stopping process hands its run to the next, which continues', async () => {
    const rig = await RunRig.open(database, 10)
    rig.sandbox.faults.add({ kind: 'slow', ms: 50, operation: 'events' })
    await requestRun(rig.db, { account: ACCOUNT, options: { concurrency: 1 }, requestedBy: 'admin:me' })
    const stop = new AbortController()
    const running = rig.reconciler(null).run(stop.signal)
    await until('some were asked for', () => new Set(rig.asked()).size > 3)
    stop.abort()
    await running
    const [half] = await listRuns(rig.db.read)
    expect(half).toMatchObject({ state: 'running' })
    const next = rig.reconciler(null, await rig.another())
    await next.startDueRuns(signal)
    await next.idle()
    const [run] = await listRuns(rig.db.read)
    expect(run).toMatchObject({ run_id: half?.run_id, state: 'done', submissions_done: 10 })
    expect(run?.submissions_done).toBeGreaterThan(half?.submissions_done ?? 10)
  })
})
