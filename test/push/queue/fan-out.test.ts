import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { Observation } from '../../../src/model/observations.ts'
import { ensureDestinations, setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { claimStreams } from '../../../src/store/outbox/work.ts'
import { testDatabases } from '../../tools/databases.ts'
import { interrupted, meddled } from '../../tools/meddled.ts'
import { applyAll, applyEach, changesOf } from '../../tools/mirror.ts'
import {
  byFirstFeedRead,
  byPoll,
  eventFacts,
  observedEvent,
  observedMessage,
  observedState,
  START_MS,
  uuid,
  wireEvent,
  wireLane,
  wireMessage,
  wireRequirements,
} from '../../tools/observations.ts'
import { ACCOUNT, counters, destinationOf, fanAll, fanOutOf, openedDb, openedDbs, outboxOf, stateOf, streamsIn } from '../outbox.ts'

const [ONE, TWO] = [uuid(9, 1), uuid(9, 2)]

function events(submission: string, from: number, count: number): Observation[] {
  return eventFacts(ACCOUNT, submission, count, from)
}

describe.each(testDatabases)('fan-out on $name', ({ name, open }) => {
  it('inserts every change once for each destination, in the order of the log, and opens the lanes', async () => {
    const db = await openedDb(open)
    const all = destinationOf('all')
    const some = destinationOf('some', { entities: ['market_events'] })
    await applyAll(db, [...events(ONE, 0, 3), observedMessage(ACCOUNT, TWO, wireMessage(1))])
    await fanAll(db, [all, some])
    await applyAll(db, [...events(TWO, 10, 2), observedState(ACCOUNT, ONE, wireRequirements(ONE, [wireLane(1)]), 1)])
    await fanAll(db, [all, some])
    const changes = await changesOf(db)
    const sent = await outboxOf(db, 'all')
    expect(sent).toMatchObject(
      changes.map(({ seq, account, entity, entity_id, operation, cause, submission_id }) => {
        const change = { seq, account, entity, entity_id, operation, cause, submission_id }
        return { ...change, stream: submission_id, state: 'ready', snapshot: null }
      }),
    )
    const ofEvents = changes.filter(({ entity }) => entity === 'market_events')
    expect((await outboxOf(db, 'some')).map((row) => row.seq)).toEqual(ofEvents.map(({ seq }) => seq))
    const streams = [ONE, TWO].map((stream) => ({ stream, lease_token: null, blocked: null, held_by: null }))
    expect(await streamsIn(db)).toEqual(['all', 'some'].flatMap((destination) => streams.map((stream) => ({ destination, ...stream }))))
    for (const destination of ['all', 'some']) {
      const { kept, counted } = await counters(db, destination)
      expect(kept).toEqual(counted)
      expect((await stateOf(db, destination)).cursor).toBe(changes.length)
    }
  })

  it('continues in every state of a destination; a cursor that is far behind delays no other', async () => {
    const db = await openedDb(open)
    const [near, far] = [destinationOf('near', { start: 'now' }), destinationOf('far')]
    for (let n = 0; n < 3; n++) await applyAll(db, events(ONE, n * 400, 400))
    await ensureDestinations(db, [near, far])
    for (const destination of ['near', 'far']) await setDestinationState(db, destination, 'paused', 'by an operator')
    await applyAll(db, events(TWO, 5_000, 1))
    const fanOut = fanOutOf(db, [near, far])
    expect(await fanOut.step()).toBe(true)
    expect((await outboxOf(db, 'near')).length).toBeGreaterThan(0)
    expect((await stateOf(db, 'far')).cursor).toBeLessThan(1_000)
    while (await fanOut.step()) {}
    expect(await outboxOf(db, 'far')).toHaveLength((await changesOf(db)).length)
    expect(await claimStreams(db, 'far', { streams: 10, rowsPerStream: 1, leaseMs: 1_000, uncertain: false })).toEqual([])
  })

  it('begins where the settings say, once', async () => {
    const db = await openedDb(open)
    await applyAll(db, events(ONE, 0, 5))
    const last = (await changesOf(db)).length
    const starts = [
      { name: 'now', start: 'now' },
      { name: 'third', start: 3 },
      { name: 'too-late', start: last + 100 },
    ] as const
    await ensureDestinations(db, starts)
    const cursors = async () => Promise.all(starts.map(async (start) => (await stateOf(db, start.name)).cursor))
    expect(await cursors()).toEqual([last, 3, last])
    await applyAll(db, events(ONE, 10, 1))
    await ensureDestinations(db, [
      { name: 'now', start: 0 },
      { name: 'third', start: 'now' },
      { name: 'too-late', start: 'snapshot' },
    ])
    expect(await cursors()).toEqual([last, 3, last])
    expect(await stateOf(db, 'now')).toMatchObject({ state: 'active', snapshot: null, queued: 0, log_epoch: expect.stringMatching(/-/) })
  })

  it('leaves out history and old records, unless a destination asks for them', async () => {
    const clock = new ManualClock(START_MS)
    const db = await openedDb(open, clock)
    const old = { occurred_at: new Date(START_MS - 40 * 86_400_000).toISOString() }
    await applyAll(db, [
      observedEvent(ACCOUNT, ONE, wireEvent(1, old), byFirstFeedRead),
      observedEvent(ACCOUNT, ONE, wireEvent(2, { ...old, detail: null }), byPoll),
      observedMessage(ACCOUNT, ONE, wireMessage(3, old), byPoll),
      observedEvent(ACCOUNT, ONE, wireEvent(4), byPoll),
    ])
    // A later fill of an old record is old as well, though the change has no time.
    await applyAll(db, [observedEvent(ACCOUNT, ONE, wireEvent(2, { ...old, detail: 'late' }), byPoll)])
    const records = ['market_events', 'thread_messages', 'thread_attachments']
    const destinations = [
      destinationOf('all', { entities: records }),
      destinationOf('no-history', { entities: records, backfill: false }),
      destinationOf('young', { entities: records, maxAgeMs: 30 * 86_400_000 }),
    ]
    await fanAll(db, destinations)
    const numberOf = (entityId: string) => Number((JSON.parse(entityId) as string[])[1]?.slice(-3))
    const names = async (destination: string) =>
      (await outboxOf(db, destination)).map(({ entity, operation, entity_id: id }) => `${entity} ${operation} ${numberOf(id)}`)
    const all = await names('all')
    expect(all).toHaveLength(6)
    expect(await names('no-history')).toEqual(all.filter((row) => row !== 'market_events insert 1'))
    expect(await names('young')).toEqual(['market_events insert 4'])
  })

  it('looks up the type of an event that a change does not name', async () => {
    const db = await openedDb(open)
    for (const detail of [null, 'now known'])
      await applyEach(db, ['quote_received', 'declined'], (type, n) => observedEvent(ACCOUNT, ONE, wireEvent(n + 1, { type, detail })))
    await fanAll(db, [destinationOf('quotes', { entities: ['market_events'], eventTypes: ['quote_received'] })])
    const rows = await outboxOf(db, 'quotes')
    expect(rows.map((row) => [row.operation, row.entity_id])).toEqual([
      ['insert', JSON.stringify([ONE, uuid(1, 1)])],
      ['update', JSON.stringify([ONE, uuid(1, 1)])],
    ])
    expect(new Set(rows.map((row) => row.message_id)).size).toBe(2)
  })

  it('gives each change of a record its own id, even when it repeats an earlier one', async () => {
    const db = await openedDb(open)
    for (const detail of ['A', 'B', 'A', 'B', 'A']) {
      const origin = { via: 'reconcile', cause: 'reconcile', isFullRead: true, firstFeedRead: false } as const
      await applyAll(db, [observedEvent(ACCOUNT, ONE, wireEvent(1, { detail }), origin)])
    }
    await fanAll(db, [destinationOf('agency', { entities: ['market_events'] })])
    const rows = await outboxOf(db, 'agency')
    expect(rows.map((row) => row.operation)).toEqual(['insert', 'update', 'update', 'update', 'update'])
    expect(new Set(rows.map((row) => row.message_id)).size).toBe(rows.length)
  })

  it('misses and repeats no change, with several processes', async () => {
    const dbs = await openedDbs(open, 4)
    const [db] = dbs
    if (!db) throw new Error('no database')
    const destinations = [destinationOf('a'), destinationOf('b', { entities: ['market_events'] })]
    await fanAll(db, destinations)
    const stop = new AbortController()
    const services = dbs.slice(0, name === 'postgres' ? 3 : 1).map((one) => fanOutOf(one, destinations).run(stop.signal))
    await Promise.all(
      dbs.map(async (one, writer) => {
        for (let n = 0; n < 40; n++) {
          const [here, there] = n % 2 ? [ONE, TWO] : [TWO, ONE]
          const at = writer * 10_000 + n * 10
          await applyAll(one, [...events(here, at, 2), ...events(there, at + 5, 1)])
        }
      }),
    )
    const last = (await changesOf(db)).at(-1)?.seq ?? 0
    await expect.poll(async () => (await stateOf(db, 'a')).cursor + (await stateOf(db, 'b')).cursor).toBe(2 * last)
    stop.abort()
    await Promise.all(services)
    const changes = await changesOf(db)
    expect((await outboxOf(db, 'a')).map((row) => row.seq)).toEqual(changes.map((change) => change.seq))
    expect(await outboxOf(db, 'b')).toHaveLength(dbs.length * 120)
    expect((await counters(db, 'b')).kept).toEqual([dbs.length * 120, 0, 0])
  })

  it('queues nothing twice if another process moves the cursor at the same time', async () => {
    const db = await openedDb(open)
    const [a, b] = [destinationOf('a'), destinationOf('b')]
    await ensureDestinations(db, [a, b])
    await applyAll(db, events(ONE, 0, 5))
    let isOvertaken = false
    const overtaken = meddled(db, async (name, go) => {
      if (name === 'push-fan-out' && !isOvertaken) {
        isOvertaken = true
        await fanOutOf(db, [a]).step()
      }
      return go()
    })
    expect(await fanOutOf(overtaken, [a, b]).step(), 'there may be more for the one that was left out').toBe(true)
    const seqs = (await changesOf(db)).map((change) => change.seq)
    for (const { name: destination } of [a, b]) {
      expect((await outboxOf(db, destination)).map((row) => row.seq)).toEqual(seqs)
      expect((await counters(db, destination)).kept).toEqual([seqs.length, 0, 0])
    }
  })

  it('continues for a destination whose row was deleted just before its step', async () => {
    const db = await openedDb(open)
    const all = destinationOf('all')
    await fanAll(db, [all])
    await applyAll(db, events(ONE, 0, 2))
    const remove = () => db.write('test', (tx) => tx.sql.deleteFrom('sync_destinations').execute())
    const deleted = interrupted(db, (name) => (name === 'push-fan-out' ? remove() : undefined))
    expect(await fanOutOf(deleted, [all]).step()).toBe(true)
    await fanAll(db, [all])
    expect((await outboxOf(db, 'all')).map((row) => row.seq)).toEqual((await changesOf(db)).map((change) => change.seq))
  })
})
