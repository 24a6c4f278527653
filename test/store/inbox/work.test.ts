import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { LeaseLostError } from '../../../src/base/errors.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  releaseLeftDeliveries,
  type Settlement,
  settleDeliveries,
} from '../../../src/store/inbox/work.ts'
import { ensureAccounts, findAccount, requestSweep } from '../../../src/store/reads/accounts.ts'
import type { InboxTable } from '../../../src/store/schema/inbox.ts'
import { inboxGauges } from '../../../src/store/upkeep/gauges.ts'
import { type OpenedDatabase, openAgain, testDatabases } from '../../tools/databases.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const LEASE_MS = 60_000

function inboxOf(open: () => Promise<OpenedDatabase>, deliveries: number): Promise<OpenedDatabase> {
  return inboxWith(
    open,
    Array.from({ length: deliveries }, (_, n) => Buffer.from(`body ${n}`)),
  )
}

async function inboxWith(open: () => Promise<OpenedDatabase>, bodies: readonly Buffer[]): Promise<OpenedDatabase> {
  const opened = await closedAtEnd(open())
  const outcomes = await new InboxAppender(opened.db).append(
    bodies.map((body, n) => ({
      account: 'acme',
      deliveryId: `msg_${n}`,
      receivedAt: timeFromMs(Date.now() + (n - bodies.length) * 1_000),
      headers: {},
      body,
      secret: 1,
    })),
  )
  expect(outcomes.every((outcome) => outcome === null)).toBe(true)
  return opened
}

function done(delivery: ClaimedDelivery, over: Partial<Settlement> = {}): Settlement {
  return { delivery, state: 'done', submissionId: null, kind: 'submission.events', error: null, ...over }
}

function settle(db: Db, settlements: readonly Settlement[]): Promise<void> {
  return db.write('test-settle', (tx) => settleDeliveries(tx, settlements))
}

async function rows(db: Db): Promise<InboxTable[]> {
  return (await db.read.sql.selectFrom('sync_inbox').selectAll().orderBy('inbox_id').execute()) as unknown as InboxTable[]
}

describe.each(testDatabases)('claims of deliveries on $name', ({ name, open }) => {
  it('gives each delivery to one process, in order of arrival, with its body as received', async () => {
    const { db, config } = await inboxOf(open, 40)
    const other = name === 'postgres' ? await openAgain(config) : db
    onTestFinished(() => other.close())
    const claims = await Promise.all(Array.from({ length: 10 }, (_, n) => claimDeliveries(n % 2 ? db : other, 6, LEASE_MS)))
    for (const claim of claims) expect(claim.map((one) => one.inboxId)).toEqual(claim.map((one) => one.inboxId).sort((a, b) => a - b))
    const all = claims.flat()
    expect(new Set(all.map((claim) => claim.deliveryId)).size).toBe(40)
    expect(all).toHaveLength(40)
    for (const { deliveryId, body } of all) expect(body.toString()).toBe(`body ${deliveryId.slice(4)}`)
    expect(await claimDeliveries(db, 10, LEASE_MS)).toEqual([])
  })

  it('trap 28: hands them out oldest first', async () => {
    const { db } = await inboxOf(open, 9)
    const order: string[] = []
    for (let n = 0; n < 3; n++) order.push(...(await claimDeliveries(db, 3, LEASE_MS)).map((claim) => claim.deliveryId))
    expect(order).toEqual(Array.from({ length: 9 }, (_, n) => `msg_${n}`))
  })

  it('claims at most `CLAIM_BYTES` of bodies; a larger body is claimed alone', async () => {
    const { db } = await inboxWith(
      open,
      [1, 4_000_000, 1, 1_500_000, 1_500_000, 1_500_000, 1].map((length) => Buffer.alloc(length, 'x')),
    )
    const claims: string[][] = []
    for (;;) {
      const claimed = await claimDeliveries(db, 100, LEASE_MS)
      if (claimed.length === 0) break
      claims.push(claimed.map((one) => one.deliveryId))
      expect(claimed.length === 1 || claimed.reduce((sum, one) => sum + one.body.length, 0) < 2 << 20, claims.join(' | ')).toBe(true)
    }
    expect(claims.flat()).toEqual(Array.from({ length: 7 }, (_, n) => `msg_${n}`))
  })

  it('a claim of a dead process is claimed again when its lease has ended', async () => {
    const { db } = await inboxOf(open, 2)
    const [lost] = await claimDeliveries(db, 2, 0)
    const again = await claimDeliveries(db, 2, LEASE_MS)
    expect(again.map((claim) => claim.deliveryId)).toEqual(['msg_0', 'msg_1'])
    expect(again[0]?.leaseToken).not.toBe(lost?.leaseToken)
  })

  it('invariant 14: settling one lost lease rolls back the whole transaction', async () => {
    const { db } = await inboxOf(open, 3)
    await ensureAccounts(db, ['acme'])
    const first = await claimDeliveries(db, 1, 0)
    const second = await claimDeliveries(db, 3, LEASE_MS)
    const [lost] = first
    const [, ours] = second
    if (!lost || !ours) throw new Error('nothing was claimed')
    const failing = db.write('test-settle', async (tx) => {
      await requestSweep(tx, 'acme')
      await settleDeliveries(tx, [done(lost), done(ours)])
    })
    await expect(failing).rejects.toThrow(LeaseLostError)
    expect((await rows(db)).map((row) => row.state)).toEqual(['ready', 'ready', 'ready'])
    expect((await findAccount(db.read, 'acme'))?.sweep_wanted).toBe(0)
    await settle(
      db,
      second.map((claim) => done(claim)),
    )
    expect((await rows(db)).map((row) => row.state)).toEqual(['done', 'done', 'done'])
  })

  it('a settled delivery is not settled again', async () => {
    const { db } = await inboxOf(open, 1)
    const [claim] = await claimDeliveries(db, 1, LEASE_MS)
    if (!claim) throw new Error('nothing was claimed')
    await settle(db, [done(claim, { state: 'ready', error: 'not yet', retryInMs: 0 })])
    const [again] = await claimDeliveries(db, 1, LEASE_MS)
    expect(again).toMatchObject({ attempts: 1 })
    await expect(settle(db, [done(claim)])).rejects.toThrow(LeaseLostError)
    expect(await rows(db)).toMatchObject([{ state: 'ready', attempts: 1, error: 'not yet' }])
  })

  it("invariant 14: the database's clock, not ours, decides when a delivery is retried", async () => {
    const { db, config } = await inboxOf(open, 1)
    // SQLite has one machine, and its clock is ours.
    const ahead = name === 'postgres' ? await openAgain(config, { clock: new ManualClock(Date.now() + 3_600_000) }) : db
    onTestFinished(() => ahead.close())
    const [claim] = await claimDeliveries(ahead, 1, LEASE_MS)
    if (!claim) throw new Error('nothing was claimed')
    await settle(ahead, [done(claim, { state: 'ready', error: 'not yet', retryInMs: 0 })])
    expect(await claimDeliveries(db, 1, LEASE_MS)).toMatchObject([{ attempts: 1 }])
  })

  it('the age of the oldest delivery grows until it is applied, even if it is claimed, retried or released', async () => {
    const { db } = await inboxOf(open, 2)
    const oldest = async () => (await inboxGauges(db.read, []))[0]
    const before = await oldest()
    expect(before).toMatchObject({ count: 2, oldest_at: expect.any(String) })
    const [first] = await claimDeliveries(db, 1, LEASE_MS)
    if (!first) throw new Error('nothing was claimed')
    expect(await oldest(), 'claimed').toEqual(before)
    await settle(db, [done(first, { state: 'ready', error: 'a lock', retryInMs: 60_000 })])
    expect(await oldest(), 'retried').toEqual(before)
    await claimDeliveries(db, 2, LEASE_MS)
    await releaseLeftDeliveries(db)
    expect(await oldest(), 'released').toEqual(before)
  })

  it('a rescheduled delivery waits, and a released one is available immediately, without a counted attempt', async () => {
    const { db, config } = await inboxOf(open, 2)
    const [first, second] = await claimDeliveries(db, 2, LEASE_MS)
    if (!first || !second) throw new Error('nothing was claimed')
    await settle(db, [done(first, { state: 'ready', error: 'no', retryInMs: 60_000 })])
    expect(await claimDeliveries(db, 2, LEASE_MS)).toEqual([])
    await releaseLeftDeliveries(db)
    expect(await claimDeliveries(db, 2, LEASE_MS)).toMatchObject([{ deliveryId: 'msg_1', attempts: 0 }])
    if (name === 'sqlite') return
    const other = await closedAtEnd(openAgain(config))
    await releaseLeftDeliveries(other)
    expect(await claimDeliveries(db, 2, LEASE_MS), 'the claims of another process stay').toEqual([])
  })
})
