import { describe, expect, it } from 'vitest'
import { lanes } from '../../src/model/entities/lanes.ts'
import { quotes } from '../../src/model/entities/quotes.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import { onSqlite } from '../tools/databases.ts'
import { changesOf, rowsOf } from '../tools/mirror.ts'
import { policy, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'

async function withLane(rig: Rig): Promise<{ id: string; laneId: string }> {
  const id = rig.sandbox.addSubmission(ACCOUNT)
  const laneId = rig.sandbox.addLane(ACCOUNT, id).rail.submission_market_id
  rig.sandbox.addEvent(ACCOUNT, id, { type: 'market_attached', lane_id: laneId })
  await rig.track([id])
  return { id, laneId }
}

describe.each(onSqlite)('reading the state on $name', (database) => {
  it('trap 80: the state is read by its own timer, without events', async () => {
    const rig = await Rig.open(database)
    const { id, laneId } = await withLane(rig)
    await rig.poll()
    const events = rig.asked('events', id).length
    const before = (await changesOf(rig.db)).length
    rig.sandbox.setFacts(ACCOUNT, id, { marketing_hint: 'Two markets wait for loss runs' })
    rig.sandbox.patchLane(ACCOUNT, id, laneId, {
      rail: {
        chip: 'quoted',
        quotes: [{ quote_id: laneId, premium_display: '$12,340', total_cents: 1_234_000, lines: ['gl'], is_revision: false }],
      },
    })
    await rig.passAndRest(policy.poll.activeMs)
    expect(await rowsOf(rig.db, submissions)).toMatchObject([{ marketing_hint: 'Two markets wait for loss runs' }])
    expect(await rowsOf(rig.db, lanes)).toMatchObject([{ chip: 'quoted' }])
    expect(await rowsOf(rig.db, quotes)).toMatchObject([{ quote_id: laneId, total_cents: 1_234_000 }])
    const causes = (await changesOf(rig.db)).slice(before).map(({ entity, operation, cause }) => `${operation} ${entity} ${cause}`)
    expect(causes.sort()).toEqual(['insert quotes poll', 'update lanes poll', 'update submissions poll'])
    expect(rig.asked('events', id).length).toBe(events + 1)
  })

  it('an unchanged state changes only read times', async () => {
    const rig = await Rig.open(database)
    const { id } = await withLane(rig)
    await rig.poll()
    const before = await changesOf(rig.db)
    const [first] = await rowsOf(rig.db, submissions)
    const asked = rig.asked('requirements', id).length
    await rig.passAndRest(policy.poll.maxMs)
    expect(rig.asked('requirements', id).length).toBe(asked + 1)
    expect(await changesOf(rig.db)).toHaveLength(before.length)
    const [second] = await rowsOf(rig.db, submissions)
    const times = ['state', 'rail', 'quote_history', 'assessment'].map((part) => `${part}_read_at`)
    times.push('rail_generated_at', 'assessment_generated_at')
    for (const time of times) expect([time, String(second?.[time]) > String(first?.[time])]).toEqual([time, true])
    expect({ ...second, ...Object.fromEntries(times.map((time) => [time, first?.[time]])) }).toEqual(first)
  })

  it('malformed items of the rail are stored and reported once', async () => {
    const rig = await Rig.open(database)
    const { id, laneId } = await withLane(rig)
    rig.sandbox.patchLane(ACCOUNT, id, laneId, { rail: { quotes: [{ premium_display: 'without an id' } as never] } })
    await rig.poll()
    const asked = rig.asked('requirements', id).length
    await rig.passAndRest(policy.poll.maxMs)
    expect(rig.asked('requirements', id).length).toBeGreaterThan(asked)
    const kept = await rig.db.read.sql.selectFrom('sync_unreadable').select(['submission_id', 'read', 'raw']).execute()
    expect(kept).toEqual([{ submission_id: id, read: 'requirements', raw: expect.stringContaining('without an id') }])
    expect(rig.counted('unreadable_items_total', { account: ACCOUNT, read: 'requirements' })).toBe(1)
    expect(rig.lines('malformed items of requirements in sync_unreadable')).toHaveLength(1)
    expect(await rowsOf(rig.db, lanes)).toHaveLength(1)
  })

  it('trap 11: an event triggers a state read; the rail decides the state', async () => {
    const rig = await Rig.open(database)
    const { id, laneId } = await withLane(rig)
    rig.startPoller()
    rig.startWorker()
    await rig.rest()
    expect(await rowsOf(rig.db, lanes)).toMatchObject([{ state_source: 'rail', status: 'submitted' }])
    rig.sandbox.patchLane(ACCOUNT, id, laneId, { rail: { status: 'in_review', status_label: 'In review' } })
    const event = rig.sandbox.addEvent(ACCOUNT, id, { type: 'declined', lane_id: laneId })
    const asked = rig.asked('requirements', id).length
    await rig.deliver([{ type: 'submission.events', submission_id: id, events: [event] }])
    await rig.rest()
    expect(rig.asked('requirements', id).length).toBe(asked + 1)
    expect(await rowsOf(rig.db, lanes)).toMatchObject([{ state_source: 'rail', status: 'in_review' }])
  })

  it('trap 14: no event is final: a submission with only declined or bound lanes is still read', async () => {
    const rig = await Rig.open(database)
    const { id, laneId } = await withLane(rig)
    for (const type of ['declined', 'bound']) rig.sandbox.addEvent(ACCOUNT, id, { type, lane_id: laneId })
    await rig.poll()
    const late = rig.sandbox.addEvent(ACCOUNT, id, { type: 'quote_received', lane_id: laneId })
    await rig.passAndRest(policy.poll.activeMs)
    expect((await changesOf(rig.db)).some((change) => change.entity === 'market_events' && change.after?.['event_id'] === late.id)).toBe(
      true,
    )
  })

  it('trap 63: matched without a visible market is a valid state', async () => {
    const rig = await Rig.open(database)
    const id = rig.sandbox.addSubmission(ACCOUNT, { facts: { marketing_status: 'matched' } })
    rig.sandbox.setRail(ACCOUNT, id, { available: true })
    await rig.track([id])
    await rig.poll()
    expect(await rowsOf(rig.db, submissions)).toMatchObject([{ marketing_status: 'matched' }])
    expect(await rowsOf(rig.db, lanes)).toEqual([])
    expect(await rig.read(id, 'requirements')).toMatchObject({ error: null, rank: 1 })
  })
})
