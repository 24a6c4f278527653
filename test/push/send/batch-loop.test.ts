import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { type Clock, ManualClock, systemClock } from '../../../src/base/clock.ts'
import { TransientError } from '../../../src/base/errors.ts'
import type { WebhookDestination } from '../../../src/config/config.ts'
import type { Batching, Outcome, PushItem } from '../../../src/push/contract/delivery.ts'
import { BatchLoop } from '../../../src/push/send/batch-loop.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { type ClaimedStream, releaseStreams } from '../../../src/store/outbox/work.ts'
import { onSqlite, runSql } from '../../tools/databases.ts'
import { interrupted, meddled } from '../../tools/meddled.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { delivered, lost, testKind } from '../kind.ts'
import { ACCOUNT, destinationOf, fanAll, openedDb, outboxOf, queueEvents, streamsIn } from '../outbox.ts'
import { webhookTo } from '../rig.ts'
import { sendingOf, turnNow } from './parts.ts'

/** Streams in one claim, and one more. */
const STREAMS = 33
const FAILURES_TO_OPEN = 5

describe.each(onSqlite)('a batch on $name', ({ open }) => {
  it('releases the collected streams when a claim fails', async () => {
    const db = await openedDb(open)
    await queueEvents(db, STREAMS)
    let claims = 0
    const failing = interrupted(db, (name) => {
      if (name === 'outbox-claim' && ++claims === 2) throw new TransientError('the store is away')
    })
    const batch = { type: 'many', maxItems: 1_000, gatherMs: 0 } as const
    const kind = testKind({ batch })
    const loop = new BatchLoop(sendingOf(failing, webhookTo('http://unused.example', { idempotent: false }), kind), batch)
    await expect(loop.run()).rejects.toThrow('the store is away')
    expect(kind.calls).toEqual([])
    const streams = await streamsIn(db)
    expect(streams).toHaveLength(STREAMS)
    expect(streams.filter(({ lease_token: token }) => token !== null)).toEqual([])
    expect((await outboxOf(db)).filter(({ uncertain }) => uncertain === 1)).toEqual([])
  })

  it.each([
    ['is sent', 60_000],
    ['may be sent in time', -1],
  ])('uses no turn of the rate if nothing of it %s', async (_, leftMs) => {
    const db = await openedDb(open)
    await queueEvents(db, 1)
    await db.write('test', (tx) => tx.sql.deleteFrom('changes').execute())
    const sending = sendingOf(db, webhookTo('http://unused.example', { rps: 1 }), testKind(), new ManualClock(Date.now()))
    const { streams } = await sending.claim(1, 1)
    const { gate, rowSender, stopping, canceled } = sending.context
    const left = [60_000, leftMs]
    await rowSender.sendTogether(streams, { stopping, canceled, until: { leftMs: () => left.shift() ?? leftMs } })
    expect(await turnNow(gate)).toBe(true)
  })

  it('gathers again before it sends rows that came while it sent', async () => {
    const db = await openedDb(open)
    const happened = await batchesOf(db, { first: 1, more: 1 })
    expect(happened).toEqual(['gathers', 'sends 1', 'waits', 'gathers', 'sends 1', 'waits', 'gathers', 'sends 1'])
  })

  it('gathers again after a failed batch, even when there is more', async () => {
    const db = await openedDb(open)
    await queueEvents(db, 2)
    const happened: string[] = []
    const clock: Clock = {
      ...systemClock,
      async sleep(ms) {
        if (ms === 60_000) happened.push('gathers')
      },
    }
    const send = () => {
      happened.push('sends')
      return lost
    }
    const { run } = loopOver(db, (batches) => batches === 2, {}, clock, { maxItems: 1, gatherMs: 60_000, send })
    await run()
    expect(happened).toEqual(['gathers', 'sends', 'gathers', 'sends', 'gathers'])
  })

  it('sends the rest of the waiting rows immediately', async () => {
    const db = await openedDb(open)
    const happened = await batchesOf(db, { first: 40, more: 0 })
    expect(happened).toEqual(['gathers', 'sends 16', 'sends 16', 'sends 8'])
  })

  it('has at most the allowed rows, and releases the streams that do not fit', async () => {
    const db = await openedDb(open)
    expect(await rowsSentOf(db, { streams: 3, rowsPerStream: 10 }, 15, true)).toEqual([15, 15])
  })

  it('ends after eight claims that reached the limit of bytes, and the rest follows immediately', async () => {
    const db = await openedDb(open)
    await queueEvents(db, 10 * 20)
    const full = meddled(db, async (name, go) => {
      const done = await go()
      if (name !== 'outbox-claim') return done
      const streams = done as ClaimedStream[]
      await releaseStreams(db, streams.slice(20), { clearUncertain: false })
      return streams.slice(0, 20).map((stream) => ({ ...stream, isFull: true })) as typeof done
    })
    let gathers = 0
    const clock: Clock = {
      ...systemClock,
      async sleep() {
        gathers += 1
      },
    }
    const { kind, run } = loopOver(full, (batches) => batches === 2, {}, clock, { gatherMs: 60_000 })
    await run()
    expect(kind.calls.map((seqs) => seqs.length)).toEqual([8 * 20, 2 * 20])
    expect(gathers).toBe(1)
  })

  it('has one row of each stream when the destination is not idempotent', async () => {
    const db = await openedDb(open)
    expect(await rowsSentOf(db, { streams: 3, rowsPerStream: 2 }, 15, false)).toEqual([3, 3])
  })

  it('is sent immediately when an operator ends the pause of a dead target, with one row until the target answers', async () => {
    const clock = new ManualClock(Date.now())
    const db = await openedDb(open, clock)
    await queueEvents(db, 3)
    const { kind, sending, run } = loopOver(db, (calls) => calls === 2, { scheduleMs: [5_000] }, clock)
    const { gate } = sending.context
    for (const permit of Array.from({ length: FAILURES_TO_OPEN }, () => gate.admit())) if (permit) gate.settle(permit, lost)
    await gate.flush()
    await setDestinationState(db, 'ams', 'active', null)
    await run()
    expect(kind.calls.map((seqs) => seqs.length)).toEqual([1, 2])
  })

  it('is released when an operator pauses the destination while it gathers', async () => {
    const db = await openedDb(open)
    await queueEvents(db, 2)
    let claims = 0
    const pausing = meddled(db, async (name, go) => {
      const done = await go()
      if (name === 'outbox-claim' && ++claims === 1) await setDestinationState(db, 'ams', 'paused', 'the AMS moves')
      return done
    })
    const { kind, run } = loopOver(pausing, () => claims === 1, { idempotent: false })
    await run()
    expect(kind.calls).toEqual([])
    expect((await streamsIn(db)).map((stream) => stream.lease_token)).toEqual([null, null])
    expect((await outboxOf(db)).map(({ state, uncertain }) => [state, uncertain])).toEqual([
      ['ready', 0],
      ['ready', 0],
    ])
  })

  it('is released when gathering used up the time of the first lease', async () => {
    const clock = new ManualClock(Date.now())
    const db = await openedDb(open, clock)
    await queueEvents(db, STREAMS)
    let claims = 0
    const slow = meddled(db, async (name, go) => {
      const done = await go()
      if (name === 'outbox-claim' && ++claims === 1) clock.advance(70_000)
      return done
    })
    const { kind, run } = loopOver(slow, () => claims === 2, {}, clock)
    await run()
    expect(kind.calls).toEqual([])
    expect((await streamsIn(db)).filter((stream) => stream.lease_token !== null)).toEqual([])
  })
})

describe.each(onSqlite)('a batch whose changes are answered one by one, on $name', ({ open }) => {
  it('has one change of a submission, and only those of one group', async () => {
    const db = await openedDb(open)
    await applyAll(
      db,
      Array.from({ length: 8 }, (_, n) => observedEvent(ACCOUNT, uuid(9, n % 4), wireEvent(n + 1))),
    )
    await fanAll(db, [destinationOf('ams', { entities: ['market_events'] })])
    const seqs = (await outboxOf(db)).map(({ seq }) => seq)
    const group = ({ seq }: PushItem) => String(seqs.indexOf(seq) % 2)
    const { kind, run } = loopOver(db, (batches) => batches === 4, {}, systemClock, { groupOf: group })
    await run()
    const placesOf = (call: readonly number[]) => call.map((seq) => seqs.indexOf(seq))
    expect(kind.calls.map(placesOf)).toEqual([
      [0, 2],
      [1, 3],
      [4, 6],
      [5, 7],
    ])
  })

  it('continues with the others immediately when some are not accepted', async () => {
    const db = await openedDb(open)
    await queueEvents(db, 5)
    const [first] = await outboxOf(db)
    const refused: Outcome = { type: 'failed', permanent: false, alive: true, status: 200, error: 'not now', retryAfterMs: null }
    const send = ({ seq }: PushItem) => (seq === first?.seq ? refused : delivered)
    const over = { scheduleMs: [60_000] }
    const { kind, run } = loopOver(db, (batches) => batches === 3, over, systemClock, { maxItems: 2, groupOf: () => '', send })
    await run()
    expect(kind.calls.map((seqs) => seqs.length)).toEqual([2, 2, 1])
    expect((await outboxOf(db)).map(({ state }) => state)).toEqual(['ready', ...Array(4).fill('delivered')])
  })

  it('is halved while it is rejected as a whole, and doubled when it is not, and counts no attempt for that', async () => {
    const db = await openedDb(open)
    await queueEvents(db, 9)
    const seqs = (await outboxOf(db)).map(({ seq }) => seq)
    const bad = seqs[2]
    const refusal = { status: 400, error: 'answered 400' } as const
    const left = new Set(seqs)
    const { kind, run } = loopOver(db, () => left.size === 0, { scheduleMs: [60_000] }, systemClock, {
      maxItems: 8,
      groupOf: () => '',
      sendAll(items) {
        const isRefused = items.some(({ seq }) => seq === bad)
        if (isRefused && items.length > 1) return items.map(() => ({ type: 'split', ...refusal }))
        for (const { seq } of items) left.delete(seq)
        return items.map(() => (isRefused ? { type: 'failed', permanent: true, alive: true, retryAfterMs: null, ...refusal } : delivered))
      },
    })
    await run()
    const isSplit = (call: readonly number[]) => call.length > 1 && call.includes(bad ?? 0)
    expect(kind.calls[0]).toHaveLength(8)
    kind.calls.slice(0, -1).forEach((call, n) => {
      const next = kind.calls[n + 1]?.length ?? 0
      expect(next, `after ${call.length}`).toBeLessThanOrEqual(isSplit(call) ? call.length / 2 : call.length * 2)
    })
    const rows = await outboxOf(db)
    expect(rows.map(({ state }) => state)).toEqual(seqs.map((seq) => (seq === bad ? 'ready' : 'delivered')))
    expect(rows.map(({ attempts }) => attempts)).toEqual(seqs.map(() => 1))
  })

  it('asks for each change whose attempt has an unknown end, and sends only those that are missing', async () => {
    const db = await openedDb(open)
    await queueEvents(db, 3)
    const seqs = (await outboxOf(db)).map(({ seq }) => seq)
    await db.write('test', (tx) => tx.sql.updateTable('sync_outbox').set({ uncertain: 1 }).execute())
    const { kind, run } = loopOver(db, (batches) => batches === 1, { idempotent: false }, systemClock, {
      groupOf: () => '',
      lookUp: ({ seq }) => (seq === seqs[1] ? delivered : null),
    })
    await run()
    expect(kind.looked).toEqual(seqs)
    expect(kind.calls).toEqual([[seqs[0], seqs[2]]])
    expect((await outboxOf(db)).map(({ state }) => state)).toEqual(['delivered', 'delivered', 'delivered'])
  })

  it('is not sent, and asks no further, when the target takes no lookups', async () => {
    const db = await openedDb(open)
    await queueEvents(db, 3)
    const rows = await outboxOf(db)
    await runSql(db, sql`update sync_outbox set uncertain = 1 where outbox_id > ${rows[0]?.outbox_id ?? 0}`)
    let claims = 0
    const counting = interrupted(db, (name) => {
      if (name === 'outbox-claim' && ++claims === 2) throw new TransientError('that is enough')
    })
    const away: Outcome = { type: 'failed', permanent: false, alive: false, status: null, error: 'it is away', retryAfterMs: null }
    const { kind, run } = loopOver(counting, () => false, { idempotent: false, scheduleMs: [60_000] }, hasty, {
      groupOf: () => '',
      lookUp: () => away,
    })
    await run()
    expect(kind.looked).toEqual([rows[1]?.seq])
    expect(kind.calls).toEqual([])
    const left = await outboxOf(db)
    expect(left.map(({ attempts, uncertain }) => [attempts, uncertain])).toEqual([
      [0, 0],
      [1, 1],
      [0, 1],
    ])
    expect((await streamsIn(db)).filter(({ lease_token: token }) => token !== null)).toEqual([])
  })
})

const hasty: Clock = { ...systemClock, sleep: (_, signal) => systemClock.sleep(1, signal) }

interface LoopOptions extends Partial<Omit<Extract<Batching, { type: 'many' }>, 'type'>> {
  readonly send?: (item: PushItem) => Outcome
  readonly sendAll?: (items: readonly PushItem[]) => Outcome[]
  readonly lookUp?: (item: PushItem) => Outcome | null
}

/** A loop that runs until `isEnough`, which gets the number of batches at each claim. */
function loopOver(
  db: Db,
  isEnough: (batches: number) => boolean,
  over: Partial<WebhookDestination> = {},
  clock: Clock = systemClock,
  { maxItems = 1_000, gatherMs = 0, groupOf, send = () => delivered, sendAll, lookUp }: LoopOptions = {},
) {
  const batch = { type: 'many', maxItems, gatherMs, ...(groupOf && { groupOf }) } as const
  const kind = testKind({ batch, send, ...(lookUp && { lookUp }) })
  if (sendAll !== undefined)
    kind.send = async (items) => {
      kind.calls.push(items.map(({ seq }) => seq))
      return sendAll(items)
    }
  const ending = interrupted(db, (name) => {
    if (name === 'outbox-claim' && isEnough(kind.calls.length)) throw new TransientError('that is enough')
  })
  const sending = sendingOf(ending, webhookTo('http://unused.example', over), kind, clock)
  const loop = new BatchLoop(sending, batch)
  const run = async () => {
    loop.notify()
    await expect(loop.run()).rejects.toThrow('enough')
  }
  return { kind, sending, run }
}

async function rowsSentOf(
  db: Db,
  queued: { readonly streams: number; readonly rowsPerStream: number },
  maxItems: number,
  idempotent: boolean,
): Promise<number[]> {
  const all = queued.streams * queued.rowsPerStream
  const observations = Array.from({ length: all }, (_, n) => observedEvent(ACCOUNT, uuid(9, n % queued.streams), wireEvent(n + 1)))
  await applyAll(db, observations)
  await fanAll(db, [destinationOf('ams', { entities: ['market_events'] })])
  const { kind, run } = loopOver(db, (batches) => batches === 2, { idempotent }, systemClock, { maxItems })
  await run()
  expect(new Set(kind.calls.flat()).size).toBe(all)
  return kind.calls.map((seqs) => seqs.length)
}

/** What a loop does up to its third batch. @param changes of one stream: the first, and those added during each batch. */
async function batchesOf(db: Db, changes: { readonly first: number; readonly more: number }): Promise<string[]> {
  const to = [destinationOf('ams', { entities: ['market_events'] })]
  let made = 0
  const make = async (count: number) => {
    const observations = Array.from({ length: count }, () => observedEvent(ACCOUNT, uuid(9, 1), wireEvent(++made)))
    await applyAll(db, observations)
    await fanAll(db, to)
  }
  await make(changes.first)
  const happened: string[] = []
  let batches = 0
  const batch = { type: 'many', maxItems: 1_000, gatherMs: 60_000 } as const
  const clock: Clock = {
    ...systemClock,
    async sleep(ms) {
      if (batches < 3) happened.push(ms === batch.gatherMs ? 'gathers' : 'waits')
    },
  }
  const kind = {
    ...testKind({ batch }),
    send: async (items: readonly PushItem[]) => {
      happened.push(`sends ${items.length}`)
      batches += 1
      await make(changes.more)
      return items.map(() => delivered)
    },
  }
  const ending = interrupted(db, (name) => {
    if (name === 'outbox-claim' && batches === 3) throw new TransientError('that is enough')
  })
  await expect(new BatchLoop(sendingOf(ending, webhookTo('http://unused.example'), kind, clock), batch).run()).rejects.toThrow('enough')
  return happened
}
