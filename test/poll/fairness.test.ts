import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { abortable } from '../../src/base/abortable.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { optionalReads } from '../../src/model/reads.ts'
import { timeFromMs } from '../../src/model/time.ts'
import { AccountPoller } from '../../src/poll/account-poller.ts'
import { ReadSwitches } from '../../src/poll/read-switches.ts'
import { findAccount, requestSweep } from '../../src/store/reads/accounts.ts'
import { addReads } from '../../src/store/reads/reads.ts'
import type { UpstreamClient } from '../../src/upstream/client.ts'
import { onSqlite, silentLog } from '../tools/databases.ts'
import { interrupted } from '../tools/meddled.ts'
import { rowsOf } from '../tools/mirror.ts'
import { uuid, wireEvent, wireMessage } from '../tools/observations.ts'
import { poison } from '../tools/poison.ts'
import { HOUR, policy, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'

async function tracked(rig: Rig, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, () => rig.sandbox.addSubmission(ACCOUNT))
  for (const id of ids) rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached' })
  await rig.track(ids)
  return ids
}

async function withEvents(rig: Rig): Promise<number> {
  return new Set((await rowsOf(rig.db, marketEvents)).map((row) => row['submission_id'])).size
}

function eventsOf(id: string, n: number): unknown {
  return { type: 'submission.events', submission_id: id, events: [wireEvent(n)] }
}

describe.each(onSqlite)('hanging and failing reads on $name', (database) => {
  it('a hanging feed delays neither other feeds nor other submissions', async () => {
    const rig = await Rig.open(database)
    const [hanging = '', ...others] = await tracked(rig, 12)
    rig.sandbox.faults.add({ kind: 'hang', operation: 'events', submissionId: hanging })
    rig.startPoller({ concurrency: 2, headersMs: 15_000 })
    await rig.until('the others are read', async () => (await withEvents(rig)) === others.length)
    await rig.until('its thread and state are read', async () => {
      const reads = [await rig.read(hanging, 'thread'), await rig.read(hanging, 'requirements')]
      return reads.every((read) => read.last_read_at !== null)
    })
    expect(await rig.read(hanging, 'events')).toMatchObject({ failures: 0, last_read_at: null, error: null })
    expect((await rig.read(hanging, 'events')).lease_token).not.toBeNull()
  })

  it('failing feeds take at most a quarter of the slots', async () => {
    const rig = await Rig.open(database)
    const failing = await tracked(rig, 6)
    for (const submissionId of failing) rig.sandbox.faults.add({ kind: 'hang', operation: 'events', submissionId })
    const first = rig.startPoller({ concurrency: 4, headersMs: 150 })
    for (const failures of [1, 2, 3]) {
      await rig.until('they failed once more', async () =>
        (await Promise.all(failing.map((id) => rig.read(id, 'events')))).every((row) => row.failures >= failures),
      )
      await rig.pass(HOUR)
    }
    await first.stop()
    for (const id of failing) expect(await rig.read(id, 'events')).toMatchObject({ rank: 2 })
    await rig.pass(HOUR)
    rig.startPoller({ concurrency: 4, headersMs: 15_000 })
    await rig.until('one of them is asked', async () =>
      (await Promise.all(failing.map((id) => rig.read(id, 'events')))).some((row) => row.lease_token),
    )
    const [fresh = ''] = await tracked(rig, 1)
    await rig.until('a new submission is read', async () => (await rig.read(fresh, 'events')).last_read_at !== null)
    const leased = (await Promise.all(failing.map((id) => rig.read(id, 'events')))).filter((row) => row.lease_token !== null)
    expect(leased).toHaveLength(1)
  })

  it('without a token, only waiting reads fail', async () => {
    const rig = await Rig.open(database)
    await tracked(rig, 100)
    rig.sandbox.faults.add({ kind: 'status', status: 503, operation: 'token' })
    const poller = rig.startPoller({ concurrency: 2 })
    await rig.until('it was asked three times', () => rig.counted('token_mints_total', { outcome: 'failed' }) >= 3)
    await poller.stop()
    const failed = await rig.db.read.sql.selectFrom('sync_reads').select('read').where('failures', '>', 0).execute()
    expect(failed.length).toBeLessThan(30)
    rig.sandbox.faults.set([])
    rig.startPoller()
    await rig.until('most are read without waiting for another try', async () => (await withEvents(rig)) > 60)
  })

  it('failing reads keep one slot', async () => {
    const rig = await Rig.open(database)
    const [failing = '', ...others] = await tracked(rig, 40)
    await rig.db.write('test-rank', (tx) =>
      tx.sql.updateTable('sync_reads').set({ rank: 2, failures: 3 }).where('submission_id', '=', failing).execute(),
    )
    rig.sandbox.faults.set(others.map((submissionId) => ({ kind: 'hang', submissionId })))
    rig.startPoller({ concurrency: 4 })
    await rig.until('it is read again', async () => (await rig.read(failing, 'events')).last_read_at !== null)
  })

  it('at a low rate, claims fit into their leases', async () => {
    const { db } = await Rig.open(database)
    const submissions = Array.from({ length: 10 }, (_, n) => ({ account: ACCOUNT, submissionId: uuid(9, n + 1) }))
    await db.write('test-add', (tx) => addReads(tx, submissions, timeFromMs(Date.now()), false))
    const stopping = new AbortController()
    const { signal } = stopping
    const secondTurn = Promise.withResolvers<void>()
    let turns = 0
    const rate = () => {
      turns += 1
      if (turns === 2) secondTurn.resolve()
      return 0.1
    }
    const hangs = () => abortable(new Promise(() => {}), signal)
    const reads = { events: hangs, thread: hangs, state: hangs }
    const client = { ...reads, me: async () => ({ brokerage: 'b', clientId: null }), waitMs: () => 0, rate } as unknown as UpstreamClient
    const common = { clock: systemClock, log: silentLog, observer: silentObserver }
    const switches = new ReadSwitches({ ...common, account: ACCOUNT, db, wanted: optionalReads })
    const poller = new AccountPoller({ ...common, account: ACCOUNT, db, client, policy, concurrency: 8, switches }).run(signal)
    await secondTurn.promise
    const claimed = await db.read.sql.selectFrom('sync_reads').select('read').where('lease_token', 'is not', null).execute()
    stopping.abort()
    await poller
    expect(claimed).toHaveLength(3)
  })

  it('a sweep of all submissions delays no read', async () => {
    const rig = await Rig.open(database)
    const [id = ''] = await tracked(rig, 2)
    const sweeping = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    onTestFinished(() => held.resolve())
    const holding = interrupted(rig.db, async (name) => {
      if (name !== 'sweep') return
      sweeping.resolve()
      await held.promise
    })
    const poller = rig.startPoller({ db: holding })
    await rig.rest()
    await rig.db.write('test-ask', (tx) => requestSweep(tx, ACCOUNT))
    await sweeping.promise
    rig.sandbox.addEvent(ACCOUNT, id, { type: 'declined' })
    await rig.pass(HOUR)
    await rig.until('what is due is read', async () => (await rowsOf(rig.db, marketEvents)).length === 3)
    held.resolve()
    await rig.until('the sweep is over', async () => (await findAccount(rig.db.read, ACCOUNT))?.sweep_wanted === 0)
    await poller.stop()
  })

  it('a sweep does not delay the restart of a failed poller', async () => {
    const { db } = await Rig.open(database)
    const places = Array.from({ length: 700 }, (_, n) => ({ account: ACCOUNT, submissionId: uuid(9, n + 1) }))
    await db.write('test-add', async (tx) => {
      await addReads(tx, places, timeFromMs(Date.now()), false)
      await requestSweep(tx, ACCOUNT)
    })
    const sweeping = Promise.withResolvers<void>()
    const failed = Promise.withResolvers<void>()
    let steps = 0
    const failing = interrupted(db, async (name) => {
      if (name === 'sweep') {
        steps += 1
        sweeping.resolve()
        await failed.promise
      } else if (name === 'read-claim') {
        await sweeping.promise
        failed.resolve()
        throw new Error('nothing can be claimed')
      }
    })
    const client = { me: async () => ({ brokerage: 'b', clientId: null }), waitMs: () => 0, rate: () => 10 } as unknown as UpstreamClient
    const common = { clock: systemClock, log: silentLog, observer: silentObserver }
    const switches = new ReadSwitches({ ...common, account: ACCOUNT, db, wanted: optionalReads })
    const poller = new AccountPoller({ ...common, account: ACCOUNT, db: failing, client, policy, concurrency: 2, switches })
    await expect(poller.run(new AbortController().signal)).rejects.toThrow('nothing can be claimed')
    expect(steps).toBe(1)
  })

  it.each([
    ['read-failed', 503],
    ['read-not-found', 404],
  ] as const)('invariant 14: after losing the lease of a failing read (%s), the poller continues', async (write, status) => {
    const rig = await Rig.open(database)
    const [lost = ''] = await tracked(rig, 1)
    rig.sandbox.faults.add({ kind: 'status', status, operation: 'events', count: 1 })
    const takenOver = { lease_token: 'another process', due_at: timeFromMs(Date.now() + HOUR) }
    const late = interrupted(rig.db, async (name) => {
      if (name !== write) return
      await rig.db.write('test-take-over', (tx) => tx.sql.updateTable('sync_reads').set(takenOver).where('read', '=', 'events').execute())
    })
    const poller = rig.startPoller({ db: late })
    await rig.until('it was noticed', () => rig.logged('the lease was lost'))
    expect(await rig.read(lost, 'events')).toMatchObject({ ...takenOver, failures: 0, not_found: 0, error: null })
    const [next = ''] = await tracked(rig, 1)
    await rig.until('another submission is read', async () => (await rig.read(next, 'events')).last_read_at !== null)
    await poller.stop()
  })

  it('a page that the store refuses fails only its feed', async () => {
    const rig = await Rig.open(database)
    const [sick = '', ...others] = await tracked(rig, 5)
    const cure = await poison(rig.db, 'market_events', 'submission_id', sick)
    const poller = await rig.poll()
    expect(await withEvents(rig)).toBe(others.length)
    await rig.until('it failed again', async () => (await rig.read(sick, 'events')).failures > 1)
    expect((await rig.read(sick, 'events')).error).toContain('poisoned')
    expect(rig.logged('events could not be read and will be tried again')).toBe(true)
    await cure()
    await rig.passAndRest(HOUR)
    expect(await withEvents(rig)).toBe(5)
    await poller.stop()
  })

  it('trap 49: a throttled read keeps its rank, with growing waits', async () => {
    const rig = await Rig.open(database)
    const [live = '', routine = '', failing = ''] = await tracked(rig, 3)
    const ranks = new Map([
      [live, 0],
      [routine, 1],
      [failing, 2],
    ])
    for (const [id, rank] of ranks) {
      await rig.db.write('test-rank', (tx) =>
        tx.run(sql`update sync_reads set rank = ${rank}, failures = ${rank === 2 ? 3 : 0} where submission_id = ${id}`),
      )
    }
    rig.sandbox.faults.add({ kind: 'status', status: 429, retryAfterSeconds: 1, operation: 'events' })
    const poller = rig.startPoller()
    await rig.until('all were throttled', async () =>
      (await Promise.all([...ranks.keys()].map((id) => rig.read(id, 'events')))).every((row) => row.error),
    )
    await poller.stop()
    expect(rig.counted('feed_reads_total', { read: 'events', outcome: 'throttled' })).toBeGreaterThanOrEqual(3)
    for (const [id, rank] of ranks) {
      const row = await rig.read(id, 'events')
      expect(row).toMatchObject({ rank, not_found: 0, last_read_at: null })
      expect(row.failures).toBeGreaterThan(rank === 2 ? 3 : 0)
    }
  })

  it('trap 49: a repeatedly throttled read leaves the rate to others, and is logged', async () => {
    const rig = await Rig.open(database)
    const [throttled = '', ...others] = await tracked(rig, 5)
    rig.sandbox.faults.add({ kind: 'status', status: 429, operation: 'events', submissionId: throttled })
    rig.startPoller()
    for (const failures of [1, 2, 3]) {
      await rig.until('it is throttled once more', async () => (await rig.read(throttled, 'events')).failures >= failures)
      await rig.pass(HOUR)
    }
    await rig.until('the others are read', async () => (await withEvents(rig)) === others.length)
    expect(await rig.read(throttled, 'events')).toMatchObject({ rank: 1, last_read_at: null })
    expect(rig.logged('events could not be read and will be tried again')).toBe(true)
  })

  it('a read request never shortens the backoff of a failing feed, before or during the failure', async () => {
    const rig = await Rig.open(database)
    const [id = ''] = await tracked(rig, 1)
    rig.startWorker()
    rig.sandbox.faults.set([{ kind: 'hang', operation: 'events' }])
    const poller = rig.startPoller({ headersMs: 3_000 })
    await rig.until('the feed hangs', () => rig.asked('events', id).length === 1)
    await rig.deliver([eventsOf(id, 1)])
    await rig.until('it failed', async () => (await rig.read(id, 'events')).failures > 0)
    await poller.stop()
    const failed = await rig.read(id, 'events')
    expect(failed).toMatchObject({ rank: 1, lease_token: null })
    expect(failed.request_no).toBeGreaterThan(0)
    await rig.deliver([eventsOf(id, 2)])
    await rig.until('both are applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) === 2)
    const requested = await rig.read(id, 'events')
    expect(requested.request_no).toBeGreaterThan(failed.request_no)
    expect(requested).toMatchObject({ rank: 1, due_at: failed.due_at })
  })

  it('a read request never shortens the waits after a 404', async () => {
    const rig = await Rig.open(database)
    const [id = ''] = await tracked(rig, 2)
    rig.startPoller()
    rig.startWorker()
    await rig.rest()
    rig.sandbox.faults.add({ kind: 'status', status: 404, operation: 'thread', submissionId: id })
    await rig.deliver([{ type: 'submission.message', submission_id: id, message: wireMessage(1) }])
    await rig.rest()
    const before = Date.now()
    expect(await rig.read(id, 'thread')).toMatchObject({ rank: 2, not_found: 1 })
    await rig.deliver([{ type: 'submission.message', submission_id: id, message: wireMessage(2) }])
    await rig.rest()
    const row = await rig.read(id, 'thread')
    expect(row).toMatchObject({ rank: 2, not_found: 1 })
    expect(Date.parse(row.due_at ?? '')).toBeGreaterThan(before + 20_000)
  })

  it('a read request during a feed read causes another one', async () => {
    const rig = await Rig.open(database)
    const [id = ''] = await tracked(rig, 1)
    rig.startWorker()
    rig.sandbox.faults.set([{ kind: 'slow', operation: 'events', ms: 3_000, count: 1 }])
    rig.startPoller()
    await rig.until('the feed is being read', () => rig.asked('events', id).length === 1)
    await rig.deliver([eventsOf(id, 1)])
    await rig.until('it is applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) === 1)
    expect(await rig.read(id, 'events')).toMatchObject({ request_no: 1, last_read_at: null })
    await rig.rest()
    expect(rig.asked('events', id)).toHaveLength(2)
    await rig.rest()
    expect(rig.asked('events', id)).toHaveLength(2)
  })

  it('trap 30: a burst of deliveries shares one feed read', async () => {
    const rig = await Rig.open(database)
    const [id = ''] = await tracked(rig, 1)
    const poller = rig.startPoller()
    rig.startWorker()
    await rig.rest()
    await poller.stop()
    await rig.pass(policy.poll.activeMs / 2)
    const before = rig.asked('thread', id).length
    for (let n = 0; n < 30; n += 3) {
      await rig.deliver([n, n + 1, n + 2].map((m) => ({ type: 'submission.message', submission_id: id, message: wireMessage(m) })))
    }
    await rig.until('all are applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) === 30)
    await rig.poll()
    expect(rig.asked('thread', id)).toHaveLength(before + 1)
  })
})
