import { describe, expect, it, onTestFinished } from 'vitest'
import { threadMessages } from '../../src/model/entities/thread-messages.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { type ClaimedDelivery, claimDeliveries, settleDeliveries } from '../../src/store/inbox/work.ts'
import { onSqlite, testDatabases } from '../tools/databases.ts'
import { interrupted } from '../tools/meddled.ts'
import { changesOf, rowsOf } from '../tools/mirror.ts'
import { uuid, wireMessage } from '../tools/observations.ts'
import { poison } from '../tools/poison.ts'
import { Rig } from '../tools/poller.ts'

const ID = uuid(9, 1)

function messageOf(n: number): unknown {
  return { type: 'submission.message', submission_id: ID, message: wireMessage(n) }
}

/** The same database, on which another process takes the leases of all deliveries over before the first of such transactions. */
function takenOver(db: Db, before: string): Db {
  let taken = false
  return interrupted(db, async (name) => {
    if (name !== before || taken) return
    taken = true
    await db.write('test-take-over', (tx) => tx.sql.updateTable('sync_inbox').set({ lease_token: 'another process' }).execute())
  })
}

describe.each(testDatabases)('a worker that loses its lease on $name', (database) => {
  it('invariant 14: applies nothing; the process that took the lease over applies it, once', async () => {
    const rig = await Rig.open(database)
    await rig.deliver([messageOf(1), messageOf(2)], { ids: ['msg_1', 'msg_2'] })
    rig.startWorker(takenOver(rig.db, 'inbox-apply'))
    await rig.until('the loss is noticed', () => rig.logged('the lease was lost'))
    expect(await rowsOf(rig.db, threadMessages)).toEqual([])
    expect(await changesOf(rig.db)).toEqual([])
    const rows = await rig.db.read.sql.selectFrom('sync_inbox').select(['state', 'attempts', 'lease_token']).execute()
    expect(rows).toEqual([1, 2].map(() => ({ state: 'ready', attempts: 0, lease_token: 'another process' })))
    // That process dies, and its lease ends.
    await rig.pass(120_000)
    await rig.until('they are applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) === 2)
    expect(await rowsOf(rig.db, threadMessages)).toHaveLength(2)
    const changes = await changesOf(rig.db)
    expect(changes.map((change) => change.seq)).toEqual(changes.map((_, index) => index + 1))
  })

  it('invariant 14: that loses it while setting a delivery back leaves that to the process that took it over, and works on', async () => {
    const rig = await Rig.open(database)
    const cure = await poison(rig.db, 'thread_messages', 'message_id', uuid(2, 1))
    await rig.deliver([messageOf(1)], { ids: ['msg_1'] })
    const worker = rig.startWorker(takenOver(rig.db, 'inbox-reschedule'))
    await rig.until('the loss is noticed', () => rig.logged('the lease was lost'))
    await rig.deliver([messageOf(2)], { ids: ['msg_2'] })
    await rig.until('the next is applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) === 1)
    await worker.stop()
    expect(rig.counted('deliveries_settled_total', { state: 'retry' })).toBe(0)
    await cure()
  })

  it('claims a batch only when there is a place for it', async () => {
    const rig = await Rig.open(database)
    const places = database.name === 'postgres' ? 2 : 1
    const seen: string[] = []
    const hold = Promise.withResolvers<void>()
    onTestFinished(() => hold.resolve())
    const db = interrupted(rig.db, async (name) => {
      if (name !== 'inbox-claim' && name !== 'inbox-apply') return
      seen.push(name)
      if (name === 'inbox-apply') await hold.promise
    })
    await rig.deliver(Array.from({ length: 600 }, (_, n) => messageOf(n)))
    rig.startWorker(db)
    const many = (name: string) => seen.filter((one) => one === name).length
    await rig.until('every place is taken', () => many('inbox-apply') === places)
    // Long enough for a claim too many: the worker would have made it before these.
    await rig.deliver([messageOf(600)])
    await rowsOf(rig.db, threadMessages)
    expect(many('inbox-claim')).toBe(places)
    hold.resolve()
    await rig.until('all are applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) === 601)
  })

  it('two workers on one inbox apply every delivery once', async () => {
    const rig = await Rig.open(database)
    const bodies = Array.from({ length: 400 }, (_, n) => messageOf(n))
    await rig.deliver(bodies)
    rig.startWorker()
    rig.startWorker()
    await rig.until('all are applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) >= bodies.length)
    expect(rig.counted('deliveries_settled_total')).toBe(bodies.length)
    expect(await rowsOf(rig.db, threadMessages)).toHaveLength(bodies.length)
    const inserted = (await changesOf(rig.db)).filter((change) => change.entity === 'thread_messages')
    expect(inserted).toHaveLength(bodies.length)
  })
})

describe.each(onSqlite)('a worker that starts on $name, where it is the only one', (database) => {
  it('takes claims of a killed process immediately, but not deliveries that wait for another attempt', async () => {
    const rig = await Rig.open(database)
    await rig.deliver([messageOf(1), messageOf(2)], { ids: ['msg_1', 'msg_2'] })
    const [, waits] = await claimDeliveries(rig.db, 2, 600_000)
    await rig.db.write('test-wait', (tx) =>
      settleDeliveries(tx, [
        { delivery: waits as ClaimedDelivery, state: 'ready', submissionId: null, kind: null, error: 'x', retryInMs: 600_000 },
      ]),
    )
    rig.startWorker()
    await rig.until('it is applied', () => rig.counted('deliveries_settled_total', { state: 'done' }) === 1)
    expect(await rowsOf(rig.db, threadMessages)).toHaveLength(1)
  })
})
