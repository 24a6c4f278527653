import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { TransientError } from '../../../src/base/errors.ts'
import type { Mapping } from '../../../src/push/contract/delivery.ts'
import { StepFailure } from '../../../src/push/contract/outcomes.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { onSqlite, runSql } from '../../tools/databases.ts'
import { meddled } from '../../tools/meddled.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'
import { delivered, testKind } from '../kind.ts'
import { startReceiver } from '../receiver.ts'
import { PushRig, webhookTo } from '../rig.ts'

const event = (n: number, s = 0) => observedEvent('default', uuid(9, s), wireEvent(n))
const only = { entities: ['market_events'] }

function failing(db: Db, name: string, times: number, failure: (() => Error) | null, before = async () => {}): Db {
  let left = times
  return meddled(db, async (each, go) => {
    if (each === name && left > 0) {
      left -= 1
      await before()
      if (failure !== null) throw failure()
    }
    return go()
  })
}

describe.each(onSqlite)('streams on $name', (database) => {
  it('two processes keep the order of each stream and send every row once', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver((_, response, take) => setTimeout(() => response.writable && take(), Math.random() * 5))
    const destination = webhookTo(receiver.url, only)
    await rig.push(destination)
    if (database.name === 'postgres') rig.start([destination], { db: await rig.secondProcess() })
    for (let n = 0; n < 40; n++) await rig.apply(Array.from({ length: 5 }, (_, s) => event(n * 5 + s, s)))
    await rig.until('all is delivered', () => rig.isEmpty())
    for (let s = 0; s < 5; s++) {
      const seqs = receiver.taken.filter(({ data }) => data.submission_id === uuid(9, s)).map(({ data }) => data.seq)
      expect(seqs).toEqual([...seqs].sort((a, b) => a - b))
    }
    expect(receiver.arrived).toHaveLength(200)
  })

  it('invariant 14: a stream whose lease was lost is left to its new owner, and its rows go out again with the same ids', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver()
    const destination = webhookTo(receiver.url, only)
    await rig.begin(destination)
    const takeOver = () => rig.db.write('test', (tx) => tx.sql.updateTable('sync_push_streams').set({ lease_token: 'other' }).execute())
    const db = failing(rig.db, 'outbox-settle', 1, null, async () => void (await takeOver()))
    rig.start([destination], { db })
    await rig.apply([event(1)])
    await rig.until('the loss is noticed', () => rig.lines.some((line) => line.includes('ended before its result was stored')))
    expect((await rig.rows()).map((row) => row.state)).toEqual(['ready'])
    await runSql(rig.db, sql`update sync_push_streams set due_at = ${'2026-01-01T00:00:00.000000Z'}`)
    await rig.until('it is delivered', () => rig.isEmpty())
    expect(receiver.arrived).toHaveLength(2)
    expect(new Set(receiver.arrived.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  })

  it('no result is lost while the database does not answer', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver()
    const destination = webhookTo(receiver.url, only)
    await rig.begin(destination)
    const db = failing(rig.db, 'outbox-settle', 3, () => new TransientError('the store is away'))
    rig.start([destination], { db })
    await rig.apply([event(1), event(2, 1)])
    await rig.until('all is delivered', () => rig.isEmpty())
    expect(receiver.arrived).toHaveLength(2)
  })

  it('claiming is tried again while the database does not answer', async () => {
    const rig = await PushRig.open(database)
    const receiver = await startReceiver()
    const destination = webhookTo(receiver.url, only)
    await rig.push(destination, { db: failing(rig.db, 'outbox-claim', 2, () => new TransientError('the store is away')) })
    await rig.apply([event(1)])
    await rig.until('it is delivered', () => rig.isEmpty())
    expect(receiver.arrived).toHaveLength(1)
  })

  it('rows of many streams are sent together where the kind wants it, those of a stream in order', async () => {
    const rig = await PushRig.open(database)
    const kind = testKind({ batch: { type: 'many', maxItems: 25, gatherMs: 50 }, send: () => delivered })
    const destination = webhookTo('http://unused.example', only)
    await rig.begin(destination)
    for (let n = 0; n < 20; n++) await rig.apply([event(n, 1), event(100 + n, 2), event(200 + n, 3)])
    rig.start([destination], { kindOf: () => kind })
    await rig.until('all is delivered', () => rig.isEmpty())
    expect(Math.max(...kind.calls.map((call) => call.length))).toBeLessThanOrEqual(25)
    expect(kind.calls.length).toBeLessThan(10)
    const rows = await rig.rows()
    for (const s of [1, 2, 3]) {
      const own = rows.filter((row) => row.submission_id === uuid(9, s)).map((row) => row.seq)
      expect(own).toHaveLength(20)
      expect(kind.calls.flat().filter((seq) => own.includes(seq))).toEqual(own.sort((a, b) => a - b))
    }
  })

  it('a dead-lettered row is stored before the next row of its stream is sent', async () => {
    const rig = await PushRig.open(database)
    let asked = 0
    const receiver = await startReceiver((_, response, take) => (asked++ === 0 ? response.writeHead(500).end() : take()))
    const destination = webhookTo(receiver.url, { ...only, scheduleMs: [] })
    await rig.begin(destination)
    const dying = failing(rig.db, 'outbox-settle', Number.POSITIVE_INFINITY, () => new Error('the process is dead'))
    await rig.apply([event(1), event(2), event(3)])
    rig.start([destination], { db: dying })
    await rig.until('it would be written down', () => rig.lines.some((line) => line.includes('the process is dead')))
    expect(receiver.taken).toEqual([])
    expect(receiver.arrived).toHaveLength(1)
  })

  it('rows without time for them use up no attempt, and are sent immediately', async () => {
    const rig = await PushRig.open(database)
    const kind = testKind({
      batch: { type: 'many', maxItems: 100, gatherMs: 0 },
      send: ({ seq }) => (seq === Math.min(...(kind.calls.at(-1) ?? [])) ? delivered : { type: 'not_attempted' }),
    })
    // After a failure the next attempt would be in an hour, and after the third there is none.
    const destination = webhookTo('http://unused.example', { ...only, scheduleMs: [3_600_000, 3_600_000] })
    await rig.begin(destination)
    await rig.apply([...[1, 2, 3, 4].map((n) => event(n)), event(5, 5)])
    rig.start([destination], { kindOf: () => kind })
    await rig.until('all is delivered', () => rig.isEmpty())
    expect(kind.calls.map((call) => call.length)).toEqual([5, 4, 3, 2, 1])
    expect((await rig.rows()).map(({ state, attempts }) => [state, attempts])).toEqual(Array(5).fill(['delivered', 1]))
    expect(rig.counts.of('push_attempts_total ams delivered')).toBe(5)
  })

  it('a failed batch is attempted again as a whole, and one with an unmapped stream without that stream', async () => {
    const rig = await PushRig.open(database)
    let broken = true
    const clients = new Set<string | undefined>()
    const kind = testKind({
      batch: { type: 'many', maxItems: 100, gatherMs: 0 },
      send: ({ mapping }) => {
        clients.add(mapping?.client)
        return broken ? { type: 'failed', permanent: false, alive: true, status: null, error: 'no space', retryAfterMs: null } : delivered
      },
      findMapping: async ({ submissionId }): Promise<Mapping | null> =>
        submissionId === uuid(9, 2) ? null : { client: `c-${submissionId}`, policy: null, fields: {} },
    })
    const destination = webhookTo('http://unused.example', { ...only, mapping: 'lookup' })
    await rig.begin(destination)
    await rig.apply([event(1, 1), event(2, 2), event(3, 3)])
    rig.start([destination], { kindOf: () => kind })
    await rig.until('it has failed', () => rig.counts.of('push_attempts_total ams failed') >= 2)
    broken = false
    await rig.until('the mapped ones are delivered', async () => (await rig.destination()).queued === 1)
    const status = await rig.db.read.sql.selectFrom('push_status').select(['submission_id', 'state']).execute()
    expect(status.filter((row) => row.state === 'unmapped').map((row) => row.submission_id)).toEqual([uuid(9, 2)])
    const maps = await rig.db.read.sql.selectFrom('push_map').select(['client', 'mapped_via']).orderBy('client').execute()
    expect(maps).toEqual([1, 3].map((s) => ({ client: `c-${uuid(9, s)}`, mapped_via: 'lookup' })))
    expect([...clients].sort(), 'at its first try too').toEqual(maps.map(({ client }) => client))
  })

  it.each(['one', 'many'] as const)(
    'a credential that is rejected during a client lookup suspends a destination that takes %s',
    async (type) => {
      const rig = await PushRig.open(database)
      const stop = { type: 'suspend', retry: 'soon', status: 401, error: 'it refuses the credential' } as const
      const kind = testKind({
        batch: type === 'one' ? { type } : { type, maxItems: 10, gatherMs: 0 },
        findMapping: () => Promise.reject(new StepFailure(stop)),
      })
      const destination = webhookTo('http://unused.example', { ...only, mapping: 'lookup' })
      await rig.begin(destination)
      await rig.apply([event(1, 1)])
      rig.start([destination], { kindOf: () => kind })
      await rig.until('it is suspended', async () => (await rig.destination()).state === 'suspended')
      expect((await rig.rows()).map(({ state, attempts }) => [state, attempts])).toEqual([['ready', 0]])
      expect(kind.calls).toEqual([])
    },
  )

  it('an error that a kind throws becomes an outcome', async () => {
    const rig = await PushRig.open(database)
    let n = 0
    const kind = testKind({
      send: () => {
        n += 1
        if (n < 3) throw new Error('a fault of its own')
        return delivered
      },
    })
    await rig.push(webhookTo('http://unused.example', only), { kindOf: () => kind })
    await rig.apply([event(1)])
    await rig.until('it is delivered', () => rig.isEmpty())
    expect((await rig.rows()).map((row) => row.attempts)).toEqual([3])
  })
})
