import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LeaseLostError } from '../../../src/base/errors.ts'
import { accountCompleteness } from '../../../src/store/completeness/ledger.ts'
import { sumUp } from '../../../src/store/completeness/sum-up.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { readHealth } from '../../../src/store/upkeep/health.ts'
import { isLittle, keepSums, keptSums, noSums } from '../../../src/store/upkeep/kept-sums.ts'
import { claimUpkeep, type UpkeepLease } from '../../../src/store/upkeep/upkeep.ts'
import { testDatabases } from '../../tools/databases.ts'
import { byPoll, byWebhook, eventFact, messageFact, uuid, wireEvent, wireMessage } from '../../tools/facts.ts'
import { applyAll } from '../../tools/mirror.ts'

const [ONE, TWO] = [uuid(9, 1), uuid(9, 2)]

describe.each(testDatabases)('sums over everything on $name', (database) => {
  async function opened(): Promise<Db> {
    const { db, close } = await database.open()
    onTestFinished(close)
    await ensureAccounts(db, ['acme', 'zenith'])
    return db
  }

  async function leaseOf(db: Db): Promise<UpkeepLease> {
    const lease = await claimUpkeep(db, 'sums', { slot: '2026-01-05T12:00', settings: '' }, 60_000)
    if (typeof lease === 'string') throw new Error(lease)
    return lease
  }

  it('count what there is of each account, and are kept as they were counted until others take their place', async () => {
    const db = await opened()
    await applyAll(db, [
      eventFact('acme', ONE, wireEvent(1), byWebhook),
      eventFact('acme', TWO, wireEvent(2), byPoll),
      messageFact('acme', TWO, wireMessage(3), byPoll),
    ])
    const received = { account: 'acme', receivedAt: '2026-01-05T12:00:00.000000Z', headers: {}, secret: 1 } as const
    await new InboxAppender(db).append([{ ...received, deliveryId: 'a', body: Buffer.from('{}') }])
    await db.write('test', (tx) => sql`update submissions set unreachable_since = tracked_at where submission_id = ${TWO}`.execute(tx.sql))

    const sums = await sumUp(db.read, ['acme', 'zenith', 'nobody'])
    expect(sums).toMatchObject({
      acme: {
        submissions: 2,
        unreachable: 1,
        neverRead: 1,
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
    expect(Object.keys(sums['nobody'] ?? {}).sort()).toEqual(Object.keys(noSums).sort())

    expect(await keptSums(db.read)).toBeNull()
    const lease = await leaseOf(db)
    await keepSums(db, lease, sums)
    const kept = await keptSums(db.read)
    expect(kept?.sums).toEqual(JSON.parse(JSON.stringify(sums)))
    expect(kept?.sums['acme']?.completeness).toMatchObject({ submissions: (await accountCompleteness(db.read, 'acme'))?.submissions })
    await keepSums(db, lease, { zenith: noSums })
    expect((await keptSums(db.read))?.sums).toEqual({ zenith: noSums })
    expect((await keptSums(db.read))?.countedAt.localeCompare(kept?.countedAt ?? '')).toBeGreaterThanOrEqual(0)
  })

  it('are not kept by a process whose turn another has taken over', async () => {
    const db = await opened()
    const lease = await leaseOf(db)
    await db.write('test', (tx) => sql`update sync_upkeep set lease_token = 'other'`.execute(tx.sql))
    await expect(keepSums(db, lease, {})).rejects.toThrow(LeaseLostError)
    expect(await keptSums(db.read)).toBeNull()
  })

  it('say nothing when their row was damaged', async () => {
    const db = await opened()
    for (const sums of ['{', '[]', 'null']) {
      await db.write('test', (tx) =>
        sql`insert into sync_sums (id, counted_at, sums) values (1, '2026-01-05T12:00:00.000000Z', ${sums})
          on conflict (id) do update set sums = excluded.sums`.execute(tx.sql),
      )
      expect(await keptSums(db.read)).toBeNull()
    }
  })

  it('the verdict takes counts of submissions from them; what was never read is counted up to a thousand all the same', async () => {
    const db = await opened()
    await applyAll(db, [eventFact('acme', ONE, wireEvent(1), byWebhook)])
    expect((await readHealth(db.read, null)).accounts).toMatchObject([
      { account: 'acme', submissions: null, unreachable: null, neverRead: 1 },
      { account: 'zenith', submissions: null, unreachable: null, neverRead: 0 },
    ])
    const kept = { acme: { ...noSums, submissions: 100_000, unreachable: 3, neverRead: 50_000 } }
    expect((await readHealth(db.read, kept)).accounts).toMatchObject([
      { account: 'acme', submissions: 100_000, unreachable: 3, neverRead: 1 },
      { account: 'zenith', submissions: null, neverRead: 0 },
    ])
  })

  it('a mirror is little until so many changes were made, whatever was removed since', async () => {
    const db = await opened()
    await applyAll(db, [eventFact('acme', ONE, wireEvent(1), byWebhook)])
    const { last_seq } = await db.read.sql.selectFrom('mirror_info').select('last_seq').executeTakeFirstOrThrow()
    expect(await isLittle(db.read)).toBe(true)
    expect(await isLittle(db.read, last_seq)).toBe(true)
    expect(await isLittle(db.read, last_seq - 1)).toBe(false)
  })
})
