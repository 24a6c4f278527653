import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { TransientError } from '../../src/base/errors.ts'
import { Deadline } from '../../src/receive/deadline.ts'
import { GroupCommit } from '../../src/receive/group-commit.ts'
import type { NewDelivery } from '../../src/store/inbox/append.ts'
import { Counts } from '../tools/counts.ts'
import { recordingLog } from './support.ts'
import { HeldAppender } from './support-appenders.ts'

const MIB = 1 << 20

function delivery(n: number, bytes = 10): NewDelivery {
  return {
    account: 'acme',
    deliveryId: `msg_${n}`,
    receivedAt: '2026-05-04T12:00:00.000000Z',
    headers: {},
    body: Buffer.alloc(bytes),
    secret: 1,
  }
}

function begin(over: { waitingBytes?: number } = {}) {
  const appender = new HeldAppender()
  const clock = new ManualClock()
  const start = () => new Deadline(clock, 8_000)
  const counts = new Counts()
  const { log, lines } = recordingLog()
  const commits = new GroupCommit({ appender, log, observer: counts, waitingBytes: 64 * MIB, ...over })
  const add = (n: number, bytes?: number) => commits.add(delivery(n, bytes), start())
  return { appender, clock, counts, lines, commits, start, add }
}

const idsOf = (deliveries: readonly NewDelivery[]) => deliveries.map((one) => one.deliveryId)
const stored = (deliveries: readonly unknown[]) => deliveries.map(() => null)

/** Stores `count` deliveries. @returns the number in each transaction. */
async function storeAll(appender: HeldAppender, count: number): Promise<number[]> {
  const sizes: number[] = []
  for (let left = count; left > 0; left -= sizes.at(-1) ?? 0) {
    const batch = await appender.next()
    sizes.push(batch.deliveries.length)
    batch.end(stored(batch.deliveries))
  }
  return sizes
}

describe('GroupCommit', () => {
  it('stores all waiting deliveries in one transaction, one at a time, and resolves each after its own', async () => {
    const { appender, add, counts } = begin()
    const reported: string[] = []
    const adding = [1, 2, 3].map((n) => add(n).then((failure) => reported.push(`${n} ${failure}`)))
    const first = await appender.next()
    expect(idsOf(first.deliveries)).toEqual(['msg_1', 'msg_2', 'msg_3'])
    adding.push(...[4, 5].map((n) => add(n).then((failure) => reported.push(`${n} ${failure}`))))
    // In many turns of the event loop, no second transaction begins, and nothing is answered.
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    expect(reported).toEqual([])
    first.end(stored(first.deliveries))
    const second = await appender.next()
    expect(reported).toEqual(['1 null', '2 null', '3 null'])
    expect(idsOf(second.deliveries)).toEqual(['msg_4', 'msg_5'])
    second.end(stored(second.deliveries))
    await Promise.all(adding)
    expect(counts.gauges.get('inbox_append_rows')).toBe(2)
  })

  it('one failed delivery never fails its companions', async () => {
    const { appender, add, lines } = begin()
    const adding = Promise.all([add(1), add(2), add(3)])
    const batch = await appender.next()
    const poison = new Error('poison')
    batch.end([null, poison, null])
    expect(await adding).toEqual([null, poison, null])
    expect(lines).toMatchObject([{ level: 50, delivery: 'msg_2' }])
  })

  it('invariant 1: a delivery without an outcome does not count as stored', async () => {
    const { appender, add } = begin()
    const adding = Promise.all([add(1), add(2)])
    ;(await appender.next()).end([null])
    expect(await adding).toEqual([null, expect.any(TransientError)])
    const failing = add(3)
    ;(await appender.next()).fail(new Error('broken'))
    expect(await failing).toEqual(new Error('broken'))
  })

  it('rejects immediately when too many deliveries or bytes are waiting', async () => {
    const rows = begin()
    const waiting = Array.from({ length: 4_096 }, (_, n) => rows.add(n))
    expect(await rows.add(4_096)).toEqual(expect.any(TransientError))
    await storeAll(rows.appender, waiting.length)
    expect(await Promise.all(waiting)).toEqual(stored(waiting))

    const bytes = begin({ waitingBytes: 100 })
    const large = bytes.add(1, 100)
    expect(await bytes.add(2, 1)).toEqual(expect.any(TransientError))
    ;(await bytes.appender.next()).end([null])
    expect(await large).toBeNull()
    const again = bytes.add(3, 100)
    ;(await bytes.appender.next()).end([null])
    expect(await again).toBeNull()
  })

  it('bounds a transaction by rows and by bytes; a larger body goes alone', async () => {
    const { appender, add } = begin()
    const adding = Array.from({ length: 600 }, (_, n) => add(n))
    expect(await storeAll(appender, adding.length)).toEqual([512, 88])
    await Promise.all(adding)

    const large = [5 * MIB, 4 * MIB, 20 * MIB, MIB].map((size, n) => add(n, size))
    const ids: string[][] = []
    for (let batches = 0; batches < 4; batches++) {
      const batch = await appender.next()
      ids.push(idsOf(batch.deliveries))
      batch.end(stored(batch.deliveries))
    }
    expect(ids).toEqual([['msg_0'], ['msg_1'], ['msg_2'], ['msg_3']])
    await Promise.all(large)
  })

  it('trap 29: no delivery waits beyond its deadline, and one that still waits then is not stored', async () => {
    const { appender, add, clock } = begin()
    const inFlight = add(1)
    const batch = await appender.next()
    const waiting = add(2)
    clock.advance(7_999)
    const young = add(3)
    clock.advance(1)
    expect(await inFlight).toEqual(expect.any(TransientError))
    expect(await waiting).toEqual(expect.any(TransientError))
    batch.end([null])
    const next = await appender.next()
    expect(idsOf(next.deliveries)).toEqual(['msg_3'])
    next.end([null])
    expect(await young).toBeNull()
  })

  it('trap 29: a delivery whose deadline has passed is rejected immediately and not stored', async () => {
    const { appender, add, clock, commits, start } = begin()
    const late = start()
    const over = new Promise<void>((resolve) => late.onExpiry(resolve))
    clock.advance(8_000)
    await over
    expect(await commits.add(delivery(1), late)).toEqual(expect.any(TransientError))
    const next = add(2)
    const batch = await appender.next()
    expect(idsOf(batch.deliveries)).toEqual(['msg_2'])
    batch.end([null])
    expect(await next).toBeNull()
  })

  it('logs each outage of the database when it begins and when it ends, not every delivery', async () => {
    const { appender, add, lines } = begin()
    const reported = ['cannot be stored now', 'are stored again']
    const heard = () => lines.flatMap((line) => reported.filter((text) => JSON.stringify(line).includes(text)))
    for (const outcome of [new TransientError('away'), new TransientError('away'), null, null, new TransientError('away'), null]) {
      const answer = add(1)
      const batch = await appender.next()
      batch.end([outcome])
      expect(await answer).toBe(outcome)
    }
    expect(heard()).toEqual([...reported, ...reported])
    expect(lines).toMatchObject([{ level: 50 }, { level: 30, refused: 2 }, { level: 50 }, { level: 30, refused: 1 }])
  })
})
