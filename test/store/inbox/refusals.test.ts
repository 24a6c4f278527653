import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { keepRefusedConnections, refusedConnectionsSince } from '../../../src/store/inbox/refused-connections.ts'
import { RejectedStore } from '../../../src/store/inbox/rejected.ts'
import { rejectedSince } from '../../../src/store/operators/alarm-queries.ts'
import { silentLog, testDatabases } from '../../tools/databases.ts'
import { at } from '../../tools/facts.ts'

const time = (minute: number) => at(minute).replace('.000Z', '.000000Z')

describe.each(testDatabases)('who came and was refused, and by which credentials is read, on $name', ({ open }) => {
  it('refused connections are added up since a time, with an address that had the most', async () => {
    const { db, close } = await open()
    onTestFinished(close)
    await keepRefusedConnections(db, { byReason: { slow: 2, many: 3 }, worstAddress: '192.0.2.1' })
    const since = (minutes: number) => refusedConnectionsSince(db.read, timeFromMs(Date.now() + minutes * 60_000))
    expect([await since(-10), await since(10)]).toEqual([
      { connections: 5, worstAddress: '192.0.2.1' },
      { connections: 0, worstAddress: null },
    ])
  })

  it('refused deliveries are counted by account and reason since a time, until they are replayed', async () => {
    const { db, close } = await open({ clock: new ManualClock(Date.UTC(2026, 0, 5, 12)) })
    onTestFinished(close)
    const store = new RejectedStore(db, silentLog)
    for (const [minute, account, reason] of [
      [1, 'acme', 'stale_timestamp'],
      [2, 'acme', 'wrong_signature'],
      [3, 'acme', 'wrong_signature'],
      [4, 'zenith', 'wrong_signature'],
      [5, null, 'unknown_account'],
    ] as const)
      store.keep({ account, path: '/webhooks', receivedAt: time(minute), address: '192.0.2.1', reason, headers: {}, body: null })
    await store.settled()
    const counted = async (minute: number) => (await rejectedSince(db.read, time(minute))).sort((a, b) => (a.lastAt < b.lastAt ? -1 : 1))
    const [acme, zenith] = [
      { account: 'acme', reason: 'wrong_signature', count: 2, lastAt: time(3) },
      { account: 'zenith', reason: 'wrong_signature', count: 1, lastAt: time(4) },
    ]
    expect([await counted(1), await counted(3)]).toEqual([[acme, zenith], [zenith]])
    await db.write('test', (tx) =>
      tx.sql
        .updateTable('sync_rejected')
        .set({ replayed_at: time(9) })
        .where('account', '=', 'acme')
        .execute(),
    )
    expect(await counted(0)).toEqual([zenith])
  })
})
