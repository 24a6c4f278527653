import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { RejectedStore } from '../../../src/store/inbox/rejected.ts'
import { keepRejectedConnections, rejectedConnectionsSince } from '../../../src/store/inbox/rejected-connections.ts'
import { rejectedSince } from '../../../src/store/operators/alarm-queries.ts'
import { runSql, silentLog, testDatabases } from '../../tools/databases.ts'
import { at } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const time = (minute: number) => at(minute).replace('.000Z', '.000000Z')

describe.each(testDatabases)('rejected connections and deliveries, on $name', ({ open }) => {
  it('rejected connections are summed since a time, with the address that had the most', async () => {
    const { db } = await closedAtEnd(open())
    await keepRejectedConnections(db, { byReason: { slow: 2, many: 3 }, worstAddress: '192.0.2.1' })
    const since = (minutes: number) => rejectedConnectionsSince(db.read, timeFromMs(Date.now() + minutes * 60_000))
    expect([await since(-10), await since(10)]).toEqual([
      { connections: 5, worstAddress: '192.0.2.1' },
      { connections: 0, worstAddress: null },
    ])
  })

  it('rejected deliveries are counted by account and reason since a time, until they are replayed', async () => {
    const { db } = await closedAtEnd(open({ clock: new ManualClock(Date.UTC(2026, 0, 5, 12)) }))
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
    const counted = async (minute: number) => (await rejectedSince(db.read, time(minute))).sort((a, b) => (a.last_at < b.last_at ? -1 : 1))
    const [acme, zenith] = [
      { account: 'acme', reason: 'wrong_signature', count: 2, last_at: time(3) },
      { account: 'zenith', reason: 'wrong_signature', count: 1, last_at: time(4) },
    ]
    expect([await counted(1), await counted(3)]).toEqual([[acme, zenith], [zenith]])
    await runSql(db, sql`update sync_rejected set replayed_at = ${time(9)} where account = 'acme'`)
    expect(await counted(0)).toEqual([zenith])
  })
})
