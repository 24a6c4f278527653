import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../src/model/time.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { reachedOf } from '../../../src/store/mirror/whole-submission.ts'
import { findDestination } from '../../../src/store/outbox/destinations.ts'
import { lockFanOut, type NewOutboxRow, queueRows } from '../../../src/store/outbox/fan-out.ts'
import { deliveredRows } from '../../../src/store/outbox/rows.ts'
import {
  deliveredAfter,
  foundSince,
  lackingAt,
  markRepaired,
  type Requeued,
  stillDelivered,
  storeVerificationSummary,
  storeVerifications,
  unexpected,
} from '../../../src/store/outbox/verifications.ts'
import { claimStreams } from '../../../src/store/outbox/work.ts'
import { atDestinations } from '../../../src/store/reconcile/at-destinations.ts'
import type { VerificationResult } from '../../../src/store/schema/push.ts'
import { removeVerifications } from '../../../src/store/upkeep/retention.ts'
import { claimUpkeep } from '../../../src/store/upkeep/upkeep.ts'
import { ACCOUNT, destinationOf, fanAll, openedDb, outboxOf, result, settleEach } from '../../push/outbox.ts'
import { runSql, testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, trackFact, uuid, wireEvent } from '../../tools/observations.ts'

const IDS = [1, 2, 3].map((n) => uuid(9, n))
const ams = destinationOf('ams', { entities: ['market_events'] })

describe.each(testDatabases)('answers of targets on $name', ({ open }) => {
  async function delivered(): Promise<{ db: Db; ids: number[] }> {
    const db = await openedDb(open)
    await applyAll(db, [...IDS.map((id) => trackFact(ACCOUNT, id)), ...IDS.map((id) => observedEvent(ACCOUNT, id, wireEvent(1)))])
    await fanAll(db, [ams])
    const streams = await claimStreams(db, 'ams', { streams: 10, rowsPerStream: 1, leaseMs: 60_000, uncertain: false })
    await settleEach(db, streams, (stream, n) => result(stream, 'delivered', { remoteId: `note-${n}` }))
    return { db, ids: (await outboxOf(db, 'ams')).map(({ outbox_id }) => outbox_id) }
  }
  const counting = async (db: Db, selection = {}) => (await deliveredAfter(db.read, 'ams', selection, 0)).ids
  const answer = async (db: Db, ids: readonly number[], verdict: VerificationResult) => {
    const rows = await deliveredRows(db.read, ids)
    await db.write('test', (tx) =>
      storeVerifications(
        tx,
        'ams',
        rows.map((row) => ({ row, result: verdict })),
      ),
    )
  }
  const shown = async (db: Db) => await db.read.sql.selectFrom('push_verifications').selectAll().orderBy('submission_id').execute()
  const again = (db: Db, row: NewOutboxRow) => db.write('test', (tx) => queueRows(tx, [row], []))

  it('counts a change once, by its newest row, whether it was sent again under its own id or another', async () => {
    const { db, ids } = await delivered()
    expect(await counting(db)).toEqual(ids)
    expect(await counting(db, { submissionId: IDS[1] })).toEqual([ids[1]])
    expect(await counting(db, { since: timeFromMs(Date.now() + 60_000) })).toEqual([])
    expect(await counting(db, { since: timeFromMs(Date.now() - 60_000) })).toEqual(ids)
    expect((await deliveredRows(db.read, ids)).map(({ remoteId, after }) => [remoteId, after?.['type']])).toEqual(
      ids.map((_, n) => [`note-${n}`, 'status_changed']),
    )

    const [first, second] = await db.write('test', (tx) => stillDelivered(tx, 'ams', ids))
    if (!first || !second) throw new Error('they count as delivered')
    await again(db, { ...first, uncertain: false })
    await again(db, { ...second, messageId: uuid(8, 1), resent: 'new', uncertain: false })
    expect(await counting(db)).toEqual([ids[2]])
    expect((await db.write('test', (tx) => stillDelivered(tx, 'ams', ids))).map(({ outboxId }) => outboxId)).toEqual([ids[2]])
    await runSql(db, sql`update sync_outbox set state = 'unknown' where state = 'ready'`)
    expect(await counting(db)).toEqual([ids[2]])
    // The second is skipped, so the first counts.
    await runSql(db, sql`update sync_outbox set state = 'skipped' where state = 'unknown'`)
    expect(await counting(db)).toContain(ids[0])
  })

  it('keeps the last answer of each, and missing ones until they are resent', async () => {
    const { db, ids } = await delivered()
    expect(await lackingAt(db.read, 'ams')).toEqual({ count: 0, oldest_at: null })
    await answer(db, ids, 'has')
    await answer(db, ids.slice(0, 2), 'lacks')
    expect((await shown(db)).map((row) => row.result)).toEqual(['lacks', 'lacks', 'has'])
    expect(await foundSince(db.read, 'ams', timeFromMs(Date.now() - 60_000))).toEqual({ has: 1, lacks: 2, differs: 0, undetermined: 0 })
    expect((await lackingAt(db.read, 'ams')).count).toBe(2)

    await db.write('test', async (tx) => {
      await lockFanOut(tx)
      const rows = await stillDelivered(tx, 'ams', ids.slice(0, 1))
      await markRepaired(tx, 'ams', rows)
    })
    expect((await shown(db)).map((row) => row.repaired_at !== null)).toEqual([true, false, false])
    // The record of the insert no longer exists: its id is deleted.
    expect((await db.read.sql.selectFrom('sync_remote_ids').select('remote_id').orderBy('remote_id').execute()).length).toBe(2)
    expect((await lackingAt(db.read, 'ams')).count).toBe(1)
    const [, second] = await db.write('test', (tx) => stillDelivered(tx, 'ams', ids))
    if (!second) throw new Error('it counts as delivered')
    await again(db, { ...second, uncertain: true })
    expect(await lackingAt(db.read, 'ams')).toEqual({ count: 0, oldest_at: null })

    await answer(db, ids.slice(0, 1), 'has')
    expect((await shown(db))[0]).toMatchObject({ result: 'has', repaired_at: expect.any(String) })
    await answer(db, ids.slice(0, 1), 'lacks')
    expect((await shown(db))[0]).toMatchObject({ result: 'lacks', repaired_at: null })
  })

  const firstOf = async (db: Db, ids: readonly number[]): Promise<Requeued> => {
    const [first] = await db.write('test', (tx) => stillDelivered(tx, 'ams', ids))
    if (!first) throw new Error('it counts as delivered')
    return first
  }
  const queueLater = async (db: Db, { outboxId: _, ...row }: Requeued, n: number, own: Partial<NewOutboxRow> = {}) => {
    await again(db, { ...row, operation: 'update', seq: row.seq + n, messageId: uuid(7, n), uncertain: false, ...own })
  }
  const deliverWaiting = async (db: Db) => {
    const streams = await claimStreams(db, 'ams', { streams: 10, rowsPerStream: 1, leaseMs: 60_000, uncertain: false })
    await settleEach(db, streams, (stream) => result(stream, 'delivered'))
  }
  const repairable = async (db: Db, ids: readonly number[]) =>
    (await db.write('test', (tx) => stillDelivered(tx, 'ams', ids))).map(({ outboxId }) => outboxId)

  it('excludes rows from a repair while a newer change of the record waits', async () => {
    const { db, ids } = await delivered()
    await queueLater(db, await firstOf(db, ids), 100)
    expect(await repairable(db, ids)).toEqual(ids.slice(1))
    await deliverWaiting(db)
    expect(await repairable(db, ids)).toEqual(ids)
  })

  it('queues a change behind an older one of its record that is repaired already', async () => {
    const { db, ids } = await delivered()
    const first = await firstOf(db, ids)
    await queueLater(db, first, 100)
    await deliverWaiting(db)
    await again(db, { ...first, uncertain: false })
    const later = (await outboxOf(db, 'ams')).filter(({ operation }) => operation === 'update').map(({ outbox_id }) => outbox_id)
    expect(await repairable(db, later)).toEqual(later)
  })

  it.each([
    ['gone', { operation: 'gone' }],
    ['purged', { operation: 'purged' }],
    ['out of the filter', { leftFilter: true }],
  ] as const)('expects of no target to keep a record that it got as %s, until it is sent again', async (_, stored) => {
    const { db, ids } = await delivered()
    const first = await firstOf(db, ids)
    await answer(db, ids.slice(0, 2), 'lacks')
    await queueLater(db, first, 100, stored)
    expect(await unexpected(db.read, ids)).toEqual(new Map())
    expect((await lackingAt(db.read, 'ams')).count).toBe(2)
    await deliverWaiting(db)
    const counted = await counting(db)
    expect(counted).toHaveLength(ids.length + 1)
    expect(await unexpected(db.read, counted)).toEqual(new Map([ids[0], counted.at(-1)].map((id) => [id, 'dropped'])))
    expect(await repairable(db, ids)).toEqual(ids.slice(1))
    expect((await lackingAt(db.read, 'ams')).count).toBe(1)
    await queueLater(db, first, 200)
    await deliverWaiting(db)
    const [again] = (await counting(db)).slice(-1)
    expect((await unexpected(db.read, [again ?? 0])).size).toBe(0)
  })

  it('counts answers only for changes still known to be delivered', async () => {
    const { db, ids } = await delivered()
    const key = { account: ACCOUNT, submission_id: IDS[0] ?? '' }
    await answer(db, ids, 'has')
    const [row] = await deliveredRows(db.read, ids)
    if (!row) throw new Error('it is delivered')
    // Retention has removed its push.
    const removed = { ...row, messageId: uuid(6, 1) }
    await db.write('test', (tx) => storeVerifications(tx, 'ams', [{ row: removed, result: 'has' }]))
    expect(await reachedOf(db.read, key)).toMatchObject([{ delivered: 1, has: 1, verified_at: expect.any(String) }])
    expect(await atDestinations(db.read, ACCOUNT)).toMatchObject([{ delivered: 3, has: 3, newest_at: expect.any(String) }])
    await again(db, { ...(await firstOf(db, ids)), resent: 'new', messageId: uuid(6, 2), uncertain: false })
    await deliverWaiting(db)
    await runSql(db, sql`delete from sync_outbox where outbox_id = ${ids[0]}`)
    expect(await reachedOf(db.read, key)).toMatchObject([{ delivered: 1, has: 0, verified_at: null }])
    expect(await atDestinations(db.read, ACCOUNT)).toMatchObject([{ delivered: 3, has: 2 }])
  })

  it('notes the counts of a run, and retention removes answers by their age', async () => {
    const { db, ids } = await delivered()
    const summary = { delivered: 3, asked: 3, has: 2, lacks: 1, differs: 0, undetermined: 0, repaired: 0 }
    await db.write('test', (tx) => storeVerificationSummary(tx, 'ams', summary))
    expect(await findDestination(db.read, 'ams')).toMatchObject({ verified: summary, verified_at: expect.any(String) })
    await answer(db, ids, 'has')
    const lease = await claimUpkeep(db, 'retention', { slot: '2026-01-01', settings: '' }, 60_000)
    if (typeof lease === 'string') throw new Error(lease)
    const remove = (ms: number) => removeVerifications(db, { lease, before: timeFromMs(Date.now() + ms), limit: 2, after: 0 })
    expect(await remove(-60_000)).toMatchObject({ removed: 0, next: null })
    expect(await remove(60_000)).toMatchObject({ removed: 2, next: 0 })
    expect(await remove(60_000)).toMatchObject({ removed: 1, next: null })
    expect(await shown(db)).toEqual([])
  })
})
