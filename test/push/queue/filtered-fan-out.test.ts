import { describe, expect, it } from 'vitest'
import { ensureDestinations } from '../../../src/store/outbox/destinations.ts'
import { testDatabases } from '../../tools/databases.ts'
import { meddled } from '../../tools/meddled.ts'
import { applyAll, changesOf } from '../../tools/mirror.ts'
import { byFirstFeedRead, byPoll, observedEvent, observedMessage, uuid, wireEvent, wireMessage } from '../../tools/observations.ts'
import { ACCOUNT, contentOf, destinationOf, fanAll, openedDb, openedDbs, outboxOf, stateOf } from '../outbox.ts'
import { BOUND, fanFiltered, filteredFanOut, filteredTo, heldBy, laneId, showLanes, wordsOf } from './filtered.ts'

const [ONE, TWO] = [uuid(9, 1), uuid(9, 2)]

describe.each(testDatabases)('fan-out with a filter on $name', ({ open }) => {
  it('sends a whole record when it starts to pass, its changes, and one last change when it stops passing', async () => {
    const db = await openedDb(open)
    const fanOut = filteredFanOut(db, filteredTo(BOUND))
    const show = async (chip: string) => {
      await showLanes(db, ONE, { 1: chip, 2: 'declined' })
      await fanFiltered(fanOut)
    }
    for (const chip of ['in_progress', 'bound', 'declined', 'quoted', 'bound']) await show(chip)
    await showLanes(db, ONE, { 2: 'declined' })
    await fanFiltered(fanOut)
    const rows = await contentOf(db, 'some')
    expect(rows.map(({ entityId }) => entityId)).toEqual(Array.from({ length: 4 }, () => laneId(ONE, 1)))
    expect(rows.map(wordsOf)).toEqual(['insert whole', 'update left', 'insert whole', 'gone left'])
    expect(rows[0]?.after).toMatchObject({ market_name: 'Market 1', chip: 'bound' })
    expect(rows[1]?.after).toMatchObject({ chip: 'declined' })
    expect(new Set(rows.map(({ messageId }) => messageId)).size).toBe(4)
    const { cursor, filtered, filter_error } = await stateOf(db, 'some')
    const changes = await changesOf(db)
    expect({ cursor, filtered, filter_error }).toEqual({
      cursor: changes.length,
      filtered: changes.length - rows.length,
      filter_error: null,
    })
  })

  it('sends the changes of records that pass as they are, in order, and an insert that passes as the insert', async () => {
    const db = await openedDb(open)
    const [every, some] = [destinationOf('all', { entities: ['market_events'] }), filteredTo('row.type = "quote_received"')]
    await applyAll(db, [
      observedEvent(ACCOUNT, ONE, wireEvent(1, { type: 'quote_received', detail: null })),
      observedEvent(ACCOUNT, ONE, wireEvent(2, { type: 'declined' })),
      observedMessage(ACCOUNT, TWO, wireMessage(1)),
    ])
    const fanOut = filteredFanOut(db, some)
    await fanFiltered(fanOut)
    await applyAll(db, [observedEvent(ACCOUNT, ONE, wireEvent(1, { type: 'quote_received', detail: 'now known' }))])
    await fanFiltered(fanOut)
    await fanAll(db, [every])
    const id = JSON.stringify([ONE, uuid(1, 1)])
    const asSent = async (name: string) =>
      (await outboxOf(db, name))
        .filter(({ entity_id }) => entity_id === id)
        .map(({ message_id, operation, seq }) => ({ message_id, operation, seq }))
    expect((await asSent('some')).map(({ operation }) => operation)).toEqual(['insert', 'update'])
    expect(await asSent('some')).toEqual(await asSent('all'))
    expect(await outboxOf(db, 'some')).toHaveLength(2)
  })

  it('shows the filter the change, the record and its submission, the personal columns too', async () => {
    const db = await openedDb(open)
    const filter = `entity = "thread_messages" and operation = "insert" and after.subject = row.subject and before = null
      and $contains(submission.insured_name, "Harbour") and direction = "sent" and echo and account = "${ACCOUNT}"`
    await showLanes(db, ONE, {})
    await applyAll(db, [
      observedMessage(ACCOUNT, ONE, wireMessage(1, { direction: 'inbound' })),
      observedMessage(ACCOUNT, ONE, wireMessage(2, { direction: 'outbound' })),
    ])
    await fanFiltered(filteredFanOut(db, filteredTo(filter)))
    expect((await contentOf(db, 'some')).map(({ entityId }) => entityId)).toEqual([JSON.stringify([ONE, uuid(2, 1)])])
  })

  it('judges records of a new submission again once its columns are read', async () => {
    const db = await openedDb(open)
    const filter = 'entity != "submissions" and submission.insured_name = "Harbour Bakery LLC"'
    const fanOut = filteredFanOut(db, filteredTo(filter, { entities: ['market_events', 'thread_messages'], backfill: false }))
    const idsSent = async () => {
      await fanFiltered(fanOut)
      return (await contentOf(db, 'some')).map((row) => `${JSON.parse(row.entityId)[1]} ${wordsOf(row)}`)
    }
    const first = [uuid(1, 1), uuid(1, 2), uuid(2, 1)].map((id) => `${id} insert whole`)
    await applyAll(db, [observedEvent(ACCOUNT, ONE, wireEvent(1)), observedEvent(ACCOUNT, ONE, wireEvent(9), byFirstFeedRead)])
    await applyAll(db, [observedEvent(ACCOUNT, ONE, wireEvent(2, { detail: null })), observedMessage(ACCOUNT, ONE, wireMessage(1))])
    await applyAll(db, [observedEvent(ACCOUNT, TWO, wireEvent(3))])
    expect(await idsSent()).toEqual([])
    await showLanes(db, ONE, {})
    expect((await idsSent()).sort()).toEqual(first)
    await applyAll(db, [observedEvent(ACCOUNT, ONE, wireEvent(2, { detail: 'now known' }))])
    await showLanes(db, ONE, { 1: 'quoted' })
    expect((await idsSent()).slice(3)).toEqual([`${uuid(1, 2)} update`])
    expect((await heldBy(db, 'some')).size).toBe(3)
  })

  it('applies `operations` to the sent row, and the other filters first', async () => {
    const db = await openedDb(open)
    const inserts = filteredFanOut(db, filteredTo(BOUND, { operations: ['insert'] }))
    await applyAll(db, [observedEvent(ACCOUNT, ONE, wireEvent(1), byFirstFeedRead), observedEvent(ACCOUNT, ONE, wireEvent(2), byPoll)])
    for (const chip of ['quoted', 'bound', 'declined', 'bound']) await showLanes(db, ONE, { 1: chip })
    await fanFiltered(inserts)
    expect((await contentOf(db, 'some')).map(wordsOf)).toEqual(['insert whole'])
    const late = filteredFanOut(db, filteredTo('entity = "market_events"', { name: 'late', backfill: false }))
    await fanFiltered(late)
    expect((await contentOf(db, 'late')).map(({ entityId }) => entityId)).toEqual([JSON.stringify([ONE, uuid(1, 2)])])
  })

  it('waits before a change on which the filter fails, reports which and why, and continues when it is fixed', async () => {
    const db = await openedDb(open)
    await applyAll(db, [
      observedEvent(ACCOUNT, ONE, wireEvent(1, { detail: '7' })),
      observedEvent(ACCOUNT, ONE, wireEvent(2, { detail: 'seven' })),
    ])
    const wrong = filteredTo('entity != "market_events" or $number(row.detail) > 0')
    const { failed } = await fanFiltered(filteredFanOut(db, wrong))
    const rows = await outboxOf(db, 'some')
    const stuck = (await changesOf(db)).find(({ entity_id }) => entity_id === JSON.stringify([ONE, uuid(1, 2)]))?.seq ?? 0
    expect(failed).toMatch(new RegExp(`^change ${stuck}, market_events insert: filter failed: `))
    expect(rows.every(({ seq }) => seq < stuck)).toBe(true)
    expect(await stateOf(db, 'some')).toMatchObject({ cursor: stuck - 1, filter_error: failed, filter_failed_at: expect.any(String) })
    await fanFiltered(filteredFanOut(db, filteredTo('entity = "market_events"')))
    expect(await stateOf(db, 'some')).toMatchObject({ filter_error: null, filter_failed_at: null, cursor: (await changesOf(db)).length })
  })

  it('no longer fails once its destination has no filter', async () => {
    const db = await openedDb(open)
    await applyAll(db, [observedEvent(ACCOUNT, ONE, wireEvent(1))])
    const { failed } = await fanFiltered(filteredFanOut(db, filteredTo('row.type')))
    expect(await stateOf(db, 'some')).toMatchObject({ filter_error: failed, filter_failed_at: expect.any(String) })
    await fanAll(db, [destinationOf('some')])
    const { length: cursor } = await changesOf(db)
    expect(await stateOf(db, 'some')).toMatchObject({ filter_error: null, filter_failed_at: null, filtered_from: null, cursor })
    await fanFiltered(filteredFanOut(db, filteredTo(BOUND)))
    expect(await stateOf(db, 'some')).toMatchObject({ filtered_from: cursor })
  })

  it.each([
    ['says neither true nor false', 'row.type', 'filter must return true or false'],
    ['never ends', '($f := function() { $f() }; $f())', 'filter did not finish within 1000 ms'],
  ])('holds the destination when its filter %s', async (_, filter, why) => {
    const db = await openedDb(open)
    await applyAll(db, [observedEvent(ACCOUNT, ONE, wireEvent(1))])
    const { failed } = await fanFiltered(filteredFanOut(db, filteredTo(filter, { entities: ['market_events'] })))
    expect(failed).toContain(why)
  })

  it('queues nothing twice with several processes, nor when a commit is lost or its answer is', async () => {
    const dbs = await openedDbs(open, 3)
    const [db] = dbs
    if (!db) throw new Error('no database')
    await ensureDestinations(db, [filteredTo(BOUND)])
    let n = 0
    const failing = (where: 'before' | 'after', of: typeof db) =>
      meddled(of, async (name, go) => {
        const fails = name === 'push-filter' && n++ % 3 === 0
        if (fails && where === 'before') throw new Error('killed')
        const done = await go()
        if (fails) throw new Error('killed')
        return done
      })
    const processes = [failing('before', dbs[1] ?? db), failing('after', dbs[2] ?? db)].map((each) =>
      filteredFanOut(each, filteredTo(BOUND)),
    )
    for (let round = 0; round < 12; round++) {
      await showLanes(db, round % 2 ? ONE : TWO, { 1: round % 3 ? 'bound' : 'quoted', 2: 'bound' })
      await Promise.allSettled(processes.map((each) => each.step()))
    }
    await fanFiltered(filteredFanOut(db, filteredTo(BOUND)))
    const held = await heldBy(db, 'some')
    expect([...held.keys()].sort()).toEqual(
      [laneId(ONE, 1), laneId(ONE, 2), laneId(TWO, 1), laneId(TWO, 2)].map((id) => `lanes ${id}`).sort(),
    )
  })

  it('sends of a snapshot what passes, and then what changes', async () => {
    const db = await openedDb(open)
    for (let n = 0; n < 24; n++) await showLanes(db, uuid(9, n), { 1: 'bound', 2: 'quoted' })
    const fanOut = filteredFanOut(db, filteredTo(BOUND, { start: 'snapshot' }))
    for (let n = 0; n < 12; n++) {
      await fanOut.step()
      await showLanes(db, uuid(9, n * 2), { 1: n % 2 ? 'bound' : 'quoted', 2: 'bound' })
    }
    await fanFiltered(fanOut)
    const lanes = await db.read.sql.selectFrom('lanes').select(['submission_id', 'lane_id']).where('chip', '=', 'bound').execute()
    const held = await heldBy(db, 'some')
    expect([...held.keys()].sort()).toEqual(lanes.map((row) => `lanes ${JSON.stringify([row.submission_id, row.lane_id])}`).sort())
    expect([...held.values()].every((row) => row['chip'] === 'bound')).toBe(true)
    expect((await stateOf(db, 'some')).snapshot).toBeNull()
  })
})
