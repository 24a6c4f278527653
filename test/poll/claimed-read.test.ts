import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { type ClaimedReadEnd, type ClaimedReadOptions, carryOutRead, READ_LEASE_MS } from '../../src/poll/claimed-read.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { claimReads } from '../../src/store/reads/claims.ts'
import { rank } from '../../src/store/reads/reads.ts'
import type { ReadsTable } from '../../src/store/schema/reads.ts'
import { UpstreamTransientError } from '../../src/upstream/http/errors.ts'
import { openedDb } from '../push/outbox.ts'
import { silentLog, type TestDatabase, testDatabases } from '../tools/databases.ts'
import { applyAll } from '../tools/mirror.ts'
import { trackFact, uuid } from '../tools/observations.ts'
import { policy } from '../tools/poller.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)

interface Bench {
  readonly db: Db
  readonly clock: ManualClock
  visit(events: ClaimedReadOptions['client']['events']): Promise<ClaimedReadEnd>
  row(): Promise<ReadsTable>
}

async function bench({ open }: TestDatabase): Promise<Bench> {
  const clock = new ManualClock(Date.now())
  const db = await openedDb(open, clock)
  await applyAll(db, [trackFact(ACCOUNT, ID)])
  const common = { db, clock, log: silentLog, observer: silentObserver, policy, cause: 'poll' } as const
  return {
    db,
    clock,
    async visit(events) {
      const [claim] = await claimReads(db, { account: ACCOUNT, submissionIds: [ID], read: 'events', limit: 1, leaseMs: READ_LEASE_MS })
      if (!claim) throw new Error('nothing was claimed')
      return await carryOutRead({ ...common, client: { events } as ClaimedReadOptions['client'] }, claim, new AbortController().signal)
    },
    row: () => db.read.sql.selectFrom('sync_reads').selectAll().where('read', '=', 'events').executeTakeFirstOrThrow(),
  }
}

function noAnswer(retryAfterMs?: number): UpstreamTransientError {
  return new UpstreamTransientError(
    'unavailable',
    { operation: 'events', submissionId: ID, withCursor: false },
    'answered 503',
    retryAfterMs,
  )
}

describe.each(testDatabases)('a feed read on $name', (database) => {
  it.each([
    [3_999, rank.routine],
    [4_000, rank.failing],
  ])('that first fails after %i ms gets rank %i', async (tookMs, expected) => {
    const { clock, visit, row } = await bench(database)
    const ended = await visit(async () => {
      clock.advance(tookMs)
      throw noAnswer()
    })
    expect(ended).toBe('failed')
    expect(await row()).toMatchObject({ rank: expected, failures: 1 })
  })

  it('waits three minutes after eight failures in a row', async () => {
    const startedAt = Date.now()
    const { visit, row } = await bench(database)
    for (let failures = 1; failures <= 8; failures++) await visit(() => Promise.reject(noAnswer()))
    expect(Date.parse((await row()).due_at ?? '')).toBeGreaterThanOrEqual(startedAt + 190_000)
  })

  it('is not repeated during a pause of the service', async () => {
    const { visit, row } = await bench(database)
    const askedAt = Date.now()
    await visit(() => Promise.reject(noAnswer(600_000)))
    expect(Date.parse((await row()).due_at ?? '')).toBeGreaterThanOrEqual(askedAt + 590_000)
  })

  it.each([
    ['fails', 'failed', () => Promise.reject(noAnswer())],
    ['leads round in a circle', 'stalled', async () => ({ items: [], nextCursor: 'history', isEndConfirmed: false })],
  ] as const)('continues from the cursor if a page of old history %s in every full re-read', async (_, expected, answer) => {
    const { db, visit, row } = await bench(database)
    const long = '2026-01-01T00:00:00.000000Z'
    const known = { cursor: 'here', last_read_at: long, last_full_read_at: long, full_read_due_at: long }
    await db.write('test-known', (tx) => tx.sql.updateTable('sync_reads').set(known).execute())
    const asked: (string | null)[] = []
    const events = async (_: string, since: string | null) => {
      asked.push(since)
      if (since === 'history') return answer()
      return { items: [], nextCursor: since === null ? 'history' : null, isEndConfirmed: since !== null }
    }
    for (let n = 0; n < 3; n++) expect(await visit(events)).toBe(expected)
    expect(await visit(events)).toBe('read')
    expect(asked).toEqual([null, 'history', null, 'history', null, 'history', 'here'])
    const { full_read_due_at, ...settled } = await row()
    expect(settled).toMatchObject({ cursor: 'here', failures: 0, stalled_feed_reads: 0, last_full_read_at: long })
    expect(Date.parse(full_read_due_at ?? '')).toBeGreaterThan(Date.now())
  })

  it('that continues an interrupted first feed read schedules a full one', async () => {
    const { db, visit, row } = await bench(database)
    await db.write('test-interrupted', (tx) => tx.sql.updateTable('sync_reads').set({ cursor: 'the second page' }).execute())
    const asked: (string | null)[] = []
    const events = async (_: string, since: string | null) => {
      asked.push(since)
      return { items: [], nextCursor: null, isEndConfirmed: true }
    }
    expect(await visit(events)).toBe('read')
    const { last_full_read_at, full_read_due_at, due_at } = await row()
    expect(last_full_read_at).toBeNull()
    for (const at of [full_read_due_at, due_at]) expect(Date.parse(at ?? '')).toBeLessThanOrEqual(Date.now() + 60_000)
    await db.write('test-due', (tx) =>
      tx.sql
        .updateTable('sync_reads')
        .set({ due_at: full_read_due_at, full_read_due_at: '2026-01-01T00:00:00.000000Z' } as never)
        .execute(),
    )
    await visit(events)
    expect(asked).toEqual(['the second page', null])
    expect((await row()).last_full_read_at).not.toBeNull()
  })
})
