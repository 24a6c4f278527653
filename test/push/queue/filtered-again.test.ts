import { describe, expect, it } from 'vitest'
import { planResend, type ResendProgress, stepResend } from '../../../src/push/queue/resend.ts'
import { previewChanges } from '../../../src/push/send/preview.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { beginPurge, endPurge, purgeRows } from '../../../src/store/mirror/purge.ts'
import { beginAction } from '../../../src/store/operators/actions.ts'
import { findDestination } from '../../../src/store/outbox/destinations.ts'
import { purgePushes } from '../../../src/store/outbox/purge.ts'
import { requestRestatements } from '../../../src/store/outbox/restatements.ts'
import { testDatabases } from '../../tools/databases.ts'
import { meddled } from '../../tools/meddled.ts'
import { applyAll, changesOf } from '../../tools/mirror.ts'
import { eventFacts, observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { ACCOUNT, contentOf, destinationOf, fanAll, openedDb, outboxOf } from '../outbox.ts'
import { webhookTo } from '../rig.ts'
import { BOUND, fanFiltered, filteredFanOut, filteredTo, laneId, showLanes, wordsOf } from './filtered.ts'

const ONE = uuid(9, 1)
const some = filteredTo(BOUND)

async function resendAll(db: Db): Promise<string[]> {
  const before = (await outboxOf(db, 'some')).length
  const state = await findDestination(db.read, 'some')
  if (state === null) throw new Error('no destination')
  const range = { after: 0, to: state.cursor }
  const plan = await planResend(db.read, some, state, {}, range, new AbortController().signal)
  const actionId = await beginAction(db, { who: 'test', action: 'destination.resend', target: 'some', detail: {} })
  let progress: ResendProgress | null = { queued: 0, queuedTo: 0 }
  while (progress !== null && progress.queuedTo < range.to)
    progress = await stepResend(db, some, state, { actionId, selection: {}, range, newIds: null }, progress)
  const rows = (await contentOf(db, 'some')).slice(before)
  expect(plan.changes).toBe(rows.length)
  return rows.map((row) => `${wordsOf(row)} ${row.messageId}`)
}

async function purge(db: Db, submissionId: string): Promise<void> {
  const of = { account: ACCOUNT, submissionId }
  await beginPurge(db, of)
  while ((await purgeRows(db, of)) > 0) {}
  while ((await purgePushes(db, of)) !== 'none') {}
  await endPurge(db, of)
}

describe.each(testDatabases)('a destination with a filter on $name', ({ open }) => {
  it('is sent again what it was sent: a record whole, the changes since, and that it left', async () => {
    const db = await openedDb(open)
    const fanOut = filteredFanOut(db, some)
    for (const [one, two] of [
      ['quoted', 'bound'],
      ['bound', 'bound'],
      ['bound', 'declined'],
    ] as const) {
      await showLanes(db, ONE, { 1: one, 2: two, 3: 'quoted' })
      await fanFiltered(fanOut)
    }
    await showLanes(db, ONE, { 1: 'bound', 2: 'declined', 3: 'quoted', 4: 'bound' })
    await fanFiltered(fanOut)
    const sent = (await contentOf(db, 'some')).map((row) => `${wordsOf(row)} ${row.messageId}`)
    expect(sent.map((each) => each.replace(/ [^ ]*$/, ''))).toEqual(['insert', 'insert whole', 'update left', 'insert'])
    expect((await resendAll(db)).sort()).toEqual(sent.slice(1).sort())
  })

  it('is sent a record whole once, however far apart the changes are that it contains', async () => {
    const db = await openedDb(open)
    await showLanes(db, ONE, { 1: 'quoted', 2: 'bound' })
    await applyAll(db, eventFacts(ACCOUNT, ONE, 250, 1))
    await showLanes(db, ONE, { 1: 'bound', 2: 'bound' })
    await fanFiltered(filteredFanOut(db, some))
    const again = await resendAll(db)
    expect(again.map((each) => each.replace(/ [^ ]*$/, '')).sort()).toEqual(['insert', 'insert whole'])
  })

  it('is sent again what it was sent before its first filter', async () => {
    const db = await openedDb(open)
    await showLanes(db, ONE, { 1: 'bound', 2: 'quoted' })
    await fanAll(db, [destinationOf('some', { entities: ['lanes'] })])
    const sent = (await contentOf(db, 'some')).map((row) => `${wordsOf(row)} ${row.messageId}`)
    await fanFiltered(filteredFanOut(db, filteredTo(BOUND, { entities: ['lanes'] })))
    expect((await resendAll(db)).filter((each) => sent.includes(each)).sort()).toEqual([...sent].sort())
  })

  it('gets a purge if any change of the record was sent, and no complete row afterwards', async () => {
    const db = await openedDb(open)
    const fanOut = filteredFanOut(db, some)
    await showLanes(db, ONE, { 1: 'bound', 2: 'quoted' })
    await fanFiltered(fanOut)
    await showLanes(db, ONE, { 1: 'bound', 2: 'bound' })
    let isPurged = false
    const overtaken = meddled(db, async (name, go) => {
      if (name === 'push-filter' && !isPurged) {
        isPurged = true
        await purge(db, ONE)
      }
      return go()
    })
    await fanFiltered(filteredFanOut(overtaken, some))
    await fanFiltered(fanOut)
    const rows = await contentOf(db, 'some')
    expect(rows.map(({ operation, entityId }) => `${operation} ${entityId}`)).toEqual([`purged ${laneId(ONE, 1)}`])
  })

  it('with a first filter has what it was sent before: it gets the changes as they are, and that a record does not pass', async () => {
    const db = await openedDb(open)
    const event = (detail: string | null) => observedEvent(ACCOUNT, ONE, wireEvent(1, { detail }))
    await applyAll(db, [event(null)])
    await showLanes(db, ONE, { 1: 'bound', 2: 'quoted', 3: 'declined' })
    await fanAll(db, [destinationOf('some')])
    const before = (await outboxOf(db, 'some')).length
    const fanOut = filteredFanOut(db, filteredTo(`entity = "market_events" or (${BOUND})`))
    await showLanes(db, ONE, { 1: 'quoted', 2: 'bound', 3: 'quoted', 4: 'bound', 5: 'quoted' })
    await applyAll(db, [event('Filled in later')])
    await fanFiltered(fanOut)
    await showLanes(db, ONE, { 1: 'bound', 2: 'quoted', 3: 'quoted', 4: 'bound', 5: 'quoted' })
    await fanFiltered(fanOut)
    const sentOf = async (id: string) =>
      (await contentOf(db, 'some'))
        .slice(before)
        .filter(({ entityId }) => entityId === id)
        .map(wordsOf)
    expect(await sentOf(JSON.stringify([ONE, uuid(1, 1)]))).toEqual(['update'])
    expect(await Promise.all([1, 2, 3, 4, 5].map((n) => sentOf(laneId(ONE, n))))).toEqual([
      ['update left', 'insert whole'],
      ['update', 'update left'],
      ['update left'],
      ['insert'],
      [],
    ])
  })

  it('with a first filter gets each purge, because earlier sends are unknown', async () => {
    const db = await openedDb(open)
    await showLanes(db, ONE, { 1: 'quoted' })
    await fanAll(db, [destinationOf('some')])
    await purge(db, ONE)
    await fanFiltered(filteredFanOut(db, some))
    const rows = await contentOf(db, 'some')
    expect(rows.map(({ operation, entityId }) => `${operation} ${entityId}`)).toContain(`purged ${laneId(ONE, 1)}`)
  })

  it('gets restatements of records that pass, and of those that it has and that no longer pass', async () => {
    const db = await openedDb(open)
    const fanOut = filteredFanOut(db, some)
    await showLanes(db, ONE, { 1: 'bound', 2: 'bound', 3: 'quoted', 4: 'quoted' })
    await fanFiltered(fanOut)
    const before = (await outboxOf(db, 'some')).length
    // As if the lost log had other chips.
    await db.write('test', async (tx) => {
      await tx.sql.updateTable('lanes').set({ chip: 'quoted' }).where('lane_id', '=', uuid(3, 2)).execute()
      await tx.sql.updateTable('lanes').set({ chip: 'bound' }).where('lane_id', '=', uuid(3, 3)).execute()
      await tx.sql.updateTable('sync_log_epochs').set({ began_at: '2100-01-01T00:00:00.000000Z' }).execute()
      await requestRestatements(tx, [{ destination: 'some', account: ACCOUNT, submission_id: ONE }])
      await tx.sql.updateTable('sync_restatements').set({ requested_at: '2000-01-01T00:00:00.000000Z' }).execute()
    })
    await fanFiltered(fanOut)
    const rows = (await contentOf(db, 'some')).slice(before)
    expect(rows.map((row) => `${wordsOf(row)} ${row.entityId}`)).toEqual([
      `update whole ${laneId(ONE, 1)}`,
      `update whole left ${laneId(ONE, 2)}`,
      `insert whole ${laneId(ONE, 3)}`,
    ])
    expect(await db.read.sql.selectFrom('sync_restatements').selectAll().execute()).toEqual([])
  })

  it('previews complete records, leaving records, filtered ones, and the failure of the filter', async () => {
    const db = await openedDb(open)
    const to = (filter: string) => webhookTo('https://ams.example', { name: 'some', accounts: [ACCOUNT], backfill: true, filter })
    const preview = async (filter: string, seq: number) => (await previewChanges(db.read, to(filter), { seq }, 5))[0]
    await showLanes(db, ONE, { 1: 'quoted' })
    await fanFiltered(filteredFanOut(db, some))
    await showLanes(db, ONE, { 1: 'bound' })
    const seq = (await changesOf(db)).filter(({ entity }) => entity === 'lanes').at(-1)?.seq ?? 0
    const item = { operation: 'insert', snapshot: true, leftFilter: false, after: { market_name: 'Market 1' } }
    expect(await preview(BOUND, seq)).toMatchObject({ notSent: null, item })
    expect(await preview('entity = "quotes"', seq)).toMatchObject({ notSent: 'not sent: the filters of the destination exclude it' })
    await fanFiltered(filteredFanOut(db, some))
    expect(await preview('entity = "quotes"', seq)).toMatchObject({ notSent: null, item: { operation: 'update', leftFilter: true } })
    const { seq: inserted = 0 } = (await changesOf(db)).find(({ entity, operation }) => entity === 'lanes' && operation === 'insert') ?? {}
    const request = { method: 'POST', url: 'https://ams.example', headers: {}, body: '{}' }
    const update = { ...request, method: 'PATCH', url: 'https://ams.example/1' }
    const [unsent] = await previewChanges(
      db.read,
      { ...to('entity = "quotes"'), kind: 'http', request, update } as never,
      { seq: inserted },
      5,
    )
    expect(unsent).toMatchObject({ notSent: 'not sent: the filters of the destination exclude it' })
    expect(await preview('$number(row.chip)', seq)).toMatchObject({ notSent: null, error: expect.stringMatching(/^filter failed: /) })
  })
})
