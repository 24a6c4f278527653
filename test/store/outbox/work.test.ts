import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { BusyError } from '../../../src/base/errors.ts'
import { rawNames } from '../../../src/model/entities.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import {
  backOffDestination,
  endBackoff,
  findDestination,
  oldestQueued,
  setDestinationState,
} from '../../../src/store/outbox/destinations.ts'
import { storeMappings } from '../../../src/store/outbox/push-map.ts'
import { makeStreamsDue, retryRows } from '../../../src/store/outbox/retry.ts'
import { ID_NOT_KNOWN } from '../../../src/store/outbox/rows.ts'
import {
  type ClaimedStream,
  claimStreams,
  releaseAllStreams,
  releaseStreams,
  type StreamClaim,
  settleStreams,
} from '../../../src/store/outbox/work.ts'
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
  type TestDestination,
} from '../../push/outbox.ts'
import { testDatabases } from '../../tools/databases.ts'
import { applyAll, applyEach } from '../../tools/mirror.ts'
import { byPoll, observedEvent, observedMessage, uuid, wireEvent, wireMessage } from '../../tools/observations.ts'

const ams = destinationOf('ams', { entities: ['market_events', 'thread_messages'] })
const STREAMS = [uuid(9, 1), uuid(9, 2), uuid(9, 3), uuid(9, 4)]
const CLAIM: StreamClaim = { streams: 10, rowsPerStream: 10, leaseMs: 60_000, uncertain: false }

function claim(db: Db, over: Partial<StreamClaim> = {}, destination = 'ams'): Promise<ClaimedStream[]> {
  return claimStreams(db, destination, { ...CLAIM, ...over })
}

/** `rows` events for each of the first `lanes` streams, in the outbox of the destinations. */
async function queue(db: Db, streams: number, rows: number, destinations: readonly TestDestination[] = [ams], from = 0): Promise<void> {
  for (let n = 0; n < rows; n++) {
    await applyEach(db, STREAMS.slice(0, streams), (stream) => observedEvent(ACCOUNT, stream, wireEvent(from + n)))
  }
  await fanAll(db, destinations)
}

function one<T>(list: readonly T[]): T {
  const [only] = list
  if (only === undefined || list.length > 1) throw new Error(`one was expected, not ${list.length}`)
  return only
}

async function expectRightCounters(db: Db, destination = 'ams'): Promise<void> {
  const { kept, counted } = await counters(db, destination)
  expect(kept).toEqual(counted)
}

describe.each(testDatabases)('claims of streams on $name', ({ open }) => {
  it('give each stream to one, with its first rows in their order, and all that is known of them', async () => {
    const dbs = await openedDbs(open, 2)
    const [db, other] = dbs as [Db, Db]
    await queue(db, 4, 3)
    const claims = await Promise.all([0, 1, 2, 3, 4, 5].map((n) => claim(n % 2 ? db : other, { streams: 1, rowsPerStream: 2 })))
    const streams = claims.flat()
    expect(streams.map((stream) => stream.stream).sort()).toEqual(STREAMS)
    const stored = await outboxOf(db)
    for (const { stream, account, destination, rows } of streams) {
      const first = stored.filter((row) => row.stream === stream).slice(0, 2)
      expect([destination, account]).toEqual(['ams', ACCOUNT])
      expect(rows.map((row) => [row.outboxId, row.messageId, row.seq])).toEqual(
        first.map((row) => [row.outbox_id, row.message_id, row.seq]),
      )
      expect(rows[0]).toMatchObject({
        submissionId: stream,
        entity: 'market_events',
        operation: 'insert',
        cause: 'webhook',
        snapshot: false,
        attempts: 0,
        uncertain: false,
        remoteId: null,
        mapping: null,
        direction: null,
        before: null,
        after: { type: 'status_changed', submission_id: stream, market_lines: ['general_liability'] },
        submission: { submission_id: stream, account: ACCOUNT, form_fill_active: null },
        changedAt: expect.stringMatching(/^\d{4}-.{21}Z$/),
      })
      expect(Object.keys(rows[0]?.submission ?? {}).filter((column) => rawNames.has(column))).toEqual([])
      const [change] = await db.read.sql
        .selectFrom('changes')
        .select(sql<string>`after`.as('text'))
        .where('seq', '=', rows[0]?.seq ?? 0)
        .execute()
      expect(rows[0]?.afterText).toBe(db.kind === 'sqlite' ? JSON.stringify(change?.text) : null)
    }
  })

  it('know of the target nothing that is of another destination or account', async () => {
    const db = await openedDb(open)
    const [submission] = STREAMS as [string]
    const ofBoth = { ...ams, accounts: [ACCOUNT, 'other'] }
    for (const account of ofBoth.accounts) await applyAll(db, [observedEvent(account, submission, wireEvent(1))])
    await fanAll(db, [ofBoth, { ...ams, name: 'crm' }])
    const to = (destination: string, account: string, client: string) => ({ destination, account, submissionId: submission, client })
    const maps = [to('crm', ACCOUNT, 'C-crm'), to('ams', 'other', 'C-other')]
    await storeMappings(
      db,
      maps.map((map) => ({ ...map, policy: null, fields: {} })),
      'import',
    )
    await settleStreams(db, [result(one(await claim(db, {}, 'crm')), 'delivered', { remoteId: 'r-crm' })])
    const streams = await claim(db)
    const of = (name: string) => one(streams.filter(({ account }) => account === name))
    expect(of('other').rows).toMatchObject([{ remoteId: null, mapping: { client: 'C-other' } }])
    expect(of(ACCOUNT).rows).toMatchObject([{ remoteId: null, mapping: null }])
    await settleStreams(db, [result(of('other'), 'delivered', { remoteId: 'r-other' }), result(of(ACCOUNT), 'ready')])
    expect(one(await claim(db)).rows).toMatchObject([{ account: ACCOUNT, remoteId: null, mapping: null }])
  })

  it('take the stream that has been due the longest first', async () => {
    const db = await openedDb(open)
    for (const [n, stream] of [...STREAMS].reverse().entries()) {
      await applyAll(db, [observedEvent(ACCOUNT, stream, wireEvent(n))])
      await fanAll(db, [ams])
    }
    const order: string[] = []
    for (let n = 0; n < 4; n++) order.push(one(await claim(db, { streams: 1 })).stream)
    expect(order).toEqual([...STREAMS].reverse())
  })

  it('take as many bytes as one claim may have, the oldest first, and give back the streams for which there is no room', async () => {
    const db = await openedDb(open)
    const text = 'x'.repeat(900_000)
    const messages = STREAMS.flatMap((stream, n) =>
      [1, 2].map((m) => [stream, wireMessage(10 * n + m, { body_text: `${m}${text}` })] as const),
    )
    for (const [stream, message] of messages) await applyAll(db, [observedMessage(ACCOUNT, stream, message)])
    await fanAll(db, [ams])
    const taken: [string, number][] = []
    for (let round = 0; round < 4; round++) {
      const streams = await claim(db)
      expect(streams.map((stream) => [stream.isFull, stream.rows.length])).toEqual([[round < 3, 2]])
      expect(one(streams).rows[0]?.after?.['body_text']).toHaveLength(900_001)
      taken.push([one(streams).stream, one(streams).rows.length])
    }
    expect(taken).toEqual(STREAMS.map((stream) => [stream, 2]))
    expect(await claim(db)).toEqual([])
  })

  it('take a larger row alone', async () => {
    const db = await openedDb(open)
    const [stream = ''] = STREAMS
    for (const n of [1, 2]) await applyAll(db, [observedMessage(ACCOUNT, stream, wireMessage(n, { body_text: 'x'.repeat(3_000_000) }))])
    await fanAll(db, [ams])
    expect(await claim(db)).toMatchObject([{ isFull: true, rows: [{ entity: 'thread_messages' }] }])
  })

  it('know who wrote a message, also when the change does not say so', async () => {
    const db = await openedDb(open)
    const [stream = ''] = STREAMS
    await applyAll(db, [observedMessage(ACCOUNT, stream, wireMessage(1, { direction: 'inbound', subject: null }))])
    await applyAll(db, [observedMessage(ACCOUNT, stream, wireMessage(1, { direction: 'inbound', subject: 'now known' }), byPoll)])
    await fanAll(db, [ams])
    const { rows } = one(await claim(db))
    expect(rows.map((row) => [row.operation, row.direction, row.after?.['direction']])).toEqual([
      ['insert', 'inbound', 'inbound'],
      ['update', 'inbound', undefined],
    ])
  })

  it('give nothing while the destination is stopped or paused, and all of it afterwards', async () => {
    const db = await openedDb(open)
    await queue(db, 1, 1)
    for (const state of ['paused', 'suspended'] as const) {
      await setDestinationState(db, 'ams', state, 'because\u0000')
      expect(await claim(db)).toEqual([])
    }
    await setDestinationState(db, 'ams', 'active', null)
    const longest = await backOffDestination(db, 'ams', 60_000, 5)
    const shorter = await backOffDestination(db, 'ams', 1, 6)
    expect(await claim(db)).toEqual([])
    await expect(setDestinationState(db, 'ams', 'paused', 'by hand', 'suspended')).rejects.toThrow(BusyError)
    expect(await findDestination(db.read, 'ams')).toMatchObject({ state: 'active', reason: null })
    await endBackoff(db, 'ams', shorter, 0)
    await endBackoff(db, 'ams', null, 0)
    expect(await claim(db), 'only the rest that is named is ended').toEqual([])
    await endBackoff(db, 'ams', longest, 0)
    const streams = await claim(db)
    expect(streams).toHaveLength(1)
    await releaseStreams(db, streams, { clearUncertain: false })
    await backOffDestination(db, 'ams', 60_000, 5)
    await setDestinationState(db, 'ams', 'active', null)
    expect(await claim(db), 'resume ends a rest').toHaveLength(1)
  })

  it('a stream whose process died is claimed again when its lease has ended, not before', async () => {
    const db = await openedDb(open)
    await queue(db, 1, 2)
    const lost = one(await claim(db, { leaseMs: 0 }))
    const again = one(await claim(db))
    expect(again.leaseToken).not.toBe(lost.leaseToken)
    expect(again.rows).toEqual(lost.rows)
    expect(await claim(db)).toEqual([])
  })

  it('are released immediately for a single sender, except those of another destination', async () => {
    const db = await openedDb(open)
    const both = ['ams', 'other'].map((name) => destinationOf(name, { entities: ['market_events'] }))
    await queue(db, 2, 1, both)
    for (const { name } of both) expect(await claim(db, {}, name)).toHaveLength(2)
    await releaseAllStreams(db, 'ams')
    expect(await claim(db, {}, 'ams')).toHaveLength(2)
    expect(await claim(db, {}, 'other')).toEqual([])
  })

  it('mark rows before their attempt on request, and remove the mark when no attempt began', async () => {
    const db = await openedDb(open)
    await queue(db, 1, 2)
    const first = one(await claim(db, { uncertain: true, rowsPerStream: 1 }))
    expect(first.rows.map((row) => row.uncertain)).toEqual([false])
    expect((await outboxOf(db)).map((row) => row.uncertain)).toEqual([1, 0])
    await releaseStreams(db, [first], { clearUncertain: true })
    expect((await outboxOf(db)).map((row) => row.uncertain)).toEqual([0, 0])
    await claim(db, { uncertain: true, rowsPerStream: 1, leaseMs: 0 })
    const known = one(await claim(db, { uncertain: true }))
    expect(known.rows.map((row) => row.uncertain)).toEqual([true, false])
    await releaseStreams(db, [known], { clearUncertain: true })
    expect(
      (await outboxOf(db)).map((row) => row.uncertain),
      'what another try left stays',
    ).toEqual([1, 0])
  })
})

describe.each(testDatabases)('settling streams on $name', ({ open }) => {
  it('writes down rows, remote ids and counters, and takes away streams that are done', async () => {
    const db = await openedDb(open)
    await queue(db, 2, 2)
    expect(await oldestQueued(db.read, 'ams')).toMatch(/^\d{4}-/)
    const streams = await claim(db)
    expect(await settleEach(db, streams, (stream) => result(stream, 'delivered', { remoteId: `r-${stream.stream}`, status: 201 }))).toEqual(
      [],
    )
    expect(await streamsIn(db)).toEqual([])
    const stored = await outboxOf(db)
    for (const row of stored) expect(row).toMatchObject({ state: 'delivered', attempts: 1, status: 201, error: null, uncertain: 0 })
    await expectRightCounters(db)
    expect(await oldestQueued(db.read, 'ams')).toBeNull()
    const ids = await db.read.all(sql<{ remote_id: string }>`select remote_id from sync_remote_ids`)
    expect(ids).toHaveLength(4)
    // The remote id of a record comes with its next change.
    await applyAll(db, [observedEvent(ACCOUNT, STREAMS[0] ?? '', wireEvent(0, { detail: 'filled in' }), byPoll)])
    await fanAll(db, [ams])
    const update = one(await claim(db))
    expect(update.rows).toMatchObject([{ operation: 'update', remoteId: `r-${STREAMS[0]}` }])
    expect(await settleStreams(db, [result(update, 'ready', { remoteId: 'r-new' })])).toEqual([])
    const renamed = one(await claim(db))
    expect(renamed.rows).toMatchObject([{ remoteId: 'r-new' }])
    expect(await settleStreams(db, [result(renamed, 'ready', { remoteId: null })])).toEqual([])
    expect(one(await claim(db)).rows, 'who says no other leaves it').toMatchObject([{ remoteId: 'r-new' }])
    expect(await settleStreams(db, [])).toEqual([])
  })

  it('writes the result of each row, however many are alike', async () => {
    const db = await openedDb(open)
    await queue(db, 4, 10)
    const streams = await claim(db)
    const ends = [
      { state: 'delivered', attempts: 1, status: 200 },
      { state: 'delivered', attempts: 1, status: 200, detail: 'had it already' },
      { state: 'dead', attempts: 1, status: 422, error: 'no' },
      { state: 'skipped', attempts: 0, status: null, error: 'no' },
    ] as const
    const endOf = (id: number) => ends[id % 10 === 0 ? 1 : id % 10 === 1 ? 3 : id % 2 === 0 ? 0 : 2] as (typeof ends)[number]
    const none = { uncertain: false, status: null, detail: null, error: null, progress: null, remoteId: null }
    await settleStreams(
      db,
      streams.map((stream) => ({
        stream,
        rows: stream.rows.map(({ outboxId }) => ({ outboxId, ...none, ...endOf(outboxId) })),
        next: { type: 'due', inMs: 0 },
      })),
    )
    const stored = await outboxOf(db)
    expect(stored).toHaveLength(40)
    for (const row of stored) {
      const end = endOf(row.outbox_id)
      expect(row).toMatchObject({ detail: null, error: null, uncertain: 0, ...end, settled_at: expect.any(String) })
      expect(row.tried_at).toEqual(end.attempts === 0 ? null : expect.any(String))
    }
    await expectRightCounters(db)
  })

  it('keeps the progress of an attempt until the row is delivered, without tax ids', async () => {
    const db = await openedDb(open)
    await queue(db, 1, 1)
    const progress = { step: 'record_taken', answered: 'request', origin: 'http://ams', isWhole: true, detail: null } as const
    const stream = one(await claim(db))
    const answer = (fein: string) => JSON.stringify({ put: 'http://ams/9', fein })
    await settleStreams(db, [result(stream, 'ready', { progress: { ...progress, body: answer('12-3456789') }, error: null })])
    expect((await outboxOf(db))[0]?.progress).not.toContain('3456789')
    const again = one(await claim(db))
    expect(again.rows[0]?.progress).toMatchObject({ ...progress, body: expect.stringContaining('http://ams/9') })
    await settleStreams(db, [result(again, 'delivered')])
    expect((await outboxOf(db))[0]?.progress).toBeNull()
  })

  it('continues with the rest of a stream when it is due', async () => {
    const clock = new ManualClock()
    const db = await openedDb(open, clock)
    await queue(db, 1, 3)
    const stream = one(await claim(db))
    const [first, second] = result(stream, 'delivered').rows
    if (!first || !second) throw new Error('no rows')
    const failed = { ...second, state: 'ready', error: 'no\u0000!', status: 503 } as const
    await settleStreams(db, [{ stream, rows: [first, failed], next: { type: 'due', inMs: 0 } }])
    const again = one(await claim(db))
    expect(again.rows.map((row) => [row.outboxId, row.attempts])).toEqual([
      [second.outboxId, 1],
      [second.outboxId + 1, 0],
    ])
    await settleStreams(db, [{ stream: again, rows: [], next: { type: 'due', inMs: 60_000 } }])
    expect(await claim(db)).toEqual([])
    expect((await outboxOf(db)).map((row) => [row.state, row.attempts, row.status, row.error])).toEqual([
      ['delivered', 1, 200, null],
      ['ready', 1, 503, 'no\uFFFD!'],
      ['ready', 0, null, null],
    ])
    await expectRightCounters(db)
  })

  it('invariant 14: nothing of a stream whose lease was lost is written, all of the others is', async () => {
    const dbs = await openedDbs(open, 2)
    const [db, other] = dbs as [Db, Db]
    await queue(db, 2, 1)
    const mine = await claim(db, { leaseMs: 0 })
    const theirs = one(await claim(other, { streams: 1 }))
    const lost = await settleEach(db, mine, (stream) => result(stream, 'dead', { remoteId: 'x' }))
    expect(lost.map(({ stream }) => stream.stream)).toEqual([theirs.stream])
    expect((await outboxOf(db)).map((row) => [row.stream === theirs.stream, row.state]).sort()).toEqual([
      [false, 'dead'],
      [true, 'ready'],
    ])
    const ids = await db.read.all(sql`select 1 from sync_remote_ids`)
    expect(ids).toHaveLength(1)
    await releaseStreams(db, mine, { clearUncertain: true })
    expect(await claim(db), 'a lease that is lost gives nothing back').toEqual([])
    expect(await settleStreams(other, [result(theirs, 'delivered')])).toEqual([])
    expect(await settleStreams(other, [result(theirs, 'delivered')]), 'a settled delivery is not settled again').toHaveLength(1)
    await expectRightCounters(db)
  })

  it('leaves the streams of other destinations and accounts alone that bear the same name', async () => {
    const db = await openedDb(open)
    const both = ['ams', 'other'].map((name) => destinationOf(name, { entities: ['market_events'], accounts: [ACCOUNT, 'another'] }))
    const [stream = ''] = STREAMS
    for (const account of [ACCOUNT, 'another']) await applyEach(db, [1, 2], (n) => observedEvent(account, stream, wireEvent(n)))
    await fanAll(db, both)
    const first = one(await claim(db, { streams: 1, rowsPerStream: 1 }))
    const second = one(await claim(db, { streams: 1, rowsPerStream: 1 }))
    expect(new Set([first.account, second.account]).size).toBe(2)
    expect(await claim(db, { rowsPerStream: 1 }, 'other')).toHaveLength(2)
    await settleStreams(db, [result(first, 'delivered')])
    expect((await claim(db)).map(({ account }) => account)).toEqual([first.account])
    expect(await claim(db, {}, 'other')).toEqual([])
  })

  it('a stream held by a dead letter stays held, empty or not, until it is released', async () => {
    const db = await openedDb(open)
    await queue(db, 1, 1)
    const stream = one(await claim(db))
    await settleStreams(db, [result(stream, 'dead', {}, { type: 'blocked', as: 'held' })])
    const holder = (await outboxOf(db))[0]?.outbox_id
    expect(await streamsIn(db)).toEqual([{ destination: 'ams', stream: STREAMS[0], lease_token: null, blocked: 'held', held_by: holder }])
    await queue(db, 1, 1, [ams], 10)
    expect(await claim(db)).toEqual([])
    await expectRightCounters(db)
  })

  it('skips no change whose insert was made ready again in between', async () => {
    const db = await openedDb(open)
    await queue(db, 1, 1)
    await settleEach(db, await claim(db), (stream) => result(stream, 'dead'))
    await applyAll(db, [observedEvent(ACCOUNT, uuid(9, 1), wireEvent(0, { detail: 'Filled in later' }))])
    await fanAll(db, [ams])
    const update = one(await claim(db))
    await retryRows(db, { destination: 'ams' }, 0, 10)
    expect(await settleStreams(db, [result(update, 'skipped', { error: ID_NOT_KNOWN })])).toEqual([])
    expect(one(await claim(db)).rows.map(({ operation }) => operation)).toEqual(['insert', 'update'])
    await expectRightCounters(db)
  })

  it('meets a fan-out on the same stream without losing a row, at any moment', async () => {
    const dbs = await openedDbs(open, 2)
    const [db, other] = dbs as [Db, Db]
    const [stream = ''] = STREAMS
    let queued = 0
    let sent = 0
    for (let round = 0; round < 40; round++) {
      await applyAll(db, [observedEvent(ACCOUNT, stream, wireEvent(queued++))])
      const claimed = await claim(db)
      const [lost] = await Promise.all([settleEach(db, claimed, (one) => result(one, 'delivered')), fanAll(other, [ams])])
      expect(lost).toEqual([])
      sent += claimed.reduce((sum, one) => sum + one.rows.length, 0)
    }
    for (let claimed = await claim(db); claimed.length > 0; claimed = await claim(db)) {
      sent += claimed.reduce((sum, one) => sum + one.rows.length, 0)
      await settleEach(db, claimed, (one) => result(one, 'delivered'))
    }
    expect(sent).toBe(queued)
    expect((await outboxOf(db)).every((row) => row.state === 'delivered')).toBe(true)
    expect(await streamsIn(db)).toEqual([])
    await expectRightCounters(db)
  })
})

describe.each(testDatabases)('hastening on $name', ({ open }) => {
  it('makes waiting streams due now, in steps, except held ones and those in flight', async () => {
    const db = await openedDb(open)
    await queue(db, 4, 1)
    const [later, latest, held, inFlight] = (await claim(db)) as [ClaimedStream, ClaimedStream, ClaimedStream, ClaimedStream]
    await settleStreams(db, [
      result(later, 'ready', { status: 503 }, { type: 'due', inMs: 3_600_000 }),
      result(latest, 'ready', { status: 503 }, { type: 'due', inMs: 7_200_000 }),
      result(held, 'dead', {}, { type: 'blocked', as: 'held' }),
    ])
    expect(await claim(db)).toEqual([])
    expect(await makeStreamsDue(db, 'ams', 1)).toBe(1)
    expect((await claim(db)).map(({ stream }) => stream)).toEqual([later.stream])
    expect(await makeStreamsDue(db, 'ams', 5)).toBe(1)
    expect(await makeStreamsDue(db, 'ams', 5)).toBe(0)
    expect((await claim(db)).map(({ stream }) => stream)).toEqual([latest.stream])
    expect(await settleStreams(db, [result(inFlight, 'delivered')])).toEqual([])
  })
})
