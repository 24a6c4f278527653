import { describe, expect, it } from 'vitest'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { onSqlite } from '../tools/databases.ts'
import { changesOf, rowsOf } from '../tools/mirror.ts'
import { DAY, HOUR, policy, Rig } from '../tools/poller.ts'

const ACCOUNT = 'default'

async function filled(rig: Rig, events: number): Promise<string> {
  const id = rig.sandbox.addSubmission(ACCOUNT)
  rig.sandbox.fillFeeds(ACCOUNT, id, { events, messages: 0 })
  await rig.track([id])
  return id
}

async function readOnce(rig: Rig): Promise<{ id: string; cursor: string | null }> {
  const id = await filled(rig, 150)
  const poller = await rig.poll()
  await poller.stop()
  return { id, cursor: (await rig.read(id, 'events')).cursor }
}

function sent(rig: Rig, id: string, from = 0): (string | null)[] {
  return rig
    .asked('events', id)
    .slice(from)
    .map((query) => query.get('since'))
}

async function countEvents(rig: Rig): Promise<number> {
  return (await rowsOf(rig.db, marketEvents)).length
}

describe.each(onSqlite)('cursors on $name', (database) => {
  it.each([400, 404, 410, 422])(
    'trap 17: a cursor refused by %i is kept and replaced by reading the feed once from the beginning',
    async (status) => {
      const rig = await Rig.open(database, { sandbox: { unshown: { invalid_cursor: status } } })
      const { id, cursor: old } = await readOnce(rig)
      rig.sandbox.addEvents(
        ACCOUNT,
        id,
        Array.from({ length: 100 }, () => ({ type: 'status_changed' })),
      )
      rig.sandbox.faults.add({ kind: 'invalid_cursor', operation: 'events', count: 1 })
      const before = rig.asked('events', id).length
      await rig.pass(policy.poll.maxMs)
      await rig.poll()
      const row = await rig.read(id, 'events')
      expect(sent(rig, id, before)).toEqual([old, null, old, row.cursor])
      expect(row).toMatchObject({ refused_cursor: old, rank: 1, failures: 0, error: null, not_found: 0 })
      expect(row.cursor).not.toBe(old)
      expect(rig.counted('invalid_cursors_total', { read: 'events' })).toBe(1)
      expect(rig.counted('full_reads_total', { read: 'events' })).toBe(2)
      expect(await countEvents(rig)).toBe(250)
    },
  )

  it('trap 17: a feed that answers 404 with and without its cursor keeps the cursor, and counts as gone', async () => {
    const rig = await Rig.open(database)
    const { id, cursor } = await readOnce(rig)
    const fault = { kind: 'status', status: 404, operation: 'events' } as const
    rig.sandbox.faults.add(fault)
    const before = rig.asked('events', id).length
    await rig.pass(policy.poll.maxMs)
    const second = rig.startPoller()
    await rig.until('it was not found', async () => (await rig.read(id, 'events')).not_found > 0)
    await second.stop()
    expect(sent(rig, id, before)).toEqual([cursor, null])
    expect(await rig.read(id, 'events')).toMatchObject({ cursor, refused_cursor: null })
    expect(rig.counted('invalid_cursors_total')).toBe(0)
  })

  it('trap 17: a second failure raises an alarm and is retried later, not a third time', async () => {
    const rig = await Rig.open(database)
    const { id, cursor } = await readOnce(rig)
    rig.sandbox.faults.add({ kind: 'invalid_cursor', operation: 'events' })
    const before = rig.asked('events', id).length
    await rig.pass(policy.poll.maxMs)
    const second = rig.startPoller()
    await rig.until('it failed', async () => (await rig.read(id, 'events')).failures > 0)
    await second.stop()
    expect(sent(rig, id, before)).toEqual([cursor, null, cursor])
    expect(await rig.read(id, 'events')).toMatchObject({ refused_cursor: cursor, failures: 1, lease_token: null })
    expect(rig.counted('feed_reads_total', { read: 'events', outcome: 'rejected' })).toBe(1)
    expect(rig.logged('events could not be read and will be tried again')).toBe(true)
    rig.sandbox.faults.set([])
    await rig.pass(HOUR)
    await rig.poll()
    expect(await rig.read(id, 'events')).toMatchObject({ cursor, rank: 1, failures: 0, error: null })
    expect(await countEvents(rig)).toBe(150)
  })

  it('invariant 6: a cursor refused within a full re-read leaves the stored one', async () => {
    const rig = await Rig.open(database)
    const { id, cursor } = await readOnce(rig)
    rig.sandbox.faults.add({ kind: 'invalid_cursor', operation: 'events', count: 2 })
    const before = rig.asked('events', id).length
    await rig.pass(2 * DAY)
    const second = rig.startPoller()
    await rig.until('it failed', async () => (await rig.read(id, 'events')).failures > 0)
    await second.stop()
    expect(sent(rig, id, before)).toEqual([null, cursor, null, cursor])
    expect(await rig.read(id, 'events')).toMatchObject({ cursor, refused_cursor: null, failures: 1 })
  })

  it('trap 17: a refused credential does not affect the cursor', async () => {
    const rig = await Rig.open(database)
    const { id, cursor } = await readOnce(rig)
    rig.sandbox.faults.add({ kind: 'status', status: 403, operation: 'events' })
    const before = rig.asked('events', id).length
    await rig.pass(policy.poll.maxMs)
    const second = rig.startPoller()
    await rig.until('it failed', async () => (await rig.read(id, 'events')).failures > 0)
    await second.stop()
    expect(new Set(sent(rig, id, before))).toEqual(new Set([cursor]))
    expect(rig.counted('invalid_cursors_total')).toBe(0)
    expect(await rig.read(id, 'events')).toMatchObject({ cursor, refused_cursor: null, failures: 1 })
  })

  it('trap 17: a refused request without a cursor does not affect the cursor', async () => {
    const rig = await Rig.open(database)
    const id = await filled(rig, 10)
    rig.sandbox.faults.add({ kind: 'status', status: 409, operation: 'events' })
    const poller = rig.startPoller()
    await rig.until('it failed', async () => (await rig.read(id, 'events')).failures > 0)
    await poller.stop()
    expect(sent(rig, id)).toEqual([null])
    expect(rig.counted('invalid_cursors_total')).toBe(0)
    expect(await rig.read(id, 'events')).toMatchObject({ refused_cursor: null, failures: 1 })
  })

  it('invariants 6 and 14: a feed read that lost its lease writes neither rows nor a cursor', async () => {
    const rig = await Rig.open(database)
    const id = await filled(rig, 250)
    rig.sandbox.faults.add({ kind: 'slow', operation: 'events', ms: 2_000 })
    rig.startPoller()
    await rig.until('the first page is there', async () => (await rig.read(id, 'events')).cursor !== null)
    const first = (await rig.read(id, 'events')).cursor
    await rig.db.write('test-take-over', (tx) =>
      tx.sql
        .updateTable('sync_reads')
        .set((eb) => ({ lease_token: 'another process', issued_no: eb('issued_no', '+', 1) }))
        .where('read', '=', 'events')
        .execute(),
    )
    await rig.until('the feed read noticed it', () => rig.logged('the lease was lost'))
    expect(await countEvents(rig)).toBe(100)
    expect((await changesOf(rig.db)).filter((change) => change.entity === 'market_events')).toHaveLength(100)
    expect(await rig.read(id, 'events')).toMatchObject({ cursor: first, lease_token: 'another process', last_read_at: null })
    // The other process dies, its lease ends, and the feed read continues.
    rig.sandbox.faults.set([])
    const resumed = () => sent(rig, id).filter((cursor) => cursor === first).length
    expect(resumed()).toBe(1)
    await rig.db.write('test-lease-ends', (tx) => tx.sql.updateTable('sync_reads').set({ due_at: '2026-01-01T00:00:00.000000Z' }).execute())
    await rig.rest()
    expect(await countEvents(rig)).toBe(250)
    expect(resumed()).toBe(2)
    expect(await rig.read(id, 'events')).toMatchObject({ lease_token: null, rank: 1 })
  })
})
