import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../src/model/time.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { backOffDestination, findDestination, setDestinationState } from '../../../src/store/outbox/destinations.ts'
import { findOutboxRows, listOutbox } from '../../../src/store/outbox/queries.ts'
import { countRetrying, retryNow, retryRows, skipRows } from '../../../src/store/outbox/retry.ts'
import { ID_NOT_KNOWN } from '../../../src/store/outbox/rows.ts'
import { type ClaimedStream, claimStreams, type StreamResult, settleStreams } from '../../../src/store/outbox/work.ts'
import type { PushStatusView } from '../../../src/store/schema/push.ts'
import {
  ACCOUNT,
  counters,
  destinationOf,
  fanAll,
  openedDb,
  openedDbs,
  outboxOf,
  result,
  settleEach,
  streamsIn,
} from '../../push/outbox.ts'
import { runSql, testDatabases } from '../../tools/databases.ts'
import { applyEach } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'

const [ONE, TWO, THREE] = [uuid(9, 1), uuid(9, 2), uuid(9, 3)]
const ams = destinationOf('ams', { entities: ['market_events'] })
const crm = destinationOf('crm', { entities: ['market_events'] })

function claim(db: Db, leaseMs = 60_000, rowsPerStream = 1): Promise<ClaimedStream[]> {
  return claimStreams(db, 'ams', { streams: 10, rowsPerStream, leaseMs, uncertain: false })
}

/** Two events of each submission in the outbox, and the states of the first rows. */
async function outbox(db: Db, submissions: readonly string[], outcome?: (stream: ClaimedStream, n: number) => StreamResult): Promise<void> {
  for (const n of [1, 2]) await applyEach(db, submissions, (submission) => observedEvent(ACCOUNT, submission, wireEvent(n)))
  await fanAll(db, [ams, crm])
  if (outcome) await settleStreams(db, (await claim(db)).map(outcome))
}

const held = { type: 'blocked', as: 'held' } as const

async function statesOf(db: Db): Promise<string[]> {
  return (await outboxOf(db, 'ams')).map((row) => `${row.submission_id?.slice(-1)} ${row.state}`).sort()
}

async function expectRightCounters(db: Db): Promise<void> {
  const { kept, counted } = await counters(db, 'ams')
  expect(kept).toEqual(counted)
}

describe.each(testDatabases)('looking at the outbox on $name', ({ open }) => {
  it('push_status shows the state of each change, and what it waits for', async () => {
    const db = await openedDb(open)
    await outbox(db, [ONE, TWO, THREE], (stream, n) => {
      if (n === 0) return result(stream, 'delivered', { remoteId: 'R-1', status: 201 })
      if (n === 1) return result(stream, 'dead', { status: 422 }, held)
      return result(stream, 'ready', { status: 503 }, { type: 'due', inMs: 60_000 })
    })
    const view = async () =>
      (await db.read.sql
        .selectFrom('push_status')
        .selectAll()
        .where('destination', '=', 'ams')
        .orderBy('submission_id')
        .orderBy('seq')
        .execute()) as PushStatusView[]
    const rows = await view()
    expect(rows.map((row) => [row.state, row.attempts, row.status, row.remote_id, row.next_try_at === null])).toEqual([
      ['delivered', 1, 201, 'R-1', true],
      ['waiting', 0, null, null, false],
      ['dead', 1, 422, null, true],
      ['held', 0, null, null, true],
      ['retrying', 1, 503, null, false],
      ['waiting', 0, null, null, false],
    ])
    expect(rows[0]).toMatchObject({
      destination_state: 'active',
      account: ACCOUNT,
      entity: 'market_events',
      operation: 'insert',
      error: null,
    })
    expect(rows[0]?.delivered_at).toBe(rows[0]?.tried_at)
    expect(rows[2]).toMatchObject({ delivered_at: null, error: 'it became dead' })
    await backOffDestination(db, 'ams', 3_600_000, 5)
    expect((await view())[1]?.next_try_at).not.toBe(rows[1]?.next_try_at)
    await setDestinationState(db, 'ams', 'paused', 'the AMS moves')
    expect((await view()).map((row) => [row.destination_state, row.next_try_at])).toEqual(rows.map(() => ['paused', null]))
    await setDestinationState(db, 'ams', 'active', null)
    await settleEach(db, await claim(db), (stream) => ({ stream, rows: [], next: { type: 'blocked', as: 'unmapped' } }))
    expect((await view())[1]?.state).toBe('unmapped')
  })

  it('lists the newest first, filtered', async () => {
    const db = await openedDb(open)
    await outbox(db, [ONE, TWO], (stream, n) => result(stream, n === 0 ? 'delivered' : 'dead', { detail: 'file-7' }))
    const ids = async (filter: Parameters<typeof listOutbox>[1], limit = 100) =>
      (await listOutbox(db.read, filter, limit)).map((row) => row.outbox_id)
    const all = (await outboxOf(db)).map((row) => row.outbox_id).reverse()
    expect(await ids({})).toEqual(all)
    expect(await ids({}, 3)).toEqual(all.slice(0, 3))
    expect(await ids({ destination: 'ams' })).toHaveLength(4)
    expect(await ids({ destination: 'ams', submissionId: ONE, account: ACCOUNT })).toHaveLength(2)
    expect(await ids({ account: 'other' })).toEqual([])
    const [dead] = await listOutbox(db.read, { destination: 'ams', state: 'dead' }, 10)
    expect(dead).toMatchObject({ submission_id: TWO, stream: TWO, state: 'dead', detail: 'file-7', destination_state: 'active' })
    expect(await ids({ destination: 'ams', state: 'ready' })).toHaveLength(2)
    const now = Date.now()
    expect(await ids({ since: timeFromMs(now + 60_000) })).toEqual([])
    expect(await ids({ since: timeFromMs(now - 60_000), until: timeFromMs(now + 60_000) })).toEqual(all)
    const [first] = await outboxOf(db, 'ams')
    if (!first) throw new Error('no row')
    expect((await findOutboxRows(db.read, first.message_id.toUpperCase())).map((row) => row.destination).sort()).toEqual(['ams', 'crm'])
    expect(await findOutboxRows(db.read, String(first.outbox_id))).toMatchObject([{ message_id: first.message_id, destination: 'ams' }])
    expect(await findOutboxRows(db.read, 'nonsense')).toEqual([])
  })
})

describe.each(testDatabases)('trying again and giving up on $name', ({ open }) => {
  it('retried rows keep their position, and their stream continues', async () => {
    const db = await openedDb(open)
    await outbox(db, [ONE, TWO], (stream, n) => result(stream, n === 0 ? 'dead' : 'unknown', { uncertain: n === 1 }, held))
    expect(await claim(db)).toEqual([])
    expect(await retryRows(db, { destination: 'ams' }, 0, 10)).toEqual({ changed: 2, inFlight: 0, nextAfter: null })
    expect(await streamsIn(db)).toMatchObject(Array(4).fill({ blocked: null, held_by: null }))
    const streams = await claim(db, 60_000, 5)
    expect(streams.map((stream) => stream.rows.map((row) => [row.attempts, row.uncertain]))).toEqual(
      Array(2).fill(Array(2).fill([0, false])),
    )
    await expectRightCounters(db)
    expect(await retryRows(db, { destination: 'ams' }, 0, 10)).toEqual({ changed: 0, inFlight: 0, nextAfter: null })
  })

  it('rows that wait for their next attempt become due now, and the backoff of their destination ends', async () => {
    const db = await openedDb(open)
    await outbox(db, [ONE, TWO], (stream, n) => result(stream, n === 0 ? 'ready' : 'delivered', {}, { type: 'due', inMs: 3_600_000 }))
    await backOffDestination(db, 'ams', 3_600_000, 5)
    expect(await claim(db)).toEqual([])
    expect(await countRetrying(db.read, { destination: 'ams' }, 10)).toBe(1)
    expect(await retryNow(db, { destination: 'crm' }, 0, 10)).toEqual({ changed: 0, inFlight: 0, nextAfter: null })
    expect(await retryNow(db, { destination: 'ams' }, 0, 1)).toMatchObject({ changed: 1, inFlight: 0 })
    expect(await findDestination(db.read, 'ams')).toMatchObject({ failures: 0, retry_at: null })
    const streams = await claim(db, 60_000, 5)
    expect(streams.map(({ stream, rows }) => [stream, rows[0]?.attempts])).toEqual([[ONE, 1]])
    expect(await retryNow(db, { destination: 'ams' }, 0, 10)).toEqual({ changed: 0, inFlight: 1, nextAfter: null })
  })

  it('rows that may have arrived stay uncertain where they can be looked up first', async () => {
    const db = await openedDb(open)
    await outbox(db, [ONE, TWO, THREE], (stream, n) => {
      const state = n === 0 ? 'dead' : n === 1 ? 'unknown' : 'skipped'
      return result(stream, state, { uncertain: n > 0 })
    })
    expect(await retryRows(db, { destination: 'ams' }, 0, 10, ['ams'])).toMatchObject({ changed: 2 })
    expect(await retryRows(db, { destination: 'ams', state: 'skipped' }, 0, 10, ['ams'])).toMatchObject({ changed: 1 })
    const first = (await claim(db)).map(({ stream, rows }) => [stream, rows[0]?.attempts, rows[0]?.status, rows[0]?.uncertain])
    expect(first).toEqual([
      [ONE, 0, null, false],
      [TWO, 0, null, true],
      [THREE, 0, null, true],
    ])
  })

  it('a stream that has gone on or is gone takes a dead letter back', async () => {
    const db = await openedDb(open)
    await outbox(db, [ONE], (stream) => result(stream, 'dead'))
    await settleEach(db, await claim(db), (stream) => result(stream, 'delivered'))
    expect((await streamsIn(db)).filter((stream) => stream.destination === 'ams')).toEqual([])
    const [dead] = await outboxOf(db, 'ams')
    expect(await retryRows(db, { outboxIds: [dead?.outbox_id ?? 0, 999_999] }, 0, 10)).toMatchObject({ changed: 1 })
    expect((await claim(db)).map((stream) => stream.rows[0]?.outboxId)).toEqual([dead?.outbox_id])
    await expectRightCounters(db)
  })

  it('a retried insert makes all changes of its record ready, more than a statement has parameters', async () => {
    const db = await openedDb(open)
    // Short rows: without statistics, Postgres plans by the size of the table. The number of values per statement is the same.
    await outbox(db, [ONE], (stream) => result(stream, 'dead'))
    const short = { submission_id: 's', entity_id: '["s","e"]', message_id: 'm' }
    await db.write('test', (tx) => tx.sql.updateTable('sync_outbox').set(short).where('state', '=', 'dead').execute())
    const skipped = db.kind === 'sqlite' ? 33_000 : 3_000
    await runSql(
      db,
      sql`
        insert into sync_outbox (destination, account, stream, submission_id, entity, entity_id, operation, cause, seq, message_id, state,
          attempts, uncertain, queued_at, error)
        with recursive more(n) as (select 1 union all select n + 1 from more where n < ${sql.lit(skipped)})
        select destination, account, stream, submission_id, entity, entity_id, 'update', cause, seq + n, message_id, 'skipped',
          0, 0, queued_at, ${ID_NOT_KNOWN} from more cross join sync_outbox where state = 'dead' order by n`,
    )
    expect(await retryRows(db, { destination: 'ams' }, 0, 10)).toEqual({ changed: 1 + skipped, inFlight: 0, nextAfter: null })
    await expectRightCounters(db)
  })

  it('processes only as many inserts in one step as fit with the changes of their records', async () => {
    const db = await openedDb(open)
    await outbox(db, [ONE, TWO, THREE], (stream) => result(stream, 'dead'))
    await runSql(
      db,
      sql`
        insert into sync_outbox (destination, account, stream, submission_id, entity, entity_id, operation, cause, seq, message_id, state,
          attempts, uncertain, queued_at, error)
        select destination, account, stream, submission_id, entity, entity_id, 'update', cause, seq + n, message_id, 'skipped',
          0, 0, queued_at, ${ID_NOT_KNOWN} from (select 1 as n union all select 2 union all select 3) more cross join sync_outbox
        where state = 'dead' and destination = 'ams' order by n`,
    )
    const inserts = (await outboxOf(db, 'ams')).filter((row) => row.state === 'dead').map((row) => row.outbox_id)
    const second = inserts[1] ?? 0
    expect(await retryRows(db, { destination: 'ams' }, 0, 10)).toEqual({ changed: 8, inFlight: 0, nextAfter: second })
    expect(await retryRows(db, { destination: 'ams' }, second, 10)).toEqual({ changed: 4, inFlight: 0, nextAfter: null })
    await expectRightCounters(db)
  })

  it("skipped rows are never sent, and unblock their stream; other dead letters don't", async () => {
    const db = await openedDb(open)
    await outbox(db, [ONE], (stream) => result(stream, 'dead'))
    await settleEach(db, await claim(db), (stream) => result(stream, 'dead', {}, held))
    const [earlier, holder] = await outboxOf(db, 'ams')
    await skipRows(db, { outboxIds: [earlier?.outbox_id ?? 0] }, 0, 10)
    expect((await streamsIn(db)).find((stream) => stream.destination === 'ams')).toMatchObject({
      blocked: 'held',
      held_by: holder?.outbox_id,
    })
    await skipRows(db, { destination: 'ams', state: 'dead' }, 0, 10)
    expect(
      (await streamsIn(db)).filter((stream) => stream.destination === 'ams'),
      'nothing is left of the stream',
    ).toEqual([])
    expect(await statesOf(db)).toEqual(['1 skipped', '1 skipped'])
    await expectRightCounters(db)
    expect(await retryRows(db, { destination: 'ams', state: 'skipped' }, 0, 1)).toMatchObject({ changed: 1, nextAfter: earlier?.outbox_id })
    expect(await retryRows(db, { destination: 'ams', state: 'skipped' }, earlier?.outbox_id ?? 0, 10)).toMatchObject({
      changed: 1,
      nextAfter: null,
    })
    await expectRightCounters(db)
  })

  it('skips rows that wait for their next attempt and are not in flight', async () => {
    const db = await openedDb(open)
    await outbox(db, [ONE])
    const [stream] = await claim(db)
    if (!stream) throw new Error('nothing was claimed')
    await settleStreams(db, [result(stream, 'ready', {}, { type: 'due', inMs: 3_600_000 })])
    expect(await skipRows(db, { destination: 'ams', state: 'ready' }, 0, 10)).toMatchObject({ changed: 2, inFlight: 0 })
    await expectRightCounters(db)
  })

  it('leaves rows in flight alone, and ends an expired lease', async () => {
    const db = await openedDb(open)
    await outbox(db, [ONE])
    const [stream] = await claim(db)
    if (!stream) throw new Error('nothing was claimed')
    expect(await skipRows(db, { destination: 'ams', state: 'ready' }, 0, 10)).toMatchObject({ changed: 0, inFlight: 2 })
    await settleStreams(db, [result(stream, 'ready')])
    const [late] = await claim(db, 0)
    if (!late) throw new Error('nothing was claimed')
    expect(await skipRows(db, { outboxIds: [late.rows[0]?.outboxId ?? 0] }, 0, 10)).toMatchObject({ changed: 1, inFlight: 0 })
    expect(await settleStreams(db, [result(late, 'delivered')])).toHaveLength(1)
    expect(await statesOf(db)).toEqual(['1 ready', '1 skipped'])
    await expectRightCounters(db)
    expect(await skipRows(db, { destination: 'ams', state: 'delivered' }, 0, 10)).toEqual({ changed: 0, inFlight: 0, nextAfter: null })
    expect(await skipRows(db, { outboxIds: [] }, 0, 10)).toEqual({ changed: 0, inFlight: 0, nextAfter: null })
  })

  it('two concurrent calls count a row once', async () => {
    const [db, other] = (await openedDbs(open, 2)) as [Db, Db]
    await outbox(db, [ONE, TWO, THREE], (stream) => result(stream, 'dead'))
    await settleEach(db, await claim(db), (stream) => result(stream, 'delivered'))
    const steps = [db, other, db, other].map((one, n) =>
      n % 2 ? retryRows(one, { destination: 'ams' }, 0, 10) : skipRows(one, { destination: 'ams' }, 0, 10),
    )
    await Promise.all(steps)
    await expectRightCounters(db)
    const ready = (await statesOf(db)).filter((state) => state.endsWith('ready'))
    expect((await streamsIn(db)).filter((stream) => stream.destination === 'ams')).toHaveLength(ready.length)
  })
})
