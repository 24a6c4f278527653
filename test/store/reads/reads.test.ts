import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { LeaseLostError } from '../../../src/base/errors.ts'
import { readKinds } from '../../../src/model/reads.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { claimSweep, endSweep, resetNotFound, sweepStep } from '../../../src/store/reads/account-reads.ts'
import { ensureAccounts, requestSweep } from '../../../src/store/reads/accounts.ts'
import {
  claimedReads,
  claimReads,
  type ReadClaim,
  type ReadSettlement,
  recordPage,
  refuseCursor,
  releaseRead,
  settleRead,
} from '../../../src/store/reads/claims.ts'
import { addReadRequests, addReads, advanceAppliedNumber, rank, requestFullRead, takeReadNumber } from '../../../src/store/reads/reads.ts'
import type { ReadsTable } from '../../../src/store/schema/reads.ts'
import type { Columns } from '../../../src/store/schema/tables.ts'
import { oldestDue } from '../../../src/store/upkeep/gauges.ts'
import { openAgain, type TestDatabase, testDatabases } from '../../tools/databases.ts'
import { uuid } from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const ACCOUNT = 'acme'
const LEASE_MS = 60_000
const place = { account: ACCOUNT, submissionId: uuid(9, 1) }
const settlement: ReadSettlement = {
  rank: rank.routine,
  dueInMs: 600_000,
  failures: 0,
  notFound: 0,
  stalledFeedReads: 0,
  error: null,
  complete: true,
  changed: false,
}

async function openWith(database: TestDatabase, submissions = 1): Promise<Db> {
  const opened = await closedAtEnd(database.open())
  const { db } = opened
  const places = Array.from({ length: submissions }, (_, n) => ({ account: ACCOUNT, submissionId: uuid(9, n + 1) }))
  await db.write('test-add', (tx) => addReads(tx, places, timeFromMs(Date.now() - 1_000), false))
  return db
}

async function claimEvents(db: Db, leaseMs = LEASE_MS): Promise<ReadClaim> {
  const [claim] = await claimReads(db, { account: ACCOUNT, submissionIds: [place.submissionId], read: 'events', limit: 1, leaseMs })
  if (!claim) throw new Error('nothing to claim')
  return claim
}

function settle(db: Db, claim: ReadClaim, over: Partial<ReadSettlement> = {}): Promise<void> {
  return db.write('test-settle', (tx) => settleRead(tx, claim, { ...settlement, ...over }))
}

async function row(db: Db, read: ReadsTable['read'] = 'events'): Promise<ReadsTable> {
  const query = db.read.sql.selectFrom('sync_reads').selectAll().where('submission_id', '=', place.submissionId)
  return query.where('read', '=', read).executeTakeFirstOrThrow()
}

function wake(db: Db): Promise<void> {
  return db.write('test-wake', (tx) => addReadRequests(tx, [{ ...place, read: 'events' }]))
}

describe.each(testDatabases)('claims of reads on $name', (database) => {
  it('a read is claimed once, longest due first, by rank', async () => {
    const db = await openWith(database, 20)
    expect(await claimReads(db, { account: 'another', rank: rank.routine, limit: 5, leaseMs: LEASE_MS })).toEqual([])
    const claims = await Promise.all(
      Array.from({ length: 12 }, () => claimReads(db, { account: ACCOUNT, rank: rank.routine, limit: 5, leaseMs: LEASE_MS })),
    )
    const keys = claims.flat().map((claim) => `${claim.submissionId} ${claim.read}`)
    expect(new Set(keys).size).toBe(60)
    expect(claims.map((claim) => claim.length)).toEqual(Array(12).fill(5))
    expect(await claimReads(db, { account: ACCOUNT, rank: rank.live, limit: 5, leaseMs: LEASE_MS })).toEqual([])
  })

  it('a claim whose lease ended is claimed again, with a greater number; the first can write nothing more', async () => {
    const db = await openWith(database)
    const first = await claimEvents(db, 0)
    const second = await claimEvents(db)
    expect(second.readNo).toBeGreaterThan(first.readNo)
    await db.write('test-mark', (tx) => recordPage(tx, second, { cursor: 'of the second', leaseMs: LEASE_MS }))
    const attempts = [
      () => db.write('test-mark', (tx) => recordPage(tx, first, { cursor: 'of the first', leaseMs: LEASE_MS })),
      () => db.write('test-refuse', (tx) => refuseCursor(tx, first, LEASE_MS)),
      () => settle(db, first, { cursor: 'of the first' }),
    ]
    for (const attempt of attempts) await expect(attempt()).rejects.toThrow(LeaseLostError)
    await releaseRead(db, first)
    expect(await row(db)).toMatchObject({ cursor: 'of the second', lease_token: second.leaseToken })
    await settle(db, second)
    for (const attempt of attempts) await expect(attempt()).rejects.toThrow(LeaseLostError)
    expect(await row(db)).toMatchObject({ cursor: 'of the second', lease_token: null })
  })

  it('a read that is not made gets older, whether it is claimed, released or claimed again; a page or an end makes it younger', async () => {
    const db = await openWith(database)
    const oldest = async () => (await oldestDue(db.read, ACCOUNT)).routine
    const before = await oldest()
    const due = () => claimReads(db, { account: ACCOUNT, rank: rank.routine, limit: 10, leaseMs: LEASE_MS })
    for (let claims = 0; claims < 3; claims++) {
      const claimed = await due()
      expect(claimed).toHaveLength(3)
      expect(await oldest(), 'claimed').toEqual(before)
      for (const claim of claimed) await releaseRead(db, claim)
      expect(await oldest(), 'released').toEqual(before)
    }
    const [first, ...others] = await due()
    if (!first) throw new Error('nothing to claim')
    for (const claim of others) await settle(db, claim)
    expect(await oldest()).toEqual(before)
    await db.write('test-mark', (tx) => recordPage(tx, first, { leaseMs: LEASE_MS }))
    const paged = await oldest()
    expect(String(paged) > String(before)).toBe(true)
    await settle(db, first)
    expect(String(await oldest()) > String(paged)).toBe(true)
  })

  it('claims are released immediately for a single poller, except those of another account', async () => {
    const db = await openWith(database)
    const other = { account: 'another', submissionId: uuid(9, 2) }
    await db.write('test-add', (tx) => addReads(tx, [other], timeFromMs(Date.now() - 1_000), false))
    const due = (account: string) => claimReads(db, { account, rank: rank.routine, limit: 10, leaseMs: LEASE_MS })
    for (const account of [ACCOUNT, other.account]) expect(await due(account)).toHaveLength(3)
    await db.write('test', (tx) => claimedReads.releaseAll(tx, { account: ACCOUNT }))
    expect(await due(ACCOUNT)).toHaveLength(3)
    expect(await due(other.account)).toEqual([])
  })

  it('invariant 14: a settle that matches no row rolls its whole transaction back', async () => {
    const db = await openWith(database)
    const first = await claimEvents(db, 0)
    await claimEvents(db)
    const failing = db.write('test-settle', async (tx) => {
      await advanceAppliedNumber(tx, { ...place, read: 'requirements' }, 7)
      await settleRead(tx, first, settlement)
    })
    await expect(failing).rejects.toThrow(LeaseLostError)
    expect((await row(db, 'requirements')).applied_no).toBe(0)
  })

  it('invariant 8: a settlement without a cursor leaves the stored one', async () => {
    const db = await openWith(database)
    await settle(db, await claimEvents(db), { cursor: 'one' })
    await settle(db, await claimEvents(db))
    expect((await row(db)).cursor).toBe('one')
  })

  it('trap 72: an error with NUL in it is kept like any other', async () => {
    const db = await openWith(database)
    await settle(db, await claimEvents(db), { error: 'it said \u0000 and \ud800', complete: false })
    expect((await row(db)).error).toBe('it said \ufffd and \ufffd')
  })

  it('trap 81: a state read is applied only if it was numbered after the one applied last', async () => {
    const db = await openWith(database)
    const take = (no: number) => db.write('test-take', (tx) => advanceAppliedNumber(tx, { ...place, read: 'requirements' }, no))
    expect([await take(2), await take(1), await take(2), await take(3)]).toEqual([true, false, false, true])
  })

  it('invariant 6: a number is greater than all applied and issued ones, even if the counter was damaged', async () => {
    const db = await openWith(database)
    const damaged = (columns: object) =>
      db.write('test', (tx) =>
        tx.sql
          .updateTable('sync_reads')
          .set({ issued_no: 0, applied_no: 0, cursor_no: 0, ...columns })
          .execute(),
      )
    await damaged({ cursor_no: 70 })
    const claim = await claimEvents(db)
    expect(claim.readNo).toBe(71)
    await settle(db, claim, { cursor: 'of the next read' })
    expect(await row(db)).toMatchObject({ cursor: 'of the next read', issued_no: 71, cursor_no: 71 })
    await damaged({ applied_no: 80 })
    expect(await takeReadNumber(db, { ...place, read: 'requirements' })).toBe(81)
    expect(await takeReadNumber(db, { ...place, read: 'requirements' })).toBe(82)
  })
})

describe.each(testDatabases)('read requests and full re-reads on $name', (database) => {
  it('a read request makes a waiting read due soon; one that is due sooner stays so', async () => {
    const db = await openWith(database)
    await settle(db, await claimEvents(db))
    await wake(db)
    const requested = await row(db)
    expect(requested).toMatchObject({ rank: rank.live, request_no: 1 })
    expect(Date.parse(requested.due_at ?? '')).toBeLessThanOrEqual(Date.now() + 1_000)
    await wake(db)
    expect((await row(db)).due_at).toBe(requested.due_at)
  })

  it('a read request during a read makes it due soon after, if it was read to its end', async () => {
    const db = await openWith(database)
    const claim = await claimEvents(db)
    await wake(db)
    expect(await row(db)).toMatchObject({ lease_token: claim.leaseToken, rank: rank.routine })
    await settle(db, claim)
    expect(await row(db)).toMatchObject({ rank: rank.live })
    expect(Date.parse((await row(db)).due_at ?? '')).toBeLessThanOrEqual(Date.now() + 1_000)
    for (const over of [{ failures: 3 }, { notFound: 1, failures: 1 }, { notFound: 1, stalledFeedReads: 1 }, { stalledFeedReads: 1 }, {}]) {
      const again = await claimEvents(db)
      await wake(db)
      await settle(db, again, { ...over, rank: rank.failing, complete: false })
      expect(await row(db), JSON.stringify(over)).toMatchObject({ rank: rank.failing })
      expect(Date.parse((await row(db)).due_at ?? '')).toBeGreaterThan(Date.now() + 300_000)
      await wake(db)
      expect(Date.parse((await row(db)).due_at ?? ''), JSON.stringify(over)).toBeGreaterThan(
        Date.now() + (over.stalledFeedReads || over.failures ? 300_000 : 0),
      )
    }
  })

  it('a read request makes a read that found nothing due soon, during a read and after; what is due sooner stays so', async () => {
    const db = await openWith(database)
    const missed = { notFound: 3, rank: rank.failing, complete: false }
    const inMs = async () => Date.parse((await row(db)).due_at ?? '') - Date.now()
    await settle(db, await claimEvents(db), missed)
    expect(await inMs()).toBeGreaterThan(300_000)
    await wake(db)
    expect(await row(db)).toMatchObject({ rank: rank.failing, not_found: 3 })
    expect(await inMs()).toBeGreaterThan(60_000)
    expect(await inMs()).toBeLessThanOrEqual(120_000)
    const claim = await claimEvents(db)
    await wake(db)
    await settle(db, claim, missed)
    expect(await row(db)).toMatchObject({ rank: rank.failing, not_found: 3 })
    expect(await inMs()).toBeGreaterThan(60_000)
    expect(await inMs()).toBeLessThanOrEqual(120_000)
    await settle(db, await claimEvents(db), { ...missed, dueInMs: 30_000 })
    await wake(db)
    expect(await inMs()).toBeLessThanOrEqual(30_000)
  })

  it('a read request during a read counts as activity, which the end of the read keeps', async () => {
    const db = await openWith(database)
    const claim = await claimEvents(db)
    await wake(db)
    const { active_at } = await row(db)
    await settle(db, claim, { activeAt: '2026-01-01T00:00:00.000000Z' })
    expect((await row(db)).active_at).toBe(active_at)
    await settle(db, await claimEvents(db), { activeAt: '2026-01-01T00:00:00.000000Z' })
    expect((await row(db)).active_at).toBe('2026-01-01T00:00:00.000000Z')
  })

  it('a full re-read runs when it is due, however much later the next poll would be', async () => {
    const db = await openWith(database)
    await settle(db, await claimEvents(db), { fullReadDueInMs: 60_000 })
    const first = await row(db)
    expect(Date.parse(first.due_at ?? '')).toBeLessThanOrEqual(Date.parse(first.full_read_due_at ?? '') + 1)
    await settle(db, await claimEvents(db))
    expect(await row(db)).toMatchObject({ due_at: first.full_read_due_at, full_read_due_at: first.full_read_due_at })
  })

  it('a requested full re-read runs at the earliest a minute after the last, and is requested once', async () => {
    const db = await openWith(database)
    const ask = () => db.write('test-ask', (tx) => requestFullRead(tx, [place]))
    await ask()
    expect((await row(db)).full_read_due_at, 'the first feed read is one').toBeNull()
    await settle(db, await claimEvents(db), { fullReadDueInMs: 86_400_000 })
    const before = Date.parse((await row(db)).last_full_read_at ?? '')
    await ask()
    const asked = await row(db)
    expect(Date.parse(asked.full_read_due_at ?? '')).toBe(before + 60_000)
    expect(asked.due_at).toBe(asked.full_read_due_at)
    await ask()
    expect(await row(db)).toMatchObject({ full_read_due_at: asked.full_read_due_at, due_at: asked.due_at })
  })

  it('trap 25: a sweep requests reads of active submissions, counts as no activity, and is limited in frequency', async () => {
    const db = await openWith(database, 3)
    await ensureAccounts(db, [ACCOUNT])
    await db.write('test-old', (tx) =>
      tx.sql.updateTable('sync_reads').set({ active_at: '2026-01-01T00:00:00.000000Z' }).where('submission_id', '=', uuid(9, 2)).execute(),
    )
    const before = await row(db)
    expect(await claimSweep(db, ACCOUNT, 300_000)).toBe(false)
    await db.write('test-ask', (tx) => requestSweep(tx, ACCOUNT))
    expect(await claimSweep(db, ACCOUNT, 300_000)).toBe(true)
    let after: string | null = ''
    while (after !== null) after = await sweepStep(db, ACCOUNT, after, '2026-06-01T00:00:00.000000Z', 1)
    const live = await db.read.all(sql<Columns<'sync_reads', 'submission_id' | 'read'>>`
      select submission_id, read from sync_reads where rank = ${rank.live} order by submission_id, read`)
    expect(live).toEqual([uuid(9, 1), uuid(9, 3)].flatMap((submission_id) => ['events', 'thread'].map((read) => ({ submission_id, read }))))
    expect((await row(db)).active_at).toBe(before.active_at)
    await db.write('test-ask', (tx) => requestSweep(tx, ACCOUNT))
    expect(await claimSweep(db, ACCOUNT, 300_000)).toBe(false)
    expect(await claimSweep(db, ACCOUNT, 0)).toBe(true)
  })

  it('a step of a sweep reads at most the given number of submissions, active or not', async () => {
    const db = await openWith(database, 3)
    await db.write('test-old', (tx) =>
      tx.sql.updateTable('sync_reads').set({ active_at: '2026-01-01T00:00:00.000000Z' }).where('submission_id', '<>', uuid(9, 3)).execute(),
    )
    const requested = async () =>
      (await db.read.sql.selectFrom('sync_reads').select('submission_id').distinct().where('request_no', '>', 0).execute()).map(
        ({ submission_id }) => submission_id,
      )
    const step = (after: string) => sweepStep(db, ACCOUNT, after, '2026-06-01T00:00:00.000000Z', 2)
    expect([await step(''), await requested()]).toEqual([uuid(9, 2), []])
    expect([await step(uuid(9, 2)), await requested()]).toEqual([null, [uuid(9, 3)]])
  })

  it('resetting any number of "not found" reads takes no long transaction; confirmed ones stay counted', async () => {
    const db = await openWith(database, 140)
    await db.write('test-missing', async (tx) => {
      await tx.sql.updateTable('sync_reads').set({ rank: rank.failing, not_found: 3 }).execute()
      const believed = { account: ACCOUNT, submission_id: uuid(9, 1), tracked_at: timeFromMs(0), tracked_via: 'command' }
      await tx.sql
        .insertInto('submissions')
        .values({ ...believed, unreachable_since: timeFromMs(0) } as never)
        .execute()
    })
    const forgiven = async () =>
      (await db.read.sql.selectFrom('sync_reads').select('not_found').where('rank', '=', rank.routine).execute()).map(
        ({ not_found }) => not_found,
      )
    const steps: number[] = [0]
    const counting = {
      kind: db.kind,
      read: db.read,
      async write<T>(...args: Parameters<typeof db.write<T>>) {
        const result = await db.write(...args)
        steps.push((await forgiven()).length)
        return result
      },
    }
    await resetNotFound(counting as unknown as Db, ACCOUNT)
    expect(Math.max(...steps.map((all, step) => all - (steps[step - 1] ?? 0)))).toBeLessThanOrEqual(200)
    expect((await forgiven()).sort()).toEqual([...Array(139 * readKinds.length).fill(0), ...Array(readKinds.length).fill(3)])
  })

  it('trap 25: a sweep of a killed process is repeated, and a request during one is kept', async () => {
    const db = await openWith(database, 1)
    await ensureAccounts(db, [ACCOUNT])
    const ask = () => db.write('test-ask', (tx) => requestSweep(tx, ACCOUNT))
    await ask()
    expect(await claimSweep(db, ACCOUNT, 300_000)).toBe(true)
    expect(await claimSweep(db, ACCOUNT, 300_000), 'it is being made').toBe(false)
    expect(await claimSweep(db, ACCOUNT, 0), 'the process that made it is dead').toBe(true)
    await endSweep(db, ACCOUNT)
    expect(await claimSweep(db, ACCOUNT, 0)).toBe(false)
    await ask()
    expect(await claimSweep(db, ACCOUNT, 0)).toBe(true)
    await ask()
    await endSweep(db, ACCOUNT)
    expect(await claimSweep(db, ACCOUNT, 0)).toBe(true)
  })
})

it.each(testDatabases.filter(({ name }) => name === 'postgres'))('two processes on $name never claim the same read', async ({ open }) => {
  const opened = await open()
  const other = await openAgain(opened.config)
  onTestFinished(async () => {
    await other.close()
    await opened.close()
  })
  const places = Array.from({ length: 60 }, (_, n) => ({ account: ACCOUNT, submissionId: uuid(9, n) }))
  await opened.db.write('test-add', (tx) => addReads(tx, places, timeFromMs(Date.now() - 1_000), true))
  const claims = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      claimReads(n % 2 ? opened.db : other, { account: ACCOUNT, rank: rank.live, limit: 6, leaseMs: LEASE_MS }),
    ),
  )
  const keys = claims.flat().map((claim) => `${claim.submissionId} ${claim.read}`)
  expect(new Set(keys).size).toBe(keys.length)
})
