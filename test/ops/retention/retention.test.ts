import { sql } from 'kysely'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { LeaseLostError } from '../../../src/base/errors.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { Pace } from '../../../src/ops/retention/pace.ts'
import { removeExpired } from '../../../src/ops/retention/remove-expired.ts'
import { Retention, slotAt } from '../../../src/ops/retention/retention.ts'
import type { Db, Tx } from '../../../src/store/engine/db.ts'
import { timeValue } from '../../../src/store/engine/sql.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { findDeliveries, makeReady } from '../../../src/store/inbox/queries.ts'
import { listEpisodes } from '../../../src/store/operators/alarm-history.ts'
import { ensureDestinations } from '../../../src/store/outbox/destinations.ts'
import { insertFindings } from '../../../src/store/reconcile/findings.ts'
import { insertRun, listRuns, newRun } from '../../../src/store/reconcile/runs.ts'
import type { RunOptions, RunState } from '../../../src/store/schema/reconcile.ts'
import { claimUpkeep, endUpkeep, lastUpkeep, type UpkeepLease } from '../../../src/store/upkeep/upkeep.ts'
import { destinationOf, fanAll, openedDb, openedDbs, outboxOf } from '../../push/outbox.ts'
import { runSql, silentLog, sqliteDatabase, testDatabases } from '../../tools/databases.ts'
import { meddled } from '../../tools/meddled.ts'
import { applyAll, changesOf } from '../../tools/mirror.ts'
import { eventFacts, observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const ACCOUNT = 'acme'
const NOW_MS = Date.UTC(2026, 5, 15, 12)
const DAY_MS = 86_400_000
const never = new AbortController().signal

function clockAt(nowMs: number): Clock {
  return { ...systemClock, now: () => nowMs, sleep: async () => {} }
}

const clock = clockAt(NOW_MS)

const clocks = { judge: async () => ({ apart: [], isTrusted: true, isConfirmed: true, doubt: null }) }

function daysAgo(days: number) {
  return timeFromMs(NOW_MS - days * DAY_MS)
}

type State = 'ready' | 'done' | 'aside' | 'dead'

async function deliver(db: Db, id: string, days: number, state: State, body = `{"id":"${id}"}`): Promise<void> {
  const delivery = { account: ACCOUNT, deliveryId: id, receivedAt: daysAgo(days), headers: { 'svix-id': id }, secret: 1 }
  expect(await new InboxAppender(db).append([{ ...delivery, body: Buffer.from(body) }])).toEqual([null])
  await settle(db, id, state)
}

async function settle(db: Db, id: string, state: State): Promise<void> {
  await runSql(db, sql`update sync_inbox set state = ${state} where delivery_id = ${id}`)
}

async function withBody(db: Db): Promise<string[]> {
  const rows = await db.read.sql.selectFrom('sync_inbox').select('delivery_id').where('body', 'is not', null).orderBy('inbox_id').execute()
  return rows.map((row) => row.delivery_id)
}

async function leaseOf(db: Db, slot: string): Promise<UpkeepLease> {
  const lease = await claimUpkeep(db, 'retention', { slot, settings: '30 400' }, 60_000)
  if (typeof lease === 'string') throw new Error(lease)
  return lease
}

interface Kept {
  readonly days?: number | null
  readonly changesDays?: number | null
  readonly destinations?: readonly string[]
}

async function turn(db: Db, slot: string, { days = 30, changesDays = 400, destinations = [] }: Kept = {}) {
  const lease = await leaseOf(db, slot)
  const config = { retention: { days, changesDays, maxShare: 100 }, destinations: destinations.map((name) => ({ name })) as never }
  const result = await removeExpired({ db, clock, config }, lease, never)
  await endUpkeep(db, lease, 'done')
  return result
}

async function logOf(db: Db) {
  const info = await db.read.sql.selectFrom('mirror_info').select(['first_seq', 'last_seq']).executeTakeFirstOrThrow()
  const seqs = (await changesOf(db)).map((change) => change.seq)
  expect(seqs).toEqual(Array.from({ length: info.last_seq - info.first_seq + 1 }, (_, n) => info.first_seq + n))
  return info
}

/** Makes the log up to `seq` this many days old. */
async function ageLog(db: Db, upTo: number, days: number): Promise<void> {
  await runSql(db, sql`update changes set changed_at = ${sql.raw(`'${daysAgo(days)}'`)} where seq <= ${upTo}`)
}

async function setOutbox(db: Db, seq: number, state: string, days: number): Promise<void> {
  const at = sql.raw(`'${daysAgo(days)}'`)
  await runSql(db, sql`update sync_outbox set state = ${state}, queued_at = ${at}, settled_at = ${at} where seq = ${seq}`)
}

async function insertReport(
  tx: Tx,
  [runId, days, state, options, account = ACCOUNT]: readonly [string, number, RunState, RunOptions, string?],
): Promise<void> {
  const at = daysAgo(days)
  const run = newRun(tx, { account, options, requestedBy: 'cron' }, state)
  await insertRun(tx, { ...run, run_id: runId, requested_at: at, started_at: at, ended_at: at })
  const findings = Array.from({ length: 120 }, (_, n) => ({
    run_id: runId,
    finding_no: n + 1,
    account,
    submission_id: null,
    kind: 'undelivered' as const,
    entity: null,
    entity_id: null,
    fields: null,
    read: null,
    destination: 'ams',
    seq: n + 1,
    known: true,
    repaired_at: null,
    detail: 'it waits',
    found_at: at,
  }))
  await insertFindings(tx, findings)
}

describe.each(testDatabases)('retention on $name', ({ name, open }) => {
  it('removes body and headers of old deliveries, and still recognizes their repeats', async () => {
    const db = await openedDb(open, clock)
    for (const state of ['done', 'aside', 'dead', 'ready'] as const) {
      await deliver(db, `old ${state}`, 31, state)
      await deliver(db, `young ${state}`, 29, state)
    }
    expect(await turn(db, 'a')).toMatchObject({ deliveries: 2 })
    expect(await withBody(db)).toEqual(['young done', 'young aside', 'old dead', 'young dead', 'old ready', 'young ready'])
    const [relieved] = await findDeliveries(db.read, 'old done')
    expect(relieved).toMatchObject({ state: 'done', body: null, headers: '{}' })
    expect(await makeReady(db, [relieved?.inbox_id ?? 0])).toBe(0)
    await deliver(db, 'old done', 0, 'done')
    const again = await findDeliveries(db.read, 'old done')
    expect(again).toMatchObject([{ inbox_id: relieved?.inbox_id, received_at: daysAgo(31), body: null }])
    expect(await turn(db, 'b')).toMatchObject({ deliveries: 0 })
  })

  it('returns for work that it left, and begins where it stopped', async () => {
    const db = await openedDb(open, clock)
    for (let n = 0; n < 120; n++) await deliver(db, `d${n}`, 40, n % 40 === 7 ? 'dead' : 'done')
    await deliver(db, 'from the future', -3_000, 'done')
    await deliver(db, 'after it', 40, 'done')
    expect(await turn(db, 'a')).toMatchObject({ deliveries: 118 })
    expect(await withBody(db)).toEqual(['d7', 'd47', 'd87', 'from the future'])
    const position = (await lastUpkeep(db.read, 'retention'))?.position
    const { inbox_id: last } = await db.read.sql
      .selectFrom('sync_inbox')
      .select('inbox_id')
      .where('delivery_id', '=', 'after it')
      .executeTakeFirstOrThrow()
    expect(position).toBe(last)
    await settle(db, 'd47', 'done')
    expect(await turn(db, 'b')).toMatchObject({ deliveries: 1 })
    expect(await withBody(db)).toEqual(['d7', 'd87', 'from the future'])
    expect((await db.read.sql.selectFrom('sync_inbox_left').selectAll().execute()).length).toBe(3)
  })

  it('is held up by nothing that a clock which ran ahead has dated into the future, however much that is', async () => {
    const db = await openedDb(open, clock)
    for (let n = 0; n < 60; n++) await deliver(db, `d${n}`, -300, 'done')
    await deliver(db, 'old', 40, 'done')
    await deliver(db, 'young', 29, 'done')
    await db.write('test', async (tx) => {
      for (let n = 0; n < 61; n++) {
        const row = { account: ACCOUNT, path: '/webhooks', address: 'there', reason: 'wrong_signature', headers: '{}', body: null }
        const received_at = daysAgo(n < 60 ? -300 : 40)
        await tx.sql
          .insertInto('sync_rejected')
          .values({ ...row, received_at, replayed_at: null })
          .execute()
      }
    })
    await applyAll(db, eventFacts(ACCOUNT, uuid(9, 1), 60))
    await fanAll(db, [destinationOf('ams')])
    const { last_seq: last } = await logOf(db)
    for (let seq = 1; seq <= last; seq++) await setOutbox(db, seq, 'delivered', seq < last ? -300 : 40)
    expect(await turn(db, 'a')).toMatchObject({ deliveries: 1, rejected: 1, pushed: 1 })
    expect((await withBody(db)).at(-1)).toBe('young')
    expect((await withBody(db)).length).toBe(61)
  })

  it('removes rejected deliveries, and delivered or skipped pushes, but nothing that waits for a person', async () => {
    const db = await openedDb(open, clock)
    await db.write('test', async (tx) => {
      for (const [address, days] of [
        ['old', 31],
        ['young', 29],
      ] as const) {
        await tx.run(sql`
          insert into sync_rejected (account, path, received_at, address, reason, headers, body, replayed_at) values (${ACCOUNT},
          '/webhooks', ${daysAgo(days)}, ${address}, 'wrong_signature', '{}', null, null)`)
      }
    })
    const ams = destinationOf('ams', { entities: ['market_events'] })
    await applyAll(db, eventFacts(ACCOUNT, uuid(9, 1), 7))
    await fanAll(db, [ams])
    const seqs = (await outboxOf(db)).map((row) => row.seq)
    const states = ['delivered', 'skipped', 'dead', 'unknown', 'ready', 'delivered', 'delivered']
    for (const [index, state] of states.entries()) await setOutbox(db, seqs[index] ?? 0, state, index === 6 ? 29 : 31)
    expect(await turn(db, 'a', { destinations: ['ams'] })).toMatchObject({ rejected: 1, pushed: 3, changes: 0 })
    expect((await outboxOf(db)).map((row) => row.state)).toEqual(['dead', 'unknown', 'ready', 'delivered'])
    const rejected = await db.read.sql.selectFrom('sync_rejected').select('address').execute()
    expect(rejected).toEqual([{ address: 'young' }])
  })

  it('removes the oldest changes without a gap, never one that a destination needs or may still be sent', async () => {
    const db = await openedDb(open, clock)
    const [ams, gone] = [destinationOf('ams', { entities: ['market_events'] }), destinationOf('gone')]
    await ensureDestinations(db, [ams, gone])
    await applyAll(db, eventFacts(ACCOUNT, uuid(9, 1), 10))
    const { last_seq: last } = await logOf(db)
    await ageLog(db, last - 4, 500)
    const kept = { destinations: ['ams'] }
    expect(await turn(db, 'a', kept)).toMatchObject({ changes: 0 })
    await fanAll(db, [ams])
    const seqs = (await outboxOf(db, 'ams')).map((row) => row.seq)
    const wait = seqs[4] ?? 0
    for (const seq of seqs) await setOutbox(db, seq, 'delivered', 1)
    for (const state of ['ready', 'unknown', 'dead']) {
      await setOutbox(db, wait, state, 1)
      await turn(db, `b, ${state}`, kept)
      expect((await logOf(db)).first_seq, state).toBe(wait)
    }
    for (const seq of [wait, seqs.at(-1) ?? 0]) await setOutbox(db, seq, 'skipped', 1)
    expect(await turn(db, 'c', { ...kept, changesDays: null })).toMatchObject({ changes: 0 })
    // A skipped push holds up nothing, and leaves with its change, so that nobody retries it without.
    await turn(db, 'd', { ...kept, days: null })
    expect((await outboxOf(db, 'ams')).map((row) => row.seq)).toEqual(seqs.filter((seq) => seq !== wait))
    // Nothing is kept for an unconfigured destination.
    expect(await logOf(db)).toEqual({ first_seq: last - 3, last_seq: last })
    await applyAll(db, [observedEvent(ACCOUNT, uuid(9, 1), wireEvent(99))])
    await fanAll(db, [ams, gone])
    expect((await outboxOf(db, 'gone'))[0]?.seq).toBe(last - 3)
    expect((await logOf(db)).last_seq).toBeGreaterThan(last)
  })

  it("keeps an older change that waits behind a row with its own content, as a destination's filter queues it", async () => {
    const db = await openedDb(open, clock)
    const ams = destinationOf('ams', { start: 1 })
    await ensureDestinations(db, [ams])
    await applyAll(db, eventFacts(ACCOUNT, uuid(9, 1), 10))
    const { last_seq: last } = await logOf(db)
    await ageLog(db, last - 4, 500)
    await fanAll(db, [ams])
    const [whole = 0, ...seqs] = (await outboxOf(db, 'ams')).map((row) => row.seq)
    for (const seq of seqs) await setOutbox(db, seq, 'delivered', 1)
    const wait = seqs[2] ?? 0
    await setOutbox(db, wait, 'ready', 1)
    await runSql(db, sql`update sync_outbox set seq = ${last}, snapshot = '{}' where seq = ${whole}`)
    await turn(db, 'a', { destinations: ['ams'] })
    expect((await logOf(db)).first_seq).toBe(wait)
  })

  it('removes old changes also where a clock that ran ahead has dated some among them into the future', async () => {
    const db = await openedDb(open, clock)
    await applyAll(db, eventFacts(ACCOUNT, uuid(9, 1), 10))
    const { last_seq: last } = await logOf(db)
    await ageLog(db, last - 4, 500)
    await ageLog(db, 2, -300)
    await turn(db, 'a')
    expect((await logOf(db)).first_seq).toBe(last - 3)
    await ageLog(db, last, -300)
    expect(await turn(db, 'b')).toMatchObject({ changes: 0 })
  })

  it('removes findings of old reconcile runs after a later run reported the remaining ones; the rows of runs stay', async () => {
    const db = await openedDb(open, clock)
    const runs: readonly (readonly [string, number, RunState, RunOptions, string?])[] = [
      ['of another account', 510, 'done', {}, 'another'],
      ['oldest', 500, 'failed', {}],
      ['last to look at all', 450, 'done', { dry_run: true }],
      ['of one', 300, 'done', { submissions: ['one'] }],
      ['of the active', 290, 'done', { active_only: true }],
      ['of the youngest', 280, 'done', { since: daysAgo(290) }],
      ['cut short', 200, 'budget', {}],
    ]
    const found = async () => {
      const rows = await db.read.sql.selectFrom('reconcile_findings').select('run_id').distinct().execute()
      return rows.map(({ run_id }) => run_id).sort()
    }
    await db.write('test', async (tx) => {
      for (const run of runs) await insertReport(tx, run)
    })
    expect(await turn(db, 'a')).toMatchObject({ findings: 120 })
    expect(await found()).toEqual(['cut short', 'last to look at all', 'of another account', 'of one', 'of the active', 'of the youngest'])
    await db.write('test', (tx) => insertReport(tx, ['new', 100, 'done', {}]))
    expect(await turn(db, 'b', { changesDays: null })).toMatchObject({ findings: 0 })
    expect(await turn(db, 'c', { changesDays: 250 })).toMatchObject({ findings: 480 })
    expect(await found()).toEqual(['cut short', 'new', 'of another account'])
    expect(await listRuns(db.read)).toHaveLength(8)
  })

  it('removes when alarms fired that are over, after the time that changes are kept, and none that fires', async () => {
    const db = await openedDb(open, clock)
    const row = { account: '', destination: '', severity: 'warning', text: '' } as const
    await db.write('test', async (tx) => {
      for (const [name, over] of [
        ['old', 401],
        ['young', 399],
        ['fires', null],
      ] as const) {
        const at = timeValue(tx, daysAgo(500))
        const resolved_at = over === null ? null : timeValue(tx, daysAgo(over))
        await tx.sql
          .insertInto('alarm_history')
          .values({ ...row, name, since: at, fired_at: at, resolved_at })
          .execute()
      }
    })
    expect(await turn(db, 'a', { changesDays: null })).toMatchObject({ alarms: 0 })
    expect(await turn(db, 'b', { changesDays: 400 })).toMatchObject({ alarms: 1 })
    expect((await listEpisodes(db.read, {}, 10)).map(({ name }) => name)).toEqual(['fires', 'young'])
  })

  it('is done by one process for each day, and by another one when that has died', async () => {
    const [one, two] = await openedDbs(open, 2, clock)
    if (!one || !two) throw new Error('no database')
    await deliver(one, 'old', 31, 'done')
    const config = { retention: { days: 30, changesDays: 400, maxShare: 100 }, destinations: [], cronTimezone: 'UTC' }
    const services = [one, two].map((db) => new Retention({ db, clock, log: silentLog, config, clocks }))
    const outcomes = await Promise.all(services.map((service) => service.runIfDue(never)))
    expect(outcomes).toContain('done')
    expect(await Promise.all(services.map((service) => service.runIfDue(never)))).toEqual(['done', 'done'])
    expect(await lastUpkeep(one.read, 'retention')).toMatchObject({
      slot: '2026-06-15',
      note: 'removed body and headers of 1 delivery',
    })
    const shorter = { ...config, retention: { days: 7, changesDays: 400, maxShare: 100 } }
    await deliver(one, 'younger', 8, 'done')
    expect(await new Retention({ db: two, clock, log: silentLog, config: shorter, clocks }).runIfDue(never)).toBe('done')
    expect(await withBody(one)).toEqual([])
    const dead = await leaseOf(one, '2026-06-16')
    expect(await claimUpkeep(two, 'retention', { slot: '2026-06-16', settings: '30 400' }, 60_000)).toBe('held')
    await runSql(one, sql`update sync_upkeep set lease_until = ${sql.raw(`'${daysAgo(1)}'`)}`)
    const heir = await leaseOf(two, '2026-06-16')
    expect(heir.leaseToken).not.toBe(dead.leaseToken)
    await deliver(one, 'older', 32, 'done')
    const parts = { db: one, clock, config }
    await expect(removeExpired(parts, dead, never)).rejects.toThrow(LeaseLostError)
    expect(await withBody(one)).toEqual(['older'])
    await endUpkeep(two, heir, 'done')
    expect(await claimUpkeep(one, 'retention', { slot: '2026-06-15', settings: '30 400' }, 60_000)).toBe('done')
  })

  it('has its turn although a clock that ran a year ahead has had a later one', async () => {
    const db = await openedDb(open, clock)
    await endUpkeep(db, await leaseOf(db, '2027-06-15'), 'by a clock that was wrong')
    await deliver(db, 'old', 31, 'done')
    const config = { retention: { days: 30, changesDays: 400, maxShare: 100 }, destinations: [], cronTimezone: 'UTC' }
    expect(await new Retention({ db, clock, log: silentLog, config, clocks }).runIfDue(never)).toBe('done')
    expect(await lastUpkeep(db.read, 'retention')).toMatchObject({ slot: '2026-06-15' })
    expect(await withBody(db)).toEqual([])
  })

  it('lets deliveries in between any two of its steps, however much there is to remove', async () => {
    const db = await openedDb(open, clock)
    const appender = new InboxAppender(db)
    const body = Buffer.alloc(20_000, 'x')
    const old = Array.from({ length: 3_000 }, (_, n) => ({
      account: ACCOUNT,
      deliveryId: `old ${n}`,
      receivedAt: daysAgo(31),
      headers: {},
      body,
      secret: 1,
    }))
    for (let from = 0; from < old.length; from += 250) await appender.append(old.slice(from, from + 250))
    await runSql(db, sql`update sync_inbox set state = 'done'`)
    let over = false
    let stored = 0
    let steps = 0
    const resting: Clock = { ...clock, sleep: async () => void steps++ }
    const receiving = (async () => {
      while (!over) {
        const id = `new ${stored++}`
        expect(await appender.append([{ ...(old[0] as (typeof old)[number]), deliveryId: id, receivedAt: daysAgo(0) }])).toEqual([null])
      }
    })()
    const lease = await leaseOf(db, 'a')
    const config = { retention: { days: 30, changesDays: 400, maxShare: 100 }, destinations: [] }
    const result = await removeExpired({ db, clock: resting, config }, lease, never)
    over = true
    await receiving
    expect(result.deliveries).toBe(3_000)
    // Four megabytes a step: many steps, with about as many deliveries between them.
    expect(steps).toBeGreaterThan(14)
    expect(stored).toBeGreaterThan(name === 'sqlite' ? steps / 4 : 1)
    expect((await withBody(db)).every((id) => id.startsWith('new'))).toBe(true)
  })

  it('takes no smaller steps for a disk that is slow at each commit, or for others who write', async () => {
    const db = await openedDb(open, clock)
    const delivery = { account: ACCOUNT, receivedAt: daysAgo(40), headers: {}, secret: 1, body: Buffer.from('{}') }
    await new InboxAppender(db).append(Array.from({ length: 300 }, (_, n) => ({ ...delivery, deliveryId: `d${n}` })))
    await runSql(db, sql`update sync_inbox set state = 'done'`)
    const lease = await leaseOf(db, '2026-06-15')
    let now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    onTestFinished(() => void vi.restoreAllMocks())
    let steps = 0
    const slow = meddled(db, async (_, go) => {
      steps += 1
      now += 200
      const result = await go()
      now += 200
      return result
    })
    const config = { retention: { days: 30, changesDays: 400, maxShare: 100 }, destinations: [] }
    expect((await removeExpired({ db: slow, clock: { ...clock, sleep: async () => {} }, config }, lease, never)).deliveries).toBe(300)
    // Four steps for deliveries (50, 100 and 200 rows, and one that finds the end), and one or two for each other table.
    expect(steps).toBeLessThan(15)
  })

  it('stops on a signal, and continues the same day', async () => {
    const db = await openedDb(open, clock)
    for (let n = 0; n < 200; n++) await deliver(db, `d${n}`, 40, 'done')
    const stopping = new AbortController()
    const resting: Clock = { ...clock, sleep: async () => stopping.abort() }
    const config = { retention: { days: 30, changesDays: 400, maxShare: 100 }, destinations: [], cronTimezone: 'UTC' }
    const service = (over: Clock) => new Retention({ db, clock: over, log: silentLog, config, clocks })
    expect(await service(resting).runIfDue(stopping.signal)).toBe('stopped')
    expect((await withBody(db)).length).toBe(150)
    expect(await service(clock).runIfDue(never)).toBe('done')
    expect(await withBody(db)).toEqual([])
  })
})

it('a day of retention begins at half past one in its time zone', () => {
  const at = (text: string, zone: string) => slotAt(Date.parse(text), zone)
  expect(at('2026-06-15T01:29:59Z', 'UTC')).toBe('2026-06-14')
  expect(at('2026-06-15T01:30:00Z', 'UTC')).toBe('2026-06-15')
  expect(at('2026-06-15T05:29:59Z', 'America/New_York')).toBe('2026-06-14')
  expect(at('2026-06-15T05:30:00Z', 'America/New_York')).toBe('2026-06-15')
})

it('also in a night in which the clocks are put ahead or back', () => {
  const at = (text: string, zone: string) => slotAt(Date.parse(text), zone)
  // Clocks skip midnight to one: half past one is half an hour into the day.
  expect(at('2026-09-06T04:29:59Z', 'America/Santiago')).toBe('2026-09-05')
  expect(at('2026-09-06T04:30:00Z', 'America/Santiago')).toBe('2026-09-06')
  // Clocks skip one to two: half past one is skipped.
  expect(at('2026-03-29T00:59:59Z', 'Europe/London')).toBe('2026-03-28')
  expect(at('2026-03-29T01:00:00Z', 'Europe/London')).toBe('2026-03-29')
  // Clocks go from two back to one: half past one is shown twice and counts once.
  expect(at('2026-10-25T00:29:59Z', 'Europe/London')).toBe('2026-10-24')
  expect(at('2026-10-25T00:30:00Z', 'Europe/London')).toBe('2026-10-25')
  expect(at('2026-10-25T01:30:00Z', 'Europe/London')).toBe('2026-10-25')
})

it('its steps grow while they are short, and shrink when they are not, but never to so few that it could not keep up', () => {
  const pace = new Pace('sqlite')
  const first = pace.rows
  for (let n = 0; n < 20; n++) pace.record(1)
  expect(pace.rows).toBe(1_000)
  pace.record(15)
  expect(pace.rows).toBe(500)
  for (let n = 0; n < 20; n++) pace.record(30)
  expect(pace.rows).toBe(10)
  expect(first).toBeGreaterThan(1)
  expect(pace.restMs(10)).toBe(50)
  const far = new Pace('postgres')
  for (let n = 0; n < 20; n++) far.record(30)
  expect(far.rows).toBe(1_000)
  for (let n = 0; n < 20; n++) far.record(300)
  expect(far.rows).toBe(50)
})

it('the service waits a while after the start, checks periodically, and ends on a signal', async () => {
  const opened = await closedAtEnd(sqliteDatabase.open())
  const stopping = new AbortController()
  const slept: number[] = []
  const resting: Clock = {
    ...clock,
    sleep: async (ms) => {
      slept.push(ms)
      if (slept.length === 3) stopping.abort()
    },
  }
  const config = { retention: { days: 30, changesDays: 400, maxShare: 100 }, destinations: [], cronTimezone: 'UTC' }
  await new Retention({ db: opened.db, clock: resting, log: silentLog, config, clocks }).run(stopping.signal)
  expect(slept).toEqual([3_000, 300_000, 300_000])
  expect(await lastUpkeep(opened.db.read, 'retention')).toMatchObject({ slot: '2026-06-15', note: expect.any(String) })
})
