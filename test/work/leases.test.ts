import { describe, expect, it } from 'vitest'
import { threadMessages } from '../../src/model/entities.ts'
import type { Db } from '../../src/store/db.ts'
import { testDatabases } from '../tools/databases.ts'
import { uuid, wireMessage } from '../tools/facts.ts'
import { changesOf, rowsOf } from '../tools/mirror.ts'
import { Rig } from '../tools/poller.ts'

const ID = uuid(9, 1)

function messageOf(n: number): unknown {
  return { type: 'submission.message', submission_id: ID, message: wireMessage(n) }
}

/** The same database, on which another process takes the leases of all deliveries over before the first of them are applied. */
function takenOver(db: Db): Db {
  let taken = false
  return {
    kind: db.kind,
    clock: db.clock,
    signals: db.signals,
    read: db.read,
    async write(name, work, options) {
      if (name === 'inbox-apply' && !taken) {
        taken = true
        await db.write('test-take-over', (tx) => tx.sql.updateTable('sync_inbox').set({ lease_token: 'another process' }).execute())
      }
      return db.write(name, work, options)
    },
    listen: (signal) => db.listen(signal),
    close: () => db.close(),
  }
}

describe.each(testDatabases)('a worker that loses its lease on $name', (database) => {
  it('invariant 14: applies nothing; whoever took the lease over applies it, once', async () => {
    const rig = await Rig.open(database)
    await rig.deliver([messageOf(1), messageOf(2)], { ids: ['msg_1', 'msg_2'] })
    rig.startWorker(takenOver(rig.db))
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
