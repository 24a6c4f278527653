import { describe, expect, it } from 'vitest'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { threadMessages } from '../../src/model/entities/thread-messages.ts'
import { testDatabases } from '../tools/databases.ts'
import { changesOf, rowsOf } from '../tools/mirror.ts'
import { policy, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'

async function filled(rig: Rig, events: number, messages = 0): Promise<string> {
  const id = rig.sandbox.addSubmission(ACCOUNT)
  rig.sandbox.fillFeeds(ACCOUNT, id, { events, messages })
  return id
}

async function ids(rig: Rig): Promise<{ events: unknown[]; messages: unknown[] }> {
  const events = (await rowsOf(rig.db, marketEvents)).map((row) => row['event_id']).sort()
  const messages = (await rowsOf(rig.db, threadMessages)).map((row) => row['message_id']).sort()
  return { events, messages }
}

function truth(rig: Rig, id: string): { events: unknown[]; messages: unknown[] } {
  const [seen] = rig.sandbox.truth(ACCOUNT, id)
  return { events: seen?.events.map((event) => event.id).sort() ?? [], messages: seen?.messages.map((message) => message.id).sort() ?? [] }
}

describe.each(testDatabases)('reading a feed on $name', (database) => {
  it('trap 01: short and empty pages do not end a feed, only a null cursor does', async () => {
    const rig = await Rig.open(database, {
      sandbox: {
        faults: [
          { kind: 'empty_page', probability: 0.3 },
          { kind: 'short_page', probability: 0.8 },
        ],
      },
    })
    const id = await filled(rig, 350, 430)
    await rig.track([id])
    await rig.poll()
    expect(await ids(rig)).toEqual(truth(rig, id))
    expect(rig.asked('events', id).length).toBeGreaterThan(4)
  })

  it('trap 02: a repeated cursor backs off from 1 s, doubling to 30 s, and raises an alarm', async () => {
    const rig = await Rig.open(database)
    const id = await filled(rig, 150)
    rig.sandbox.faults.add({ kind: 'stuck_cursor', operation: 'events' })
    await rig.track([id])
    for (const [index, waitMs] of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000].entries()) {
      const before = Date.now()
      const poller = rig.startPoller()
      await rig.until('the feed was asked', () => rig.counted('stalled_cursors_total', { read: 'events' }) > index)
      await poller.stop()
      const { due_at, error, ...row } = await rig.read(id, 'events')
      expect(row).toMatchObject({ stalled_feed_reads: index + 1, rank: 2, lease_token: null })
      expect(error).toContain('same cursor')
      expect(Date.parse(due_at ?? '')).toBeGreaterThanOrEqual(before + waitMs)
      expect(Date.parse(due_at ?? '')).toBeLessThanOrEqual(Date.now() + waitMs)
      // The first feed read gets the cursor again.
      expect(rig.asked('events', id)).toHaveLength(index + 2)
      await rig.pass(waitMs)
    }
    expect(rig.logged('returned the same cursor again and nothing after it; the events feed is read again with backoff')).toBe(true)
    rig.sandbox.faults.set([])
    await rig.poll()
    expect(await ids(rig)).toEqual(truth(rig, id))
    expect(await rig.read(id, 'events')).toMatchObject({ stalled_feed_reads: 0, rank: 1, error: null })
  })

  it('trap 03: each poll reads the last page again and writes nothing; a feed of one page has no cursor', async () => {
    const rig = await Rig.open(database)
    const [long, short] = [await filled(rig, 120, 250), await filled(rig, 3, 3)]
    await rig.track([long, short])
    await rig.poll()
    const before = (await changesOf(rig.db)).length
    const cursor = (await rig.read(long, 'events')).cursor
    expect(cursor).not.toBeNull()
    expect((await rig.read(short, 'events')).cursor).toBeNull()
    const asked = (id: string) => rig.asked('events', id).map((query) => query.get('since'))
    expect(asked(long).slice(0, 2)).toEqual([null, cursor])
    const first = [long, short].map((id) => asked(id).length)
    for (let poll = 0; poll < 3; poll++) {
      await rig.passAndRest(policy.poll.maxMs)
    }
    expect(await changesOf(rig.db)).toHaveLength(before)
    expect((await rig.read(long, 'events')).cursor).toBe(cursor)
    expect((await rig.read(short, 'events')).cursor).toBeNull()
    expect(asked(long).slice(first[0])).toEqual([cursor, cursor, cursor])
    expect(asked(short).slice(first[1])).toEqual([null, null, null])
    expect(await ids(rig)).toMatchObject({ events: { length: 123 }, messages: { length: 253 } })
  })

  it('trap 05: a cursor is stored and sent unchanged, with its + / =', async () => {
    const rig = await Rig.open(database)
    const id = await filled(rig, 250)
    await rig.track([id])
    await rig.poll()
    const { cursor } = await rig.read(id, 'events')
    expect(cursor).toMatch(/^\+\/\+\/.*=$/)
    expect(rig.asked('events', id).at(-1)?.get('since')).toBe(cursor)
    expect(rig.counted('invalid_cursors_total')).toBe(0)
  })

  it('trap 07: missing items are not treated as gaps', async () => {
    const rig = await Rig.open(database)
    const id = await filled(rig, 10)
    const lane = rig.sandbox.addLane(ACCOUNT, id, { hidden: true })
    rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached', lane_id: lane.rail.submission_market_id })
    rig.sandbox.addEvent(ACCOUNT, id, { type: 'status_changed' })
    await rig.track([id])
    await rig.poll()
    expect((await ids(rig)).events).toHaveLength(11)
    expect(await rig.read(id, 'events')).toMatchObject({ error: null, rank: 1, failures: 0 })
  })

  it('trap 18: each feed has its own cursor, never sent to the other', async () => {
    const rig = await Rig.open(database)
    const id = await filled(rig, 120, 450)
    await rig.track([id])
    await rig.poll()
    await rig.passAndRest(policy.poll.maxMs)
    const [events, thread] = [(await rig.read(id, 'events')).cursor, (await rig.read(id, 'thread')).cursor]
    expect(events).not.toBe(thread)
    const sent = (operation: string) => new Set(rig.asked(operation, id).flatMap((query) => query.getAll('since')))
    expect([...sent('events')].filter((cursor) => sent('thread').has(cursor))).toEqual([])
    expect(sent('events')).toContain(events)
    expect(sent('thread')).toContain(thread)
    expect(rig.counted('invalid_cursors_total')).toBe(0)
  })
})
