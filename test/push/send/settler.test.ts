import { describe, expect, it } from 'vitest'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import { TransientError } from '../../../src/base/errors.ts'
import { Settler, type SettlerOptions } from '../../../src/push/send/settler.ts'
import type { Db, Tx, WriteOptions } from '../../../src/store/engine/db.ts'
import { type ClaimedStream, claimStreams, type StreamResult } from '../../../src/store/outbox/work.ts'
import { silentLog as log, onSqlite } from '../../tools/databases.ts'
import { interrupted } from '../../tools/meddled.ts'
import { openedDb, outboxOf, queueEvents, result } from '../outbox.ts'

const FULL = 400

async function claimed(db: Db, count: number): Promise<ClaimedStream[]> {
  await queueEvents(db, count)
  return claimStreams(db, 'ams', { streams: count, rowsPerStream: 1, leaseMs: 60_000, uncertain: false })
}

function settlerOf(db: Db, fails: (tries: number, passedMs: number) => Error | null = () => null, over: Partial<SettlerOptions> = {}) {
  let tries = 0
  let now = 0
  const clock: Clock = {
    ...systemClock,
    now: () => now,
    async sleep(ms) {
      now += ms
    },
  }
  const failing = interrupted(db, (name) => {
    const failure = name === 'outbox-settle' ? fails(++tries, now) : null
    if (failure !== null) throw failure
  })
  const common = {
    db: failing,
    clock,
    log,
    destination: 'ams',
    idempotent: true,
    gatherMs: () => 0,
    canceled: new AbortController().signal,
  }
  const inner = new Settler({ ...common, ...over })
  // The end of a lease is given in milliseconds from the beginning.
  const settler = {
    add: (stream: StreamResult, untilMs: number) => settler.addAll([stream], untilMs),
    addAll: (streams: readonly StreamResult[], untilMs: number) => inner.add(streams, { leftMs: () => untilMs - now }),
  }
  return { settler, tries: () => tries, passedMs: () => now }
}

async function lostStreams(db: Db): Promise<(rows: number) => StreamResult> {
  const [stream] = await claimed(db, 1)
  const [row] = stream?.rows ?? []
  if (stream === undefined || row === undefined) throw new Error('nothing is due')
  return (rows) => result({ ...stream, leaseToken: 'lost', rows: Array(rows).fill(row) }, 'delivered')
}

const away = new TransientError('the store is away')
const states = async (db: Db) => (await outboxOf(db)).map(({ state }) => state)

describe.each(onSqlite)('the result of a stream on $name', ({ open }) => {
  it('is stored when the database answers again, while the lease lasts', async () => {
    const db = await openedDb(open)
    const streams = (await claimed(db, 2)).map((stream) => result(stream, 'delivered'))
    const { settler } = settlerOf(db, (_, passedMs) => (passedMs < 3_000 ? away : null), { gatherMs: () => 1 })
    await Promise.all(streams.map((stream, n) => settler.add(stream, n === 0 ? 1_000 : 10_000)))
    expect(await states(db)).toEqual(['ready', 'delivered'])
  })

  it('is dropped when the lease has ended, the database rejects it, or the program ends', async () => {
    const db = await openedDb(open)
    const [stream] = await claimed(db, 1)
    if (stream === undefined) throw new Error('nothing is due')
    const late = settlerOf(db, () => away)
    await late.settler.add(result(stream, 'delivered'), 10_000)
    expect(late.passedMs()).toBeGreaterThanOrEqual(10_000)
    const refused = settlerOf(db, () => new Error('no such column'))
    await refused.settler.add(result(stream, 'delivered'), 10_000)
    expect(refused.tries()).toBe(1)
    const ending = new AbortController()
    const ends = () => {
      ending.abort()
      return away
    }
    const broken = settlerOf(db, (tries) => (tries === 3 ? ends() : away), { canceled: ending.signal })
    await broken.settler.add(result(stream, 'delivered'), 10_000)
    expect(broken.tries()).toBe(3)
    expect(await states(db)).toEqual(['ready'])
  })

  it('is stored together with others that wait, up to the rows that a transaction may have', async () => {
    const db = await openedDb(open)
    const of = await lostStreams(db)
    const transactions = async (gatherMs: number, ...rows: number[]) => {
      const { settler, tries } = settlerOf(db, undefined, { gatherMs: () => gatherMs })
      await Promise.all(rows.map((count) => settler.add(of(count), 10_000)))
      const first = tries()
      await settler.add(of(1), 10_000)
      expect(tries(), 'what comes later is written, too').toBe(first + 1)
      return first
    }
    expect(await transactions(0, 1, 1, 1), 'the first waits for nobody').toBe(2)
    expect(await transactions(1, 1, 1, 1), 'the first waits a moment').toBe(1)
    expect(await transactions(1, 1, FULL - 1)).toBe(1)
    expect(await transactions(1, 2, FULL - 1)).toBe(2)
    expect(await transactions(1, FULL + 1, 1)).toBe(2)
  })

  it('is stored in one transaction with the others of its batch, up to the rows that it may have', async () => {
    const db = await openedDb(open)
    const of = await lostStreams(db)
    const transactions = async (...rows: number[]) => {
      const { settler, tries } = settlerOf(db)
      await settler.addAll(rows.map(of), 10_000)
      return tries()
    }
    expect(await transactions()).toBe(0)
    expect(await transactions(...Array(FULL).fill(1))).toBe(1)
    expect(await transactions(...Array(FULL + 1).fill(1))).toBe(2)
    expect(await transactions(FULL + 1, 1)).toBe(2)
  })

  it('waits for others no longer when a transaction is full', async () => {
    const db = await openedDb(open)
    const of = await lostStreams(db)
    const { settler, tries } = settlerOf(db, undefined, { gatherMs: () => 2 ** 31 - 1 })
    await settler.add(of(FULL), 10_000)
    expect(tries()).toBe(1)
  })

  it('waits for the disk, unless it only says that an idempotent target has the rows', async () => {
    const db = await openedDb(open)
    const [stream] = await claimed(db, 1)
    if (stream === undefined) throw new Error('nothing is due')
    const settled: unknown[] = []
    const noted: Db = {
      ...interrupted(db, () => undefined),
      write: (name, work, options) => db.write(name, (tx) => noting(tx, work, options), options),
    }
    const noting = <T>(tx: Tx, work: (tx: Tx) => Promise<T>, options: WriteOptions | undefined): Promise<T> => {
      settled.push(options?.relaxedDurability)
      return work(tx)
    }
    const settle = async (what: StreamResult, over: Partial<SettlerOptions> = {}) => {
      await settlerOf(noted, undefined, over).settler.add({ ...what, stream: { ...stream, leaseToken: 'lost' } }, 10_000)
      return settled.pop()
    }
    expect(await settle(result(stream, 'delivered'))).toBe(true)
    expect(await settle(result(stream, 'delivered'), { idempotent: false })).toBe(false)
    expect(await settle(result(stream, 'delivered', { remoteId: 'r-1' }))).toBe(false)
    expect(await settle(result(stream, 'ready'))).toBe(false)
    expect(await settle(result(stream, 'dead', {}, { type: 'blocked', as: 'held' }))).toBe(false)
  })
})
