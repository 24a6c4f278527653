import { describe, expect, it } from 'vitest'
import { lanes } from '../../src/model/entities/lanes.ts'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { REPLAY_COALESCE_MS } from '../../src/store/reads/reads.ts'
import { type TestDatabase, testDatabases } from '../tools/databases.ts'
import { changesOf, mirrorOf, rowsOf } from '../tools/mirror.ts'
import { DAY, policy, Rig } from '../tools/poller.ts'

const OF_FEEDS = ['lanes', 'market_events', 'thread_messages', 'thread_attachments', 'quotes', 'quote_history']
const ACCOUNT = 'default'

/** A submission of two pages and more, with a cursor, whose last event is of now. */
async function filled(rig: Rig): Promise<string> {
  const id = rig.sandbox.addSubmission(ACCOUNT)
  rig.sandbox.fillFeeds(ACCOUNT, id, { events: 120, messages: 0 })
  rig.sandbox.addEvent(ACCOUNT, id, { type: 'status_changed' })
  await rig.track([id])
  return id
}

/** Adds a lane with an event that nobody sees yet, and one visible event behind it, so that the cursor can pass it. */
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

/** Has the lane become visible while a replay is at its third page, behind the lane's place. @returns the lane's newest event. */
async function revealDuringReplay(rig: Rig, id: string, laneId: string): Promise<unknown> {
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

/** How often the events were read from the beginning. */
function replays(rig: Rig, id: string): number {
  return rig.asked('events', id).filter((query) => !query.has('since')).length
}

describe.each(testDatabases)('replays on $name', (database) => {
  it('trap 08: what became visible behind the cursor is found by the timed replay', async () => {
    const { rig, id, laneId, hidden } = await withHiddenLane(database)
    // No state read may name the lane: its timetable is left aside.
    rig.sandbox.setRail(ACCOUNT, id, { available: false })
    rig.startPoller()
    await rig.rest()
    rig.sandbox.revealLane(ACCOUNT, id, laneId)
    await rig.pass(policy.poll.maxMs)
    await rig.rest()
    expect(await eventIds(rig)).not.toContain(hidden)
    expect(replays(rig, id)).toBe(1)
    const cursor = (await rig.read(id, 'events')).cursor
    await rig.pass(DAY)
    await rig.rest()
    expect(await eventIds(rig)).toContain(hidden)
    expect(replays(rig, id)).toBe(2)
    const byReplay = rig.db.read.sql.selectFrom('arrivals').select('record_id').where('known_via', '=', 'replay')
    expect(await byReplay.execute()).toEqual([{ record_id: hidden }])
    // A replay beside a valid cursor leaves the cursor alone (invariant 6).
    expect((await rig.read(id, 'events')).cursor).toBe(cursor)
    expect(rig.counted('replays_total', { read: 'events' })).toBe(2)
  })

  it('trap 08: the first event of a lane not seen before asks for a replay at once', async () => {
    const { rig, id, laneId, hidden } = await withHiddenLane(database)
    rig.sandbox.setRail(ACCOUNT, id, { available: false })
    rig.startPoller()
    await rig.rest()
    rig.sandbox.revealLane(ACCOUNT, id, laneId)
    rig.sandbox.addEvent(ACCOUNT, id, { type: 'quote_received', lane_id: laneId })
    await rig.pass(2 * REPLAY_COALESCE_MS)
    await rig.rest()
    expect(await eventIds(rig)).toContain(hidden)
    expect(replays(rig, id)).toBe(2)
  })

  it('trap 08: a lane that the rail names first asks for a replay too', async () => {
    const { rig, id, laneId, hidden } = await withHiddenLane(database)
    rig.startPoller()
    await rig.rest()
    rig.sandbox.revealLane(ACCOUNT, id, laneId)
    await rig.pass(policy.poll.maxMs)
    await rig.rest()
    await rig.pass(REPLAY_COALESCE_MS)
    await rig.rest()
    expect(await eventIds(rig)).toContain(hidden)
  })

  it('trap 09: a replay that finds nothing new writes no row, and an event that it does not show stays', async () => {
    const rig = await Rig.open(database)
    const id = await filled(rig)
    const lane = rig.sandbox.addLane(ACCOUNT, id).rail.submission_market_id
    const event = rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached', lane_id: lane })
    rig.startPoller()
    await rig.rest()
    const before = { changes: (await changesOf(rig.db)).length, mirror: await mirrorOf(rig.db) }
    // The same submission without that event, as if the service showed it no longer.
    const [seen] = rig.sandbox.truth(ACCOUNT, id)
    rig.sandbox.removeSubmission(ACCOUNT, id)
    rig.sandbox.addSubmission(ACCOUNT, { submissionId: id })
    for (const kept of seen?.events ?? [])
      if (kept.id !== event.id) rig.sandbox.addEvent(ACCOUNT, id, { ...kept, ...kept.market, lane_id: null, market: kept.market })
    await rig.pass(2 * DAY)
    await rig.until('it was replayed', () => rig.counted('replays_total', { read: 'events' }) === 2)
    await rig.rest()
    // The submission that was added anew has another application workspace.
    const replayed = (await changesOf(rig.db)).slice(before.changes).filter((change) => OF_FEEDS.includes(change.entity))
    expect(replayed).toEqual([])
    expect((await mirrorOf(rig.db))['market_events']).toEqual(before.mirror['market_events'])
    expect(await eventIds(rig)).toContain(event.id)
  })

  it('replays that new lanes ask for are coalesced to one a minute', async () => {
    const rig = await Rig.open(database)
    const id = await filled(rig)
    rig.sandbox.setRail(ACCOUNT, id, { available: false })
    rig.startPoller()
    rig.startWorker()
    await rig.rest()
    await rig.pass(2 * REPLAY_COALESCE_MS)
    await rig.rest()
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
    await rig.pass(REPLAY_COALESCE_MS)
    await rig.rest()
    expect(replays(rig, id)).toBe(before + 2)
    await rig.pass(REPLAY_COALESCE_MS)
    await rig.rest()
    expect(replays(rig, id)).toBe(before + 2)
  })

  it('trap 08: a lane that a replay first sees on a later page has it made once more', async () => {
    const { rig, id, laneId, hidden } = await withHiddenLane(database)
    rig.sandbox.setRail(ACCOUNT, id, { available: false })
    rig.startPoller()
    await rig.rest()
    await revealDuringReplay(rig, id, laneId)
    rig.sandbox.faults.set([])
    await rig.rest()
    expect(await isLaneKnown(rig, laneId)).toBe(true)
    await rig.pass(REPLAY_COALESCE_MS)
    await rig.rest()
    expect(await eventIds(rig)).toContain(hidden)
  })

  it('trap 08: a replay that is asked for while one is under way is made after it', async () => {
    const { rig, id, laneId, hidden } = await withHiddenLane(database)
    rig.sandbox.setRail(ACCOUNT, id, { available: false })
    rig.startPoller()
    rig.startWorker()
    await rig.rest()
    const event = await revealDuringReplay(rig, id, laneId)
    await rig.deliver([{ type: 'submission.events', submission_id: id, events: [event] }])
    await rig.until('the lane is known', () => isLaneKnown(rig, laneId))
    rig.sandbox.faults.set([])
    await rig.rest()
    await rig.pass(REPLAY_COALESCE_MS)
    await rig.rest()
    expect(await eventIds(rig)).toContain(hidden)
  })
})
