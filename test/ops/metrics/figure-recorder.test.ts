import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inApplyTransaction } from '../../../src/apply/apply.ts'
import { ManualClock } from '../../../src/base/clock.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { FigureRecorder } from '../../../src/ops/metrics/figure-recorder.ts'
import { readHistory } from '../../../src/ops/status/history.ts'
import { readLastDay } from '../../../src/ops/status/last-day.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { ensureDestinations, findDestination } from '../../../src/store/outbox/destinations.ts'
import { writeFigures } from '../../../src/store/upkeep/figures.ts'
import { type OpenedDatabase, openAgain, silentLog, testDatabases } from '../../tools/databases.ts'
import { putOutbox } from '../../tools/destinations.ts'
import { byFirstFeedRead, byWebhook, observedEvent, trackFact, uuid, wireEvent } from '../../tools/observations.ts'

const MINUTE = 60_000
const DAY = 86_400_000

describe.each(testDatabases)('figures over time on $name', (database) => {
  let clock: ManualClock
  let opened: OpenedDatabase
  let others: Db[]
  beforeEach(async () => {
    clock = new ManualClock(Math.floor(Date.now() / MINUTE) * MINUTE + 2_000)
    opened = await database.open({ clock })
    others = []
  })
  afterEach(async () => {
    for (const db of others) await db.close()
    await opened.close()
  })

  async function another(): Promise<Db> {
    const db = await openAgain(opened.config, { clock })
    others.push(db)
    return db
  }

  function recording(db: Db) {
    const recorder = new FigureRecorder(db, silentLog)
    return { recorder, observer: recorder.besides(silentObserver) }
  }

  const deliveries = async (window: '1h' | '24h' | '7d' | '30d' = '1h') => {
    const { deliveries: lines } = await readHistory(opened.db, window)
    return Object.fromEntries(lines.map(({ label, total }) => [label, total]))
  }

  it('are those of all processes, and outlive them', async () => {
    const [one, two] = [recording(opened.db), recording(await another())]
    one.observer.count('deliveries_total', { account: 'a', answer: '204' }, 3)
    two.observer.count('deliveries_total', { account: 'a', answer: '204' }, 4)
    two.observer.count('deliveries_total', { account: 'b', answer: '401' })
    await Promise.all([one.recorder.write(), two.recorder.write()])
    expect(await deliveries()).toEqual({ 204: 7, 401: 1 })
    const three = recording(await another())
    three.observer.count('deliveries_total', { account: 'a', answer: '204' }, 5)
    await three.recorder.write()
    for (const window of ['1h', '24h', '7d', '30d'] as const) expect(await deliveries(window)).toEqual({ 204: 12, 401: 1 })
  })

  it('are the same when they are written again, and when a write failed', async () => {
    const { recorder, observer } = recording(opened.db)
    observer.count('upstream_requests_total', { account: 'a', class: 'ok' })
    await recorder.write()
    await recorder.write()
    clock.advance(MINUTE)
    observer.count('upstream_requests_total', { account: 'a', class: 'ok' })
    const closed = await database.open({ clock })
    const failing = recording(closed.db)
    failing.observer.count('upstream_requests_total', { class: 'throttled' })
    await closed.close()
    await failing.recorder.write()
    await recorder.write()
    const { upstream, steps } = await readHistory(opened.db, '1h')
    expect(upstream).toEqual([expect.objectContaining({ label: 'ok', total: 2 })])
    expect(upstream[0]?.values.slice(-3)).toEqual([null, 1, 1])
    expect(steps).toHaveLength(60)
    expect(steps.at(-1)).toBe(timeFromMs(clock.now() - 2_000))
  })

  it('are kept in memory while the database is away, each in its own minute', async () => {
    const away = Object.assign(Object.create(opened.db) as Db, { write: () => Promise.reject(new Error('away')) })
    const cut = new FigureRecorder(away, silentLog)
    const heard = cut.besides(silentObserver)
    heard.count('deliveries_total', { answer: '503' })
    await cut.write()
    clock.advance(MINUTE)
    heard.count('deliveries_total', { answer: '503' }, 2)
    Object.assign(away, { write: opened.db.write.bind(opened.db) })
    await cut.write()
    const { deliveries: lines } = await readHistory(opened.db, '1h')
    expect(lines.map(({ label, values }) => [label, values.slice(-2)])).toEqual([['503', [1, 2]]])
  })

  it('are written once a minute, and when the process stops', async () => {
    const stopping = new AbortController()
    const { recorder, observer } = recording(opened.db)
    const running = recorder.run(stopping.signal)
    observer.count('deliveries_total', { answer: '204' })
    stopping.abort()
    await running
    expect(await deliveries()).toEqual({ 204: 1 })
  })

  it('count how long records took into the mirror, without history, and pushes to destinations', async () => {
    const { recorder, observer } = recording(opened.db)
    const now = clock.now()
    const event = (n: number, agoMs: number) => wireEvent(n, { occurred_at: new Date(now - agoMs).toISOString() })
    const facts = [
      trackFact('a', uuid(9, 1)),
      observedEvent('a', uuid(9, 1), event(1, 2_000), byWebhook),
      observedEvent('a', uuid(9, 1), event(2, 3 * DAY), byFirstFeedRead),
    ]
    for (const fact of facts) await inApplyTransaction(opened.db, observer, 'test-apply', (apply) => apply.apply([fact]))
    observer.time('push_lag_seconds', 40, { destination: 'ams' })
    await recorder.write()
    const { lag, applied } = await readHistory(opened.db, '1h')
    expect([lag.mirror.count, lag.push.count]).toEqual([1, 1])
    expect(lag.mirror.p50).toBeGreaterThan(1.58)
    expect(lag.mirror.p50).toBeLessThan(2.52)
    expect(lag.push.p99_values.at(-1)).toBeCloseTo(lag.push.p99 ?? 0)
    expect(lag.push.p99_values.at(-2)).toBeNull()
    expect(applied.map(({ label }) => label)).toEqual(expect.arrayContaining(['backfill', 'webhook']))
  })

  it('count for each destination what it accepted in the last day, the duration, and the last time', async () => {
    await ensureDestinations(opened.db, [
      { name: 'ams', start: 'now' },
      { name: 'crm', start: 'now' },
    ])
    const [one, two] = [recording(opened.db), recording(await another())]
    const attempt = ({ observer }: typeof one, outcome: string, by: number) =>
      observer.count('push_attempts_total', { destination: 'ams', outcome }, by)
    attempt(one, 'delivered', 2)
    const last = timeFromMs(clock.now())
    await one.recorder.write()
    expect((await findDestination(opened.db.read, 'ams'))?.last_success_at).toBe(last)
    clock.advance(2 * MINUTE)
    attempt(two, 'delivered', 4)
    for (const outcome of ['dead', 'unknown', 'failed']) attempt(two, outcome, 1)
    two.observer.time('push_lag_seconds', 40, { destination: 'ams' })
    await two.recorder.write()
    await one.recorder.write()
    expect((await findDestination(opened.db.read, 'ams'))?.last_success_at).toBe(timeFromMs(clock.now()))
    const lastDayOf = await readLastDay(opened.db.read)
    const { latency_p50, ...counted } = lastDayOf('ams')
    expect(counted).toMatchObject({ delivered: 6, dead_lettered: 1, unknown: 1, success_rate: 0.75 })
    expect(latency_p50).toBeGreaterThan(31)
    expect(latency_p50).toBeLessThan(51)
    expect(lastDayOf('crm')).toEqual({
      delivered: 0,
      dead_lettered: 0,
      unknown: 0,
      success_rate: null,
      latency_p50: null,
      latency_p99: null,
    })
    clock.advance(DAY + 60 * MINUTE)
    expect((await readLastDay(opened.db.read))('ams').delivered).toBe(0)
  })

  it('record the largest number of waiting items', async () => {
    await ensureDestinations(opened.db, [{ name: 'ams', start: 'now' }])
    const queued = (n: number) => putOutbox(opened.db, 'ams', { ready: n })
    const [one, two] = [recording(opened.db), recording(await another())]
    await queued(7)
    await one.recorder.write()
    await queued(5)
    await two.recorder.write()
    clock.advance(MINUTE)
    await one.recorder.write()
    const { queues } = await readHistory(opened.db, '1h')
    expect(queues.map(({ label, now, most, values }) => [label, now, most, values.slice(-3)])).toEqual([
      ['inbox', 0, 0, [null, 0, 0]],
      ['outbox', 5, 7, [null, 7, 5]],
    ])
  })

  it('are kept for two days by the minute and for a month by the hour, and no damaged row stops them', async () => {
    const at = (days: number) => timeFromMs(Math.floor((clock.now() - days * DAY) / 3_600_000) * 3_600_000)
    const step = (stepSeconds: number, days: number) => ({ stepSeconds, at: at(days), figures: { deliveries: { 204: 1 } } })
    await writeFigures(opened.db, [step(60, 3), step(60, 1), step(3_600, 32), step(3_600, 29), step(3_600, 3)])
    await recording(opened.db).recorder.write()
    const kept = await opened.db.read.sql.selectFrom('sync_figures').select(['step_seconds', 'at']).orderBy('at').execute()
    expect(kept.slice(0, 3)).toEqual([
      { step_seconds: 3_600, at: at(29) },
      { step_seconds: 3_600, at: at(3) },
      { step_seconds: 60, at: at(1) },
    ])
    expect([await deliveries('7d'), await deliveries('30d')]).toEqual([{ 204: 1 }, { 204: 2 }])
    await opened.db.write('test', (tx) => tx.sql.updateTable('sync_figures').set({ figures: '{"deliv' }).where('at', '=', at(29)).execute())
    expect(await deliveries('30d')).toEqual({ 204: 1 })
  })
})
