import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { LeaseLostError } from '../../../src/base/errors.ts'
import { accountTotals } from '../../../src/store/completeness/account-totals.ts'
import { accountCompleteness } from '../../../src/store/completeness/completeness.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { cachedTotals, cacheTotals, isSmallMirror, noTotals } from '../../../src/store/upkeep/cached-totals.ts'
import { readHealth } from '../../../src/store/upkeep/health.ts'
import { claimUpkeep, type UpkeepLease } from '../../../src/store/upkeep/upkeep.ts'
import { runSql, testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { byPoll, byWebhook, observedEvent, observedMessage, uuid, wireEvent, wireMessage } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const [ONE, TWO] = [uuid(9, 1), uuid(9, 2)]

describe.each(testDatabases)('sums over everything on $name', (database) => {
  async function opened(): Promise<Db> {
    const { db } = await closedAtEnd(database.open())
    await ensureAccounts(db, ['acme', 'zenith'])
    return db
  }

  async function leaseOf(db: Db): Promise<UpkeepLease> {
    const lease = await claimUpkeep(db, 'sums', { slot: '2026-01-05T12:00', settings: '' }, 60_000)
    if (typeof lease === 'string') throw new Error(lease)
    return lease
  }

  it('count everything of each account, and are cached until replaced', async () => {
    const db = await opened()
    await applyAll(db, [
      observedEvent('acme', ONE, wireEvent(1), byWebhook),
      observedEvent('acme', TWO, wireEvent(2), byPoll),
      observedMessage('acme', TWO, wireMessage(3), byPoll),
    ])
    const received = { account: 'acme', receivedAt: '2026-01-05T12:00:00.000000Z', headers: {}, secret: 1 } as const
    await new InboxAppender(db).append([{ ...received, deliveryId: 'a', body: Buffer.from('{}') }])
    await runSql(db, sql`update submissions set unreachable_since = tracked_at where submission_id = ${TWO}`)

    const sums = await accountTotals(db.read, ['acme', 'zenith', 'nobody'])
    expect(sums).toMatchObject({
      acme: {
        submissions: 2,
        unreachable: 1,
        never_read: 1,
        inbox: { ready: 1, done: 0, aside: 0, dead: 0 },
        conflicts: 0,
        documents: { known: 1, stored: 0 },
        completeness: { account: 'acme', submissions: 2, never_read: 2 },
      },
      zenith: { submissions: 0, completeness: { submissions: 0 } },
      nobody: { submissions: 0, completeness: null },
    })
    expect(sums['acme']?.tables).toContainEqual({ table: 'market_events', read: 'events', rows: 2 })
    expect(sums['acme']?.coverage.submissions).toContainEqual(expect.objectContaining({ read: 'events', total: 2, never: 2 }))
    expect(Object.keys(sums['nobody'] ?? {}).sort()).toEqual(Object.keys(noTotals).sort())

    expect(await cachedTotals(db.read)).toBeNull()
    const lease = await leaseOf(db)
    await cacheTotals(db, lease, sums)
    const kept = await cachedTotals(db.read)
    expect(kept?.sums).toEqual(JSON.parse(JSON.stringify(sums)))
    expect(kept?.sums['acme']?.completeness).toMatchObject({ submissions: (await accountCompleteness(db.read, 'acme'))?.submissions })
    await cacheTotals(db, lease, { zenith: noTotals })
    expect((await cachedTotals(db.read))?.sums).toEqual({ zenith: noTotals })
    expect((await cachedTotals(db.read))?.countedAt.localeCompare(kept?.countedAt ?? '')).toBeGreaterThanOrEqual(0)
  })

  it('are not cached by a process whose run another has taken over', async () => {
    const db = await opened()
    const lease = await leaseOf(db)
    await runSql(db, sql`update sync_upkeep set lease_token = 'other'`)
    await expect(cacheTotals(db, lease, {})).rejects.toThrow(LeaseLostError)
    expect(await cachedTotals(db.read)).toBeNull()
  })

  it('say nothing when their row was damaged', async () => {
    const db = await opened()
    for (const sums of ['{', '[]', 'null']) {
      await runSql(
        db,
        sql`insert into sync_sums (id, counted_at, sums) values (1, '2026-01-05T12:00:00.000000Z', ${sums})
          on conflict (id) do update set sums = excluded.sums`,
      )
      expect(await cachedTotals(db.read)).toBeNull()
    }
  })

  it('the verdict uses their counts of submissions; never-read ones are counted up to 1,000', async () => {
    const db = await opened()
    await applyAll(db, [observedEvent('acme', ONE, wireEvent(1), byWebhook)])
    expect((await readHealth(db.read, null)).accounts).toMatchObject([
      { account: 'acme', submissions: null, unreachable: null, never_read: 1 },
      { account: 'zenith', submissions: null, unreachable: null, never_read: 0 },
    ])
    const kept = { acme: { ...noTotals, submissions: 100_000, unreachable: 3, never_read: 50_000 } }
    expect((await readHealth(db.read, kept)).accounts).toMatchObject([
      { account: 'acme', submissions: 100_000, unreachable: 3, never_read: 1 },
      { account: 'zenith', submissions: null, never_read: 0 },
    ])
  })

  it('a mirror is small until a number of changes was made, also if they were removed', async () => {
    const db = await opened()
    await applyAll(db, [observedEvent('acme', ONE, wireEvent(1), byWebhook)])
    const { last_seq } = await db.read.sql.selectFrom('mirror_info').select('last_seq').executeTakeFirstOrThrow()
    expect(await isSmallMirror(db.read)).toBe(true)
    expect(await isSmallMirror(db.read, last_seq)).toBe(true)
    expect(await isSmallMirror(db.read, last_seq - 1)).toBe(false)
  })
})
