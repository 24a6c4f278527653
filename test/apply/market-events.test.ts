import { describe, expect, it } from 'vitest'
import { inApplyTransaction } from '../../src/apply/apply.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { lanes } from '../../src/model/entities/lanes.ts'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { submissions } from '../../src/model/entities/submissions.ts'
import { parseExact } from '../../src/model/exact-json.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { rank } from '../../src/store/reads/reads.ts'
import { testDatabases } from '../tools/databases.ts'
import { applyAll, changesOf, rowsOf } from '../tools/mirror.ts'
import {
  at,
  byFullRead,
  byPoll,
  byWebhook,
  observedEvent,
  observedState,
  trackFact,
  uuid,
  wireEvent,
  wireLane,
  wireRequirements,
} from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)

function event(n: number, over = {}, market = {}, origin = byWebhook) {
  return observedEvent(ACCOUNT, ID, wireEvent(n, over, market), origin)
}

describe.each(testDatabases)('market events on $name', ({ open }) => {
  async function database(): Promise<Db> {
    const { db } = await closedAtEnd(open())
    return db
  }

  it('trap 10: a quote without an attached market creates its lane from its own fields', async () => {
    const db = await database()
    await applyAll(db, [
      event(1, { type: 'quote_received', status: 'quoted', status_label: 'Quoted' }, { name: 'Alder Point', category: 'specialty' }),
    ])
    expect(await rowsOf(db, lanes)).toMatchObject([
      {
        lane_id: uuid(3, 1),
        market_name: 'Alder Point',
        program_category: 'specialty',
        status: 'quoted',
        status_label: 'Quoted',
        state_source: 'event',
      },
    ])
    expect(await rowsOf(db, submissions)).toMatchObject([
      { submission_id: ID, tracked_via: 'webhook', last_event_at: at(1).replace('Z', '000Z') },
    ])
  })

  it('ids from a webhook are read before ids that an operator tracks', async () => {
    const db = await database()
    await applyAll(db, [event(1), trackFact(ACCOUNT, uuid(9, 2))])
    const reads = await db.read.sql.selectFrom('sync_reads').select(['submission_id', 'rank']).where('read', '=', 'thread').execute()
    expect(new Map(reads.map((row) => [row.submission_id, row.rank]))).toEqual(
      new Map([
        [ID, rank.live],
        [uuid(9, 2), rank.routine],
      ]),
    )
  })

  it('trap 12: an event is inserted once by its id, from any source and at any time', async () => {
    const db = await database()
    await applyAll(db, [event(1), event(1)])
    const before = await changesOf(db)
    for (const origin of [byWebhook, byPoll, byFullRead]) await applyAll(db, [event(1, {}, {}, origin)])
    expect(await rowsOf(db, marketEvents)).toMatchObject([{ event_id: uuid(1, 1), first_seen_via: 'webhook' }])
    expect(await changesOf(db)).toEqual(before)
  })

  it('a change has its own cause, and a new record the cause that inserted it', async () => {
    const db = await database()
    await applyAll(db, [event(1, {}, {}, byPoll), event(1, { status: null, detail: 'Filled' })])
    await applyAll(db, [event(2, { status: null }, {}, byPoll)])
    await applyAll(db, [event(2)])
    const changes = (await changesOf(db)).filter((change) => change.entity === 'market_events')
    expect(changes.map(({ operation, cause, after }) => [operation, cause, after?.['event_id'] ?? Object.keys(after ?? {})])).toEqual([
      ['insert', 'poll', uuid(1, 1)],
      ['insert', 'poll', uuid(1, 2)],
      ['update', 'webhook', ['status']],
    ])
  })

  it('trap 13: an event of an unknown type is stored and passed through', async () => {
    const db = await database()
    await applyAll(db, [event(1, { type: 'reinsured' }, { category: 'moonshot' })])
    expect(await rowsOf(db, marketEvents)).toMatchObject([{ type: 'reinsured', category: 'moonshot' }])
    expect((await changesOf(db)).find((change) => change.entity === 'market_events')?.after).toMatchObject({ type: 'reinsured' })
  })

  it('trap 14: any order of types is legal, and the newest event shows', async () => {
    const db = await database()
    const lane = { lane_id: uuid(3, 7) }
    for (const [n, status] of ['bound', 'declined', 'quoted', 'submitted'].entries())
      await applyAll(db, [event(n, { type: status, status }, lane)])
    expect(await rowsOf(db, lanes)).toMatchObject([{ status: 'submitted', state_event_id: uuid(1, 3) }])
    expect(await rowsOf(db, marketEvents)).toHaveLength(4)
  })

  it('trap 15: a rail creates no event', async () => {
    const db = await database()
    await applyAll(db, [observedState(ACCOUNT, ID, wireRequirements(ID, [wireLane(1, { bound: true, chip: 'bound' })]), 1)])
    expect(await rowsOf(db, marketEvents)).toEqual([])
    expect(await rowsOf(db, lanes)).toMatchObject([{ bound: true }])
  })

  it('trap 16: events are read in the order of (occurred_at, id); the log shows the order of discovery', async () => {
    const db = await database()
    const time = { occurred_at: at(5) }
    for (const n of [9, 3, 7, 5]) await applyAll(db, [event(n, n === 7 || n === 5 ? time : {})])
    const timeline = await db.read.sql.selectFrom('market_events').select('event_id').orderBy('occurred_at').orderBy('event_id').execute()
    expect(timeline.map((row) => row.event_id)).toEqual([3, 5, 7, 9].map((n) => uuid(1, n)))
    const known = (await changesOf(db)).filter((change) => change.entity === 'market_events' && change.operation === 'insert')
    expect(known.map((change) => change.after?.['event_id'])).toEqual([9, 3, 7, 5].map((n) => uuid(1, n)))
  })

  it('trap 11: while no rail names a lane, its newest event by time and then id is its state, in any order of arrival', async () => {
    const db = await database()
    const lane = { lane_id: uuid(3, 7) }
    const same = { occurred_at: at(4) }
    for (const [n, over] of [
      [4, same],
      [2, {}],
      [5, same],
      [3, {}],
    ] as const)
      await applyAll(db, [event(n, { status: `status ${n}`, ...over }, lane)])
    expect(await rowsOf(db, lanes)).toMatchObject([{ status: 'status 5', state_source: 'event', state_event_id: uuid(1, 5) }])
  })

  it('trap 11: an event never overrides the rail, be it older or newer', async () => {
    const db = await database()
    await applyAll(db, [event(1, { status: 'from an event' }, { lane_id: uuid(3, 7) })])
    await applyAll(db, [observedState(ACCOUNT, ID, wireRequirements(ID, [wireLane(7, { status: 'from the rail' })]), 1)])
    expect(await rowsOf(db, lanes)).toMatchObject([{ status: 'from the rail', state_source: 'rail', state_event_id: null }])
    await applyAll(db, [
      event(2, { status: 'from an event' }, { lane_id: uuid(3, 7) }),
      event(999_999, { status: 'bound' }, { lane_id: uuid(3, 7) }),
    ])
    expect(await rowsOf(db, lanes)).toMatchObject([{ status: 'from the rail', state_source: 'rail' }])
  })

  it.each([
    ['bound', true, 'bound', 1],
    ['quote_received', null, 'quoted', 0],
    ['declined', null, 'not_available', 0],
    ['withdrawn', null, 'not_available', 0],
    ['blocked', null, 'not_available', 0],
    ['market_attached', null, null, 0],
    ['teleported', null, null, 0],
  ])('trap 11: until a rail names a lane, the event %s sets the state for its status', async (type, bound, chip, boundLanes) => {
    const db = await database()
    await applyAll(db, [event(1, { type: 'bound', status: 'bound' }), event(2, { type, status: type }, { lane_id: uuid(3, 1) })])
    expect(await rowsOf(db, lanes)).toMatchObject([{ status: type, bound, chip, state_source: 'event' }])
    const overview = await db.read.sql.selectFrom('submission_overview').select('bound_lane_count').execute()
    expect(overview).toEqual([{ bound_lane_count: boundLanes }])
    await applyAll(db, [observedState(ACCOUNT, ID, wireRequirements(ID, [{ submission_market_id: uuid(3, 1) }]), 1)])
    expect(await rowsOf(db, lanes)).toMatchObject([{ bound: null, chip: null, state_source: 'rail' }])
  })

  it('trap 58: another spelling of an event is no conflict, and the feed takes precedence', async () => {
    const db = await database()
    const time = '2026-01-05T12:00:00'
    const first = event(1, { occurred_at: `${time}.123456Z` }, { name: 'Alder Point', lines: ['gl', 'auto'] })
    const other = (origin = byPoll) => event(1, { occurred_at: `${time}.123Z` }, { name: 'Alder Pt.', lines: ['auto', 'gl'] }, origin)
    await applyAll(db, [first])
    await applyAll(db, [other(byWebhook)])
    expect(await rowsOf(db, marketEvents)).toMatchObject([
      { occurred_at: `${time}.123456Z`, market_name: 'Alder Point', market_lines: ['gl', 'auto'] },
    ])
    await applyAll(db, [other()])
    const last = { occurred_at: `${time}.123000Z`, market_name: 'Alder Pt.', market_lines: ['auto', 'gl'] }
    expect(await rowsOf(db, marketEvents)).toMatchObject([last])
    await applyAll(db, [first])
    expect(await rowsOf(db, marketEvents)).toMatchObject([last])
    expect(await rowsOf(db, lanes)).toMatchObject([{ market_name: 'Alder Pt.', lines: ['auto', 'gl'] }])
    expect(await db.read.sql.selectFrom('sync_conflicts').selectAll().execute()).toEqual([])
  })

  it('trap 66: an event without a lane is stored so, and is linked when its lane is known', async () => {
    const db = await database()
    await applyAll(db, [event(1, {}, { lane_id: null })])
    expect(await rowsOf(db, lanes)).toEqual([])
    await applyAll(db, [event(1, {}, { lane_id: uuid(3, 7) }, byPoll)])
    expect(await rowsOf(db, marketEvents)).toMatchObject([{ lane_id: uuid(3, 7) }])
    expect(await rowsOf(db, lanes)).toMatchObject([{ lane_id: uuid(3, 7), state_event_id: uuid(1, 1) }])
    await applyAll(db, [observedState(ACCOUNT, ID, wireRequirements(ID, [wireLane(7)]), 1)])
    expect(await rowsOf(db, lanes)).toMatchObject([{ lane_id: uuid(3, 7), market_id: uuid(5, 7) }])
    await applyAll(db, [event(1, {}, { lane_id: null }, byFullRead)])
    expect(await rowsOf(db, marketEvents)).toMatchObject([{ lane_id: uuid(3, 7) }])
  })

  it('trap 58: fields that the spec does not name are in raw as they came, and never conflict', async () => {
    const db = await database()
    await applyAll(db, [event(1, { confidence: 0.5 }, { tier: 'A' })])
    await applyAll(db, [event(1, { confidence: 0.9, status_label: 'Reworded' }, { tier: 'B' }, byPoll)])
    const [row] = await rowsOf(db, marketEvents)
    expect(JSON.parse(String(row?.['raw']))).toMatchObject({ confidence: 0.9, market: { tier: 'B' } })
    expect(row).toMatchObject({ status_label: 'Reworded' })
    expect(await db.read.sql.selectFrom('sync_conflicts').selectAll().execute()).toEqual([])
  })

  it('trap 58: numbers are in raw as received; a rounded one is corrected by the next read, and is no change', async () => {
    const db = await database()
    const sent = JSON.stringify(wireEvent(1, { odd: '#' })).replace('"#"', '[12345678901234567890,1E400,{"deep":-0}]')
    const rawOf = async () => (await rowsOf(db, marketEvents))[0]?.['raw']
    await applyAll(db, [observedEvent(ACCOUNT, ID, JSON.parse(sent))])
    expect(await rawOf()).toContain('[12345678901234567000,null,{"deep":0}]')
    const before = await changesOf(db)
    const exact = observedEvent(ACCOUNT, ID, parseExact(sent), byFullRead)
    expect((await applyAll(db, [exact])).rawOnly).toHaveLength(1)
    expect(await rawOf()).toBe(sent)
    expect((await applyAll(db, [exact])).rawOnly).toEqual([])
    expect(await changesOf(db)).toEqual(before)
  })

  it('invariant 3: observations whose settling fails are rolled back', async () => {
    const db = await database()
    const failing = inApplyTransaction(db, silentObserver, 'test-failing', async (transaction) => {
      await transaction.apply([event(1)])
      throw new Error('the settling failed')
    })
    await expect(failing).rejects.toThrow('the settling failed')
    expect(await rowsOf(db, marketEvents)).toEqual([])
    expect(await rowsOf(db, submissions)).toEqual([])
    expect(await changesOf(db)).toEqual([])
    expect(await db.read.sql.selectFrom('sync_reads').selectAll().execute()).toEqual([])
  })

  it('trap 36: one id in two accounts is two rows, and each keeps to its own', async () => {
    const db = await database()
    const staging = { ...event(1, { status: 'in staging' }), account: 'acme-staging' }
    await applyAll(db, [event(1), staging])
    await applyAll(db, [{ ...event(2), account: 'acme-staging' }])
    const rows = (await rowsOf(db, marketEvents)).map(({ account, event_id, status }) => [account, event_id, status])
    expect(rows).toEqual([
      ['acme', uuid(1, 1), 'in_progress'],
      ['acme-staging', uuid(1, 1), 'in staging'],
      ['acme-staging', uuid(1, 2), 'in_progress'],
    ])
    expect((await rowsOf(db, submissions)).map((row) => row['account'])).toEqual(['acme', 'acme-staging'])
    expect((await changesOf(db)).filter((change) => change.account === 'acme' && change.entity_id.includes(uuid(1, 2)))).toEqual([])
  })
})
