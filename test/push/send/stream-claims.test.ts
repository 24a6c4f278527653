import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { TransientError } from '../../../src/base/errors.ts'
import type { DeliveryKind, Outcome } from '../../../src/push/contract/delivery.ts'
import { type Claim, longestStreamLeaseMs } from '../../../src/push/send/stream-claims.ts'
import { setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { type ClaimedStream, claimStreams, settleStreams } from '../../../src/store/outbox/work.ts'
import { onSqlite } from '../../tools/databases.ts'
import { interrupted, meddled } from '../../tools/meddled.ts'
import { uuid } from '../../tools/observations.ts'
import { delivered, testKind } from '../kind.ts'
import { mapByHand, openedDb, outboxOf, queueEvents, stateOf, streamsIn } from '../outbox.ts'
import { webhookTo } from '../rig.ts'
import { sendingOf } from './parts.ts'

const destination = webhookTo('http://unused.example', { mapping: 'required' })
const plain = webhookTo('http://unused.example')
const LONGEST_LEASE_MS = longestStreamLeaseMs(plain)

function unmapped(stream: ClaimedStream) {
  return { stream, rows: [], next: { type: 'blocked', as: 'unmapped' } } as const
}

describe.each(onSqlite)('claiming on $name', ({ open }) => {
  it('releases streams whose mapping a person wrote to the table, looking for such rows every ten seconds', async () => {
    const clock = new ManualClock(Date.now())
    const db = await openedDb(open, clock)
    await queueEvents(db, 2)
    const sending = sendingOf(db, destination, testKind(), clock)
    const claimed = async () => (await sending.claim(10, 10)).streams
    const waiting = (await claimed()).map(unmapped)
    expect(waiting).toHaveLength(2)
    await settleStreams(db, waiting)
    await mapByHand(db, uuid(9, 2), 'C-2')
    expect(await claimed()).toEqual([])
    clock.advance(9_999)
    expect(await claimed()).toEqual([])
    clock.advance(1)
    expect((await claimed()).map((stream) => [stream.stream, stream.rows[0]?.mapping?.client])).toEqual([[uuid(9, 2), 'C-2']])
  })

  it('reads the submissions of the rows only for a kind that needs them', async () => {
    const db = await openedDb(open)
    await queueEvents(db, 1)
    const claimedBy = async (kind: DeliveryKind) => {
      const sending = sendingOf(db, plain, kind)
      const { streams } = await sending.claim(1, 1)
      await sending.release(streams)
      return streams[0]?.rows[0]?.submission
    }
    expect(await claimedBy(testKind())).toMatchObject({ submission_id: uuid(9, 1) })
    expect(await claimedBy({ ...testKind(), withoutSubmission: true })).toBeNull()
  })

  it('releases streams without an attempt together, for any number of outcomes', async () => {
    const db = await openedDb(open)
    await queueEvents(db, 20)
    let releases = 0
    const counted = interrupted(db, (name) => {
      if (name === 'outbox-release') releases += 1
    })
    const sending = sendingOf(counted, plain, testKind())
    const { streams, lease } = await sending.claim(20, 10)
    await Promise.all(streams.map((stream) => sending.settle([{ stream, rows: [], next: { type: 'due', inMs: 0 } }], lease)))
    expect([streams.length, releases]).toEqual([20, 1])
    expect((await streamsIn(db)).every((stream) => stream.lease_token === null)).toBe(true)
  })

  it('ignores a mapping without a client: the submission waits', async () => {
    const clock = new ManualClock(Date.now())
    const db = await openedDb(open, clock)
    await queueEvents(db, 2)
    await mapByHand(db, uuid(9, 1), '')
    await mapByHand(db, uuid(9, 2), '  ')
    const sending = sendingOf(db, destination, testKind(), clock)
    const { streams } = await sending.claim(10, 10)
    expect(streams.map((stream) => stream.rows[0]?.mapping)).toEqual([null, null])
    await settleStreams(db, streams.map(unmapped))
    expect(await streamsIn(db)).toMatchObject([{ blocked: 'unmapped' }, { blocked: 'unmapped' }])
    clock.advance(10_000)
    expect((await sending.claim(10, 10)).streams).toEqual([])
  })

  it('releases streams that waited for a client once the settings need none', async () => {
    const db = await openedDb(open)
    await queueEvents(db, 2)
    const asking = sendingOf(db, destination)
    await settleStreams(db, (await asking.claim(10, 10)).streams.map(unmapped))
    await mapByHand(db, uuid(9, 2), 'C-2')
    const { streams } = await sendingOf(db, plain).claim(10, 10)
    expect(streams.map(({ stream }) => stream).sort()).toEqual([uuid(9, 1), uuid(9, 2)])
  })

  it('waits for a turn only while its lease leaves time for an attempt; the next claim gets the turn', async () => {
    const clock = new ManualClock(Date.now())
    const db = await openedDb(open, clock)
    await queueEvents(db, 2)
    const slow = webhookTo('http://unused.example', { rps: 0.01, timeoutMs: 1_000 })
    const sending = sendingOf(db, slow, testKind(), clock)
    const claimOne = async () => {
      const { streams, lease } = await sending.claim(1, 1)
      const [stream] = streams
      if (stream === undefined) throw new Error('nothing is due')
      return () => sending.context.rowSender.sendStream(stream, sending.limits(lease), false).then((result) => ({ result, lease }))
    }
    const first = await (await claimOne())()
    expect(first.result.rows.map(({ state }) => state)).toEqual(['delivered'])
    await sending.settle([first.result], first.lease)
    const waiting = (await claimOne())()
    clock.advance(40_000)
    const early = await waiting
    expect(early.result.rows).toEqual([])
    await sending.settle([early.result], early.lease)
    clock.advance(60_001)
    const late = await (await claimOne())()
    expect(late.result.rows.map(({ state }) => state)).toEqual(['delivered'])
  })

  it('repeats a delivered change whose results cannot be stored once for each lease, under the same id', async () => {
    const clock = new ManualClock(Date.now())
    const db = await openedDb(open, clock)
    await queueEvents(db, 1)
    let failures = 3
    const refusing = interrupted(db, (name) => {
      if (name === 'outbox-settle' && failures-- > 0) throw new Error('the store refuses it')
    })
    const ids: string[] = []
    const kind = testKind({
      send: ({ messageId }) => {
        ids.push(messageId)
        return delivered
      },
    })
    const sending = sendingOf(refusing, plain, kind, clock)
    const round = async () => {
      const { streams, lease } = await sending.claim(1, 1)
      for (const stream of streams)
        await sending.settle([await sending.context.rowSender.sendStream(stream, sending.limits(lease), false)], lease)
    }
    for (let lease = 1; lease <= 4; lease++) {
      for (let look = 0; look < 5; look++) await round()
      expect(ids).toHaveLength(lease)
      clock.advance(LONGEST_LEASE_MS)
    }
    await round()
    const [row] = await outboxOf(db)
    expect(row).toMatchObject({ state: 'delivered', attempts: 1 })
    expect(ids).toEqual(Array(4).fill(row?.message_id))
  })

  it('sends no batch when an operator pauses the destination while it waits for its turn', async () => {
    const clock = new ManualClock(Date.now())
    const db = await openedDb(open, clock)
    await queueEvents(db, 2)
    const slow = webhookTo('http://unused.example', { rps: 0.1 })
    const sending = sendingOf(db, slow, testKind(), clock)
    const claimOne = () => sending.claim(1, 1)
    const send = ({ streams, lease }: Claim) => sending.context.rowSender.sendTogether(streams, sending.limits(lease))
    expect(await send(await claimOne())).toMatchObject({ results: [{ rows: [{ state: 'delivered' }] }], isSplit: false })
    const waiting = send(await claimOne())
    await setDestinationState(db, 'ams', 'paused', 'the AMS moves')
    clock.advance(10_000)
    expect(await waiting).toBeNull()
  })

  const suspends: Outcome = { type: 'suspend', retry: 'soon', status: 401, error: 'it refuses the credential' }
  const pauses: Outcome = { type: 'failed', permanent: false, alive: true, status: 429, error: 'busy', retryAfterMs: 3_600_000 }

  it.each([['a stop', suspends] as const, ['a pause', pauses] as const])(
    'respects %s from one item of a batch, regardless of the other outcomes',
    async (_, outcome) => {
      const db = await openedDb(open)
      await queueEvents(db, 3)
      const [first] = await outboxOf(db)
      const sending = sendingOf(db, plain, testKind({ send: ({ seq }) => (seq === first?.seq ? outcome : delivered) }))
      const { streams, lease } = await sending.claim(10, 1)
      const sent = await sending.context.rowSender.sendTogether(streams, sending.limits(lease))
      expect(sent?.results.flatMap(({ rows }) => rows.map(({ state }) => state))).toEqual(['ready', 'delivered', 'delivered'])
      expect(sending.context.gate.admit()).toBeNull()
      await sending.context.gate.flush()
      expect(await stateOf(db, 'ams')).toMatchObject(outcome === suspends ? { state: 'suspended' } : { retry_at: expect.any(String) })
    },
  )

  it.each([['a stop', suspends] as const, ['a pause', pauses] as const])(
    'respects %s that another attempt brings while streams are claimed, until the database hands out rows again',
    async (_, outcome) => {
      const db = await openedDb(open)
      await queueEvents(db, 1)
      let brings: (() => void) | null = null
      const sending = sendingOf(
        meddled(db, async (name, go) => {
          const done = await go()
          if (name === 'outbox-claim') brings?.()
          return done
        }),
        plain,
      )
      const { gate } = sending.context
      const permit = gate.admit()
      if (permit === null) throw new Error('nothing is allowed')
      brings = () => gate.settle(permit, outcome)
      const { streams } = await sending.claim(10, 10)
      brings = null
      expect(streams).toHaveLength(1)
      expect(gate.admit()).toBeNull()
      await sending.release(streams)
      expect((await sending.claim(10, 10)).streams).toEqual([])
      expect(await stateOf(db, 'ams')).toMatchObject(outcome === suspends ? { state: 'suspended' } : { retry_at: expect.any(String) })
      await setDestinationState(db, 'ams', 'active', null)
      expect((await sending.claim(10, 10)).streams).toHaveLength(1)
      expect(gate.admit()).not.toBeNull()
    },
  )

  it('releases the streams that wait for a client when the others cannot be claimed', async () => {
    const db = await openedDb(open)
    await queueEvents(db, 1)
    const waiting = await claimStreams(db, 'ams', { streams: 1, rowsPerStream: 1, leaseMs: 60_000, uncertain: false })
    await settleStreams(db, waiting.map(unmapped))
    let claims = 0
    const sending = sendingOf(
      interrupted(db, (name) => {
        if (name === 'outbox-claim' && ++claims === 2) throw new TransientError('the store is away')
      }),
      { ...destination, mapping: 'lookup', idempotent: false },
    )
    await expect(sending.claim(10, 1)).rejects.toThrow('the store is away')
    expect(claims).toBe(2)
    expect(await streamsIn(db)).toMatchObject([{ lease_token: null, blocked: 'unmapped' }])
    expect(await outboxOf(db)).toMatchObject([{ state: 'ready', uncertain: 0 }])
  })
})
