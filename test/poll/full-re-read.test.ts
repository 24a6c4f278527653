import { describe, expect, it } from 'vitest'
import { lanes } from '../../src/model/entities/lanes.ts'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { FULL_READ_COALESCE_MS } from '../../src/store/reads/reads.ts'
import { type TestDatabase, testDatabases } from '../tools/databases.ts'
import { changesOf, mirrorOf, rowsOf } from '../tools/mirror.ts'
import { DAY, policy, Rig } from '../tools/poller.ts'

const OF_FEEDS = ['lanes', 'market_events', 'thread_messages', 'thread_attachments', 'quotes', 'quote_history']
const ACCOUNT = 'default'

/** A submission with several pages, a cursor, and a current event. */
async function filled(rig: Rig): Promise<string> {
  const id = rig.sandbox.addSubmission(ACCOUNT)
  rig.sandbox.fillFeeds(ACCOUNT, id, { events: 120, messages: 0 })
  rig.sandbox.addEvent(ACCOUNT, id, { type: 'status_changed' })
  await rig.track([id])
  return id
}

/** Adds a hidden lane with an event, and a visible event behind it, so that the cursor passes it. */
function hiddenLane(rig: Rig, id: string): { laneId: string; hidden: string } {
  const laneId = rig.sandbox.addLane(ACCOUNT, id, { hidden: true }).rail.submission_market_id
  const hidden = rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached', lane_id: laneId })
  rig.sandbox.addEvents(
    ACCOUNT,
    id,
    Array.from({ length: 110 }, () => ({ type: 'status_changed' })),
  )
  return { laneId, hidden: hidden.id }
}

async function withHiddenLane(database: TestDatabase): Promise<{ rig: Rig; id: string; laneId: string; hidden: string }> {
  const rig = await Rig.open(database)
  const id = await filled(rig)
  return { rig, id, ...hiddenLane(rig, id) }
}

/** Reveals the lane behind the third page of a full re-read. @returns its newest event. */
async function revealDuringFullRead(rig: Rig, id: string, laneId: string): Promise<unknown> {
  rig.sandbox.faults.set([{ kind: 'slow', operation: 'events', ms: 400 }])
  await rig.pass(2 * DAY)
  await rig.until('the replay is at its third page', () => rig.asked('events', id).length >= 6)
  rig.sandbox.revealLane(ACCOUNT, id, laneId)
  rig.sandbox.setRail(ACCOUNT, id, { available: false })
  return rig.sandbox.addEvents(ACCOUNT, id, [{ type: 'quote_received', lane_id: laneId }])[0]
}

async function isLaneKnown(rig: Rig, laneId: string): Promise<boolean> {
  return (await rowsOf(rig.db, lanes)).some((row) => row['lane_id'] === laneId)
}

async function eventIds(rig: Rig): Promise<unknown[]> {
  return (await rowsOf(rig.db, marketEvents)).map((row) => row['event_id'])
}

function replays(rig: Rig, id: string): number {
  return rig.asked('events', id).filter((query) => !query.has('since')).length
}

describe.each(testDatabases)('full re-reads on $name', (database) => {
  it('trap 08: a timed full re-read finds records behind the cursor', async () => {
    const { rig, id, laneId, hidden } = await withHiddenLane(database)
    // No state read may show the lane.
    rig.sandbox.setRail(ACCOUNT, id, { available: false })
    await rig.poll()
    rig.sandbox.revealLane(ACCOUNT, id, laneId)
    await rig.passAndRest(policy.poll.maxMs)
    expect(await eventIds(rig)).not.toContain(hidden)
    expect(replays(rig, id)).toBe(1)
    const cursor = (await rig.read(id, 'events')).cursor
    await rig.passAndRest(DAY)
    expect(await eventIds(rig)).toContain(hidden)
    expect(replays(rig, id)).toBe(2)
    const byFullRead = rig.db.read.sql.selectFrom('arrivals').select('record_id').where('known_via', '=', 'full_read')
    expect(await byFullRead.execute()).toEqual([{ record_id: hidden }])
    // A full re-read keeps a valid cursor (invariant 6).
    expect((await rig.read(id, 'events')).cursor).toBe(cursor)
    expect(rig.counted('full_reads_total', { read: 'events' })).toBe(2)
  })

  it('trap 08: the first event of a new lane requests a full re-read', async () => {
    const { rig, id, laneId, hidden } = await withHiddenLane(database)
    rig.sandbox.setRail(ACCOUNT, id, { available: false })
    await rig.poll()
    rig.sandbox.revealLane(ACCOUNT, id, laneId)
    rig.sandbox.addEvent(ACCOUNT, id, { type: 'quote_received', lane_id: laneId })
    await rig.passAndRest(2 * FULL_READ_COALESCE_MS)
    expect(await eventIds(rig)).toContain(hidden)
    expect(replays(rig, id)).toBe(2)
  })

  it('trap 08: a new lane of the rail requests a full re-read', async () => {
    const { rig, id, laneId, hidden } = await withHiddenLane(database)
    await rig.poll()
    rig.sandbox.revealLane(ACCOUNT, id, laneId)
    await rig.passAndRest(policy.poll.maxMs)
    await rig.passAndRest(FULL_READ_COALESCE_MS)
    expect(await eventIds(rig)).toContain(hidden)
  })

  it('trap 09: a full re-read without news writes nothing, and keeps an event that it does not show', async () => {
    const rig = await Rig.open(database)
    const id = await filled(rig)
    const lane = rig.sandbox.addLane(ACCOUNT, id).rail.submission_market_id
    const event = rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached', lane_id: lane })
    await rig.poll()
    const before = { changes: (await changesOf(rig.db)).length, mirror: await mirrorOf(rig.db) }
    const [seen] = rig.sandbox.truth(ACCOUNT, id)
    rig.sandbox.world.removeSubmission(ACCOUNT, id)
    rig.sandbox.addSubmission(ACCOUNT, { submissionId: id })
    for (const kept of seen?.events ?? [])
      if (kept.id !== event.id) rig.sandbox.addEvent(ACCOUNT, id, { ...kept, ...kept.market, lane_id: null, market: kept.market })
    await rig.pass(2 * DAY)
    await rig.until('it was replayed', () => rig.counted('full_reads_total', { read: 'events' }) === 2)
    await rig.rest()
    const replayed = (await changesOf(rig.db)).slice(before.changes).filter((change) => OF_FEEDS.includes(change.entity))
    expect(replayed).toEqual([])
    expect((await mirrorOf(rig.db))['market_events']).toEqual(before.mirror['market_events'])
    expect(await eventIds(rig)).toContain(event.id)
  })

  it('full re-reads for new lanes are combined to one per minute', async () => {
    const rig = await Rig.open(database)
    const id = await filled(rig)
    rig.sandbox.setRail(ACCOUNT, id, { available: false })
    rig.startPoller()
    rig.startWorker()
    await rig.rest()
    await rig.passAndRest(2 * FULL_READ_COALESCE_MS)
    const [before, known] = [replays(rig, id), (await rowsOf(rig.db, lanes)).length]
    for (let n = 0; n < 5; n++) {
      const lane = rig.sandbox.addLane(ACCOUNT, id).rail.submission_market_id
      rig.sandbox.setRail(ACCOUNT, id, { available: false })
      const event = rig.sandbox.addEvent(ACCOUNT, id, { type: 'quote_received', lane_id: lane })
      await rig.deliver([{ type: 'submission.events', submission_id: id, events: [event] }])
      await rig.rest()
    }
    expect(await rowsOf(rig.db, lanes)).toHaveLength(known + 5)
    expect(replays(rig, id)).toBe(before + 1)
    await rig.passAndRest(FULL_READ_COALESCE_MS)
    expect(replays(rig, id)).toBe(before + 2)
    await rig.passAndRest(FULL_READ_COALESCE_MS)
    expect(replays(rig, id)).toBe(before + 2)
  })

  it('trap 08: a lane first seen on a later page requests another full re-read', async () => {
    const { rig, id, laneId, hidden } = await withHiddenLane(database)
    rig.sandbox.setRail(ACCOUNT, id, { available: false })
    await rig.poll()
    await revealDuringFullRead(rig, id, laneId)
    rig.sandbox.faults.set([])
    await rig.rest()
    expect(await isLaneKnown(rig, laneId)).toBe(true)
    await rig.passAndRest(FULL_READ_COALESCE_MS)
    expect(await eventIds(rig)).toContain(hidden)
  })

  it('trap 08: a request during a full re-read causes another one', async () => {
    const { rig, id, laneId, hidden } = await withHiddenLane(database)
    rig.sandbox.setRail(ACCOUNT, id, { available: false })
    rig.startPoller()
    rig.startWorker()
    await rig.rest()
    const event = await revealDuringFullRead(rig, id, laneId)
    await rig.deliver([{ type: 'submission.events', submission_id: id, events: [event] }])
    await rig.until('the lane is known', () => isLaneKnown(rig, laneId))
    rig.sandbox.faults.set([])
    await rig.rest()
    await rig.passAndRest(FULL_READ_COALESCE_MS)
    expect(await eventIds(rig)).toContain(hidden)
  })
})
