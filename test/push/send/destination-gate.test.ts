import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { type Observer, silentObserver } from '../../../src/base/observer.ts'
import type { Outcome } from '../../../src/push/contract/delivery.ts'
import { localFailure } from '../../../src/push/contract/outcomes.ts'
import { DestinationGate } from '../../../src/push/send/destination-gate.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { backOffDestination, ensureDestinations, setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { claimStreams } from '../../../src/store/outbox/work.ts'
import { silentLog as log, type TestDatabase, testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { delivered, lost } from '../kind.ts'
import { ACCOUNT, destinationOf, fanAll, openedDb, openedDbs, stateOf } from '../outbox.ts'
import { turnNow } from './parts.ts'

const HOUR_MS = 3_600_000
const FAILURES_TO_OPEN = 5

/** A gate with attempts in flight: the first ends last. */
async function bench(open: TestDatabase['open'], observer: Observer = silentObserver) {
  // Near the clock of Postgres.
  const clock = new ManualClock(Date.now())
  const db = await openedDb(open, clock)
  await ensureDestinations(db, [{ name: 'ams', start: 'now' }])
  const gate = new DestinationGate({ db, clock, log, observer, destination: { name: 'ams', rps: null, scheduleMs: [] } })
  const permits = Array.from({ length: FAILURES_TO_OPEN + 1 }, () => gate.admit())
  const settle = (outcome: Outcome) => {
    const permit = permits.pop()
    if (!permit) throw new Error('nothing is under way')
    gate.settle(permit, outcome)
  }
  return { clock, db, gate, settle }
}

function dead(retryAfterMs: number | null): Outcome {
  return { type: 'failed', permanent: false, alive: false, status: 503, error: 'answered 503', retryAfterMs }
}

async function restMs(db: Db, clock: ManualClock): Promise<number | null> {
  const { retry_at: at } = await stateOf(db, 'ams')
  return at === null ? null : Date.parse(at) - clock.now()
}

describe.each(testDatabases)('a gate on $name', ({ open }) => {
  it('is opened immediately when an earlier attempt still succeeds, if only its circuit had closed it', async () => {
    const { clock, db, gate, settle } = await bench(open)
    for (let n = 0; n < FAILURES_TO_OPEN; n++) settle(dead(null))
    await gate.flush()
    expect(gate.admit()).toBeNull()
    expect(await restMs(db, clock)).toBeGreaterThan(1_000)
    settle(delivered)
    await gate.flush()
    expect(gate.admit()).not.toBeNull()
    expect(await stateOf(db, 'ams')).toMatchObject({ retry_at: null, failures: 0 })
  })

  it.each([
    ['longer', HOUR_MS],
    ['shorter', 1_500],
  ])('keeps a requested pause, %s than the pause of its circuit, when an earlier attempt still succeeds', async (_, askedMs) => {
    const { clock, db, gate, settle } = await bench(open)
    for (let n = 0; n < FAILURES_TO_OPEN; n++) settle(dead(askedMs))
    await gate.flush()
    const { retry_at: longest } = await stateOf(db, 'ams')
    settle(delivered)
    await gate.flush()
    expect(gate.circuitWaitMs).toBe(0)
    expect(gate.admit()).toBeNull()
    const kept = await stateOf(db, 'ams')
    expect(kept.retry_at === longest).toBe(askedMs === HOUR_MS)
    expect(await restMs(db, clock)).toBeGreaterThan(askedMs - 1_000)
    clock.advance(askedMs)
    expect(gate.admit()).not.toBeNull()
  })

  it('counts unanswered attempts as failures of the destination, and shows when its circuit is open', async () => {
    const shown: unknown[] = []
    const { gate, settle } = await bench(open, { ...silentObserver, set: (...gauge) => void shown.push(gauge) })
    for (let n = 0; n < FAILURES_TO_OPEN; n++) settle(lost)
    await gate.flush()
    expect(gate.admit()).toBeNull()
    expect(shown).toEqual([['push_circuit_open', 1, { destination: 'ams' }]])
    settle(delivered)
    await gate.flush()
    expect(shown.slice(1)).toEqual([['push_circuit_open', 0, { destination: 'ams' }]])
  })

  it.each([
    [200, false],
    [408, false],
    [500, true],
  ])('takes one that answers %i, and leaves it open whether it took the messages, for dead: %s', async (status, isDead) => {
    const { gate, settle } = await bench(open)
    for (let n = 0; n < FAILURES_TO_OPEN; n++) settle({ ...lost, status })
    expect(gate.circuitWaitMs > 0).toBe(isDead)
  })

  it('pauses the senders of every process when its circuit opens in one, and ends the pause for all', async () => {
    const clock = new ManualClock(Date.now())
    const [db, other] = (await openedDbs(open, 2, clock)) as [Db, Db]
    const all = destinationOf('ams', { start: 'now' })
    await ensureDestinations(db, [all])
    const destination = { name: 'ams', rps: null, scheduleMs: [] }
    const gates = [db, other].map((each) => new DestinationGate({ db: each, clock, log, observer: silentObserver, destination }))
    await applyAll(db, [observedEvent(ACCOUNT, uuid(9, 1), wireEvent(1))])
    await fanAll(db, [all])
    const claim = () => claimStreams(other, 'ams', { streams: 1, rowsPerStream: 1, leaseMs: 60_000, uncertain: false })
    const permits = Array.from({ length: FAILURES_TO_OPEN + 1 }, () => gates[0]?.admit())
    for (const permit of permits.slice(1)) if (permit) gates[0]?.settle(permit, dead(null))
    await gates[0]?.flush()
    expect(await claim(), 'the other one claims nothing').toEqual([])
    const [last] = permits
    if (last) gates[0]?.settle(last, delivered)
    await gates[0]?.flush()
    expect(await claim()).toHaveLength(1)
    expect(gates[1]?.admit()).not.toBeNull()
  })

  it('keeps a pause that an unclear answer requested', async () => {
    const { clock, db, gate, settle } = await bench(open)
    settle({ type: 'unknown', error: 'answered 504', retryAfterMs: HOUR_MS })
    await gate.flush()
    expect(gate.admit()).toBeNull()
    expect(await restMs(db, clock)).toBeGreaterThan(HOUR_MS - 60_000)
  })

  it('treats a Retry-After of 0 as no pause, and stores nothing', async () => {
    const { clock, db, gate, settle } = await bench(open)
    settle({ type: 'failed', permanent: false, alive: true, status: 503, error: 'answered 503', retryAfterMs: 0 })
    await gate.flush()
    expect(await restMs(db, clock)).toBeNull()
    expect(gate.admit()).not.toBeNull()
  })

  it('learns nothing about the destination from an attempt that sent no request', async () => {
    const { clock, gate, settle } = await bench(open)
    const notAsked = localFailure('the body expression returned nothing', true)
    for (let n = 1; n < FAILURES_TO_OPEN; n++) settle(dead(null))
    settle(notAsked)
    settle(dead(null))
    expect(gate.circuitWaitMs).toBeGreaterThan(0)
    clock.advance(60_000)
    const probe = gate.admit()
    if (probe === null) throw new Error('nothing may be tried')
    gate.settle(probe, notAsked)
    expect(gate.isProbing).toBe(true)
    await gate.flush()
  })

  it('keeps a pause that the target requested from another process, when its own circuit closes', async () => {
    const { clock, db, gate, settle } = await bench(open)
    for (let n = 0; n < FAILURES_TO_OPEN; n++) settle(dead(null))
    await gate.flush()
    await backOffDestination(db, 'ams', HOUR_MS, 0)
    settle(delivered)
    await gate.flush()
    expect(await restMs(db, clock)).toBeGreaterThan(HOUR_MS - 60_000)
  })

  it('probes immediately when an operator has ended the pause of its circuit, and pauses again when the probe fails', async () => {
    const { clock, db, gate, settle } = await bench(open)
    for (let n = 0; n < FAILURES_TO_OPEN; n++) settle(dead(null))
    await gate.refresh(false)
    expect(gate.circuitWaitMs, 'nobody has ended it').toBeGreaterThan(1_000)
    await setDestinationState(db, 'ams', 'active', null)
    clock.advance(1_000)
    await gate.refresh(false)
    expect(gate.circuitWaitMs).toBe(0)
    const probe = gate.admit()
    expect(probe).toEqual({ probe: true })
    if (probe) gate.settle(probe, dead(null))
    await gate.flush()
    clock.advance(1_000)
    await gate.refresh(false)
    expect(gate.circuitWaitMs).toBeGreaterThan(0)
    expect((await stateOf(db, 'ams')).failures).toBeGreaterThan(FAILURES_TO_OPEN)
  })

  it.each([
    ['paused by an operator', (db: Db) => setDestinationState(db, 'ams', 'paused', 'the AMS moves')],
    ['stopped by another process', (db: Db) => setDestinationState(db, 'ams', 'suspended', 'answered 410')],
    ['paused, as another process was asked', (db: Db) => backOffDestination(db, 'ams', HOUR_MS, 0)],
  ])('sends none of the claimed rows when it is %s, until the database hands out rows again', async (_, stop) => {
    const { clock, db, gate } = await bench(open)
    await gate.refresh(true)
    expect(gate.admit()).not.toBeNull()
    await stop(db)
    clock.advance(1_000)
    const written = await gate.flush()
    await gate.refresh(true)
    expect(gate.admit()).toBeNull()
    gate.reopen(written)
    expect(gate.admit(), 'that was given before').toBeNull()
    gate.reopen(await gate.flush())
    expect(gate.admit()).not.toBeNull()
  })

  it('is suspended by an attempt that was in flight when a pause began', async () => {
    const { db, gate, settle } = await bench(open)
    await backOffDestination(db, 'ams', HOUR_MS, 0)
    await gate.refresh(true)
    expect(gate.admit()).toBeNull()
    settle({ type: 'suspend', retry: 'soon', status: 410, error: 'answered 410' })
    await gate.flush()
    expect(await stateOf(db, 'ams')).toMatchObject({ state: 'suspended', reason: 'answered 410' })
  })

  it('does not store a pause again that an operator has ended', async () => {
    const { db, gate, settle } = await bench(open)
    for (let n = 0; n < FAILURES_TO_OPEN; n++) settle(dead(HOUR_MS))
    await gate.flush()
    await setDestinationState(db, 'ams', 'active', null)
    settle(delivered)
    await gate.flush()
    expect(await stateOf(db, 'ams')).toMatchObject({ retry_at: null, failures: 0 })
  })
})

function gateWith(rps: number): DestinationGate {
  const destination = { name: 'ams', rps, scheduleMs: [] }
  return new DestinationGate({ db: {} as Db, clock: new ManualClock(0), log, observer: silentObserver, destination })
}

describe('a gate with a rate', () => {
  it('takes its part of the rate when several processes send to the destination', () => {
    const gate = gateWith(12)
    gate.shareAmong(3)
    expect(gate.rate).toBe(4)
  })

  it('gives a turn that was not used to the next caller, once', async () => {
    const gate = gateWith(1)
    expect([await turnNow(gate), await turnNow(gate)]).toEqual([true, false])
    gate.release()
    expect([await turnNow(gate), await turnNow(gate)]).toEqual([true, false])
  })

  it('gives it to the next caller if nothing may be sent', async () => {
    const gate = gateWith(1)
    const permit = gate.admit()
    if (permit !== null) gate.settle(permit, dead(HOUR_MS))
    for (let n = 0; n < 3; n++) expect([await turnNow(gate), gate.admit()]).toEqual([true, null])
  })
})
