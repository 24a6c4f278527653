import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { countInbox, findDeliveries, listDeliveries, makeReady } from '../../../src/store/inbox/queries.ts'
import { claimDeliveries, settleDeliveries } from '../../../src/store/inbox/work.ts'
import { runSql, testDatabases } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const RECEIVED = '2026-01-05T12:00:00.000000Z'

describe.each(testDatabases)('deliveries on $name', ({ open }) => {
  it('are counted by account and state, listed by state, and found by id in every account', async () => {
    const { db } = await closedAtEnd(open())
    expect(await countInbox(db.read)).toEqual([])
    const delivery = { receivedAt: RECEIVED, headers: {}, secret: 1, body: Buffer.from('{}') }
    const given = [
      ...['m1', 'm2', 'm3', 'm4'].map((deliveryId) => ({ ...delivery, account: 'acme', deliveryId })),
      ...['m1', 'm5'].map((deliveryId) => ({ ...delivery, account: 'other', deliveryId })),
    ]
    await new InboxAppender(db).append(given)
    const states: [state: string, id: string][] = [
      ['done', 'm1'],
      ['done', 'm2'],
      ['dead', 'm3'],
    ]
    for (const [state, id] of states) await runSql(db, sql`update sync_inbox set state = ${state} where delivery_id = ${id}`)
    const counts = (await countInbox(db.read)).map(({ account, state, count }) => `${account} ${state} ${count}`)
    expect(counts.sort()).toEqual(['acme dead 1', 'acme done 2', 'acme ready 1', 'other done 1', 'other ready 1'])
    const idsOf = async (filter: Parameters<typeof listDeliveries>[1]) =>
      (await listDeliveries(db.read, filter, 50)).map((entry) => `${entry.account} ${entry.delivery_id}`)
    expect(await idsOf({ account: 'acme' })).toEqual(['acme m4', 'acme m3', 'acme m2', 'acme m1'])
    expect(await idsOf({ state: 'dead' })).toEqual(['acme m3'])
    expect(await idsOf({ state: 'ready' })).toEqual(['other m5', 'acme m4'])
    expect(await idsOf({ state: 'ready', after: 6 })).toEqual(['acme m4'])
    expect((await findDeliveries(db.read, 'm1')).map(({ account }) => account)).toEqual(['acme', 'other'])
    expect((await findDeliveries(db.read, '3')).map((entry) => entry.delivery_id)).toEqual(['m3'])
    expect(await findDeliveries(db.read, 'm9')).toEqual([])
  })

  it('become due when they wait for their next attempt, except claimed ones', async () => {
    const { db } = await closedAtEnd(open())
    const delivery = { account: 'acme', receivedAt: RECEIVED, headers: {}, secret: 1, body: Buffer.from('{}') }
    await new InboxAppender(db).append(['waits', 'in hand', 'new'].map((deliveryId) => ({ ...delivery, deliveryId })))
    const [waits, inHand] = await claimDeliveries(db, 2, 60_000)
    if (waits === undefined || inHand === undefined) throw new Error('two were to be claimed')
    const failed = { state: 'ready', submissionId: null, kind: null, error: 'no room', retryInMs: 600_000 } as const
    await db.write('test', (tx) => settleDeliveries(tx, [{ delivery: waits, ...failed }]))
    const ids = (await listDeliveries(db.read, {}, 50)).map((entry) => entry.inbox_id)
    expect(await makeReady(db, ids)).toBe(1)
    const due = await claimDeliveries(db, 50, 60_000)
    expect(due.map(({ deliveryId, attempts }) => [deliveryId, attempts])).toEqual([
      ['waits', 0],
      ['new', 0],
    ])
    await db.write('test', (tx) => settleDeliveries(tx, [{ delivery: inHand, ...failed, state: 'done' }]))
  })
})
