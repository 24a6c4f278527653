import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { type TimeText, timeFromMs } from '../../../src/model/time.ts'
import { countArrivals } from '../../../src/store/completeness/arrival-counts.ts'
import { accountCompleteness, listCompleteness, oldestReconciled } from '../../../src/store/completeness/completeness.ts'
import { foundWithoutWebhook } from '../../../src/store/completeness/found-without-webhook.ts'
import { countLostWebhooks, saveLostAfter, unannounced } from '../../../src/store/completeness/lost-webhooks.ts'
import { newestDelivery } from '../../../src/store/completeness/newest-delivery.ts'
import { moveProgress, readProgress } from '../../../src/store/completeness/progress.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { insertRows, testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import {
  byFirstFeedRead,
  byFullRead,
  byPoll,
  byWebhook,
  observedEvent,
  observedMessage,
  uuid,
  wireEvent,
  wireMessage,
} from '../../tools/observations.ts'
import { closedAtEnd } from '../../tools/servers.ts'

const LOST_AFTER_MS = 900_000

const [ONE, TWO] = [uuid(9, 1), uuid(9, 2)]
const event = (n: number) => uuid(1, n)

describe.each(testDatabases)('completeness on $name', (database) => {
  async function opened(): Promise<{ db: Db; clock: ManualClock }> {
    const clock = new ManualClock(Math.floor(Date.now() / 3_600_000) * 3_600_000 + 60_000)
    const { db } = await closedAtEnd(database.open({ clock }))
    await ensureAccounts(db, ['acme', 'zenith'])
    return { db, clock }
  }

  /** Moves the times at which feeds first showed records. */
  async function letArrivalsBe(db: Db, first_at: TimeText): Promise<void> {
    await db.write('test', (tx) => tx.sql.updateTable('sync_arrivals').set({ first_at }).execute())
  }

  it('arrivals are counted once, by account, hour and way, and what no webhook announces within 15 minutes is lost', async () => {
    const { db, clock } = await opened()
    await applyAll(db, [
      observedEvent('acme', ONE, wireEvent(1), byWebhook),
      observedEvent('acme', ONE, wireEvent(2), byPoll),
      observedEvent('acme', ONE, wireEvent(3), byPoll),
      observedMessage('acme', ONE, wireMessage(4), byPoll),
      observedEvent('acme', TWO, wireEvent(5), byFirstFeedRead),
      observedEvent('zenith', ONE, wireEvent(6), byPoll),
    ])
    await applyAll(db, [observedEvent('acme', ONE, wireEvent(3), byWebhook)])
    expect((await unannounced(db.read, 'acme')).sort()).toEqual([event(2), uuid(2, 4)].sort())
    // Complete before the counter of `serve` runs, and not counted twice after it.
    const known = async () => (await accountCompleteness(db.read, 'acme')) as object
    const sums = { known_by_webhook: 1, known_by_poll: 3, known_by_backfill: 1, known_by_reconcile: 0 }
    expect(await known()).toMatchObject(sums)
    expect(await known()).not.toHaveProperty('mark')

    expect(await countArrivals(db)).toBe(false)
    expect(await countArrivals(db)).toBe(false)
    expect(await known()).toMatchObject(sums)
    const counts = async () =>
      (await db.read.sql.selectFrom('arrival_counts').selectAll().orderBy('account').orderBy('entity').execute()) as object[]
    const changed = (await db.read.sql.selectFrom('changes').select('changed_at').limit(1).executeTakeFirstOrThrow()).changed_at
    const row = { hour: `${changed.slice(0, 13)}:00:00.000000Z`, webhook: 0, poll: 0, backfill: 0, reconcile: 0, lost: 0 }
    const [events, messages] = [
      { ...row, entity: 'market_events' },
      { ...row, entity: 'thread_messages' },
    ]
    expect(await counts()).toEqual([
      { ...events, account: 'acme', webhook: 1, poll: 2, backfill: 1 },
      { ...messages, account: 'acme', poll: 1 },
      { ...events, account: 'zenith', poll: 1 },
    ])

    const seen = timeFromMs(clock.now())
    await letArrivalsBe(db, seen)
    clock.advance(LOST_AFTER_MS - 1)
    expect(await countLostWebhooks(db, 'acme', LOST_AFTER_MS)).toEqual({ lost: [], more: false })
    clock.advance(1)
    const lost = [
      { entity: 'market_events', count: 1 },
      { entity: 'thread_messages', count: 1 },
    ]
    expect(await countLostWebhooks(db, 'acme', LOST_AFTER_MS)).toEqual({ lost, more: false })
    expect(await countLostWebhooks(db, 'acme', LOST_AFTER_MS)).toEqual({ lost: [], more: false })
    expect(
      await db.read.sql.selectFrom('arrival_counts').select(['account', 'entity']).where('lost', '=', 1).orderBy('entity').execute(),
    ).toEqual([
      { account: 'acme', entity: 'market_events' },
      { account: 'acme', entity: 'thread_messages' },
    ])
  })

  it('completeness counts lost webhooks by the stored setting', async () => {
    const { db } = await opened()
    await applyAll(db, [observedMessage('acme', ONE, wireMessage(2), byPoll)])
    await letArrivalsBe(db, timeFromMs(Date.now() - 60_000))
    const lost = async () =>
      (await db.read.sql.selectFrom('completeness').select('lost_webhooks').where('submission_id', '=', ONE).execute())[0]?.lost_webhooks
    expect(await lost()).toBe(0)
    await saveLostAfter(db, 5_000)
    expect(await lost()).toBe(1)
    await saveLostAfter(db, LOST_AFTER_MS)
    expect(await lost()).toBe(0)
  })

  it('events are not lost while their deliveries cannot be read', async () => {
    const { db, clock } = await opened()
    await applyAll(db, [observedEvent('acme', ONE, wireEvent(1), byPoll), observedMessage('acme', ONE, wireMessage(2), byPoll)])
    await letArrivalsBe(db, timeFromMs(clock.now() - LOST_AFTER_MS))
    const unreadable = timeFromMs(clock.now())
    await db.write('test', (tx) =>
      tx.sql.updateTable('sync_accounts').set({ events_unreadable_at: unreadable }).where('account', '=', 'acme').execute(),
    )
    expect((await countLostWebhooks(db, 'acme', LOST_AFTER_MS)).lost).toEqual([{ entity: 'thread_messages', count: 1 }])
  })

  it('records found without a webhook are listed with their way, without backfill and announced ones', async () => {
    const { db } = await opened()
    await applyAll(db, [
      observedEvent('acme', ONE, wireEvent(1), byFirstFeedRead),
      observedEvent('acme', ONE, wireEvent(2), byPoll),
      observedMessage('acme', ONE, wireMessage(3), byFullRead),
      observedEvent('acme', ONE, wireEvent(4), byWebhook),
      observedEvent('acme', ONE, wireEvent(5), byPoll),
      observedEvent('zenith', ONE, wireEvent(6), byPoll),
    ])
    await applyAll(db, [observedEvent('acme', ONE, wireEvent(5), byWebhook)])
    const found = await foundWithoutWebhook<Record<'entity' | 'known_via', string>>(db.read, 'acme', LOST_AFTER_MS, 10)
    expect(found.map((one) => [one.entity, one.record_id, one.known_via, one.before_tracked]).sort()).toEqual([
      ['market_events', event(2), 'poll', true],
      ['thread_messages', uuid(2, 3), 'full_read', true],
    ])
    expect(await foundWithoutWebhook(db.read, 'acme', LOST_AFTER_MS, 1)).toHaveLength(1)
  })

  it('the view has each submission of an account, and its sums', async () => {
    const { db } = await opened()
    await applyAll(db, [
      observedEvent('acme', ONE, wireEvent(1), byWebhook),
      observedMessage('acme', ONE, wireMessage(2), byPoll),
      observedEvent('acme', TWO, wireEvent(3), byWebhook),
      observedEvent('zenith', ONE, wireEvent(4)),
    ])
    await countArrivals(db)
    const [early, late] = ['2026-01-05T12:00:00.000000Z', '2026-01-06T12:00:00.000000Z']
    const proof = (account: string, submission_id: string, reconciled_at: TimeText | null) => ({
      account,
      submission_id,
      reconciled_at,
      run_id: uuid(8, 1),
      visited_at: late,
    })
    await insertRows(db, 'sync_reconciled', [proof('acme', ONE, late), proof('acme', TWO, null), proof('zenith', ONE, early)])
    const listed = async (...given: [Parameters<typeof listCompleteness>[1], number]) =>
      (await listCompleteness(db.read, ...given)).map(({ lag_seconds: _, ...row }) => row)
    const all = await listed({ account: 'acme' }, 10)
    expect(all.map((row) => [row.submission_id, row.event_count, row.message_count, row.reconciled_at])).toEqual([
      [ONE, 1, 1, late],
      [TWO, 1, 0, null],
    ])
    expect(await listed({ account: 'acme', after: ONE }, 10)).toEqual(all.slice(1))
    expect(await listed({ account: 'acme', submissionId: ONE }, 10)).toEqual(all.slice(0, 1))
    expect(await listed({ account: 'acme' }, 1)).toEqual(all.slice(0, 1))
    expect(await accountCompleteness(db.read, 'acme')).toMatchObject({
      account: 'acme',
      submissions: 2,
      never_read: 2,
      reconciled: 1,
      known_by_webhook: 2,
      known_by_poll: 1,
    })
    expect(await accountCompleteness(db.read, 'nobody')).toBeNull()
    expect([await oldestReconciled(db.read, 'acme'), await oldestReconciled(db.read, 'nobody')]).toEqual([late, null])
  })

  it('the newest delivery is found by account, without those of a type and those of a clock that ran ahead', async () => {
    const { db } = await opened()
    const [receivedAt, ahead] = ['2026-01-05T12:00:00.000000Z', '2026-01-06T12:00:00.000000Z']
    const delivery = (account: string, n: number, at = receivedAt, secret = 1) => {
      return { account, deliveryId: `msg_${n}`, receivedAt: at, secret, headers: {}, body: Buffer.from('{}') }
    }
    const newest = (account: string, butFor: string, upTo = receivedAt) => newestDelivery(db.read, account, butFor, upTo)
    expect(await newest('acme', 'test')).toBeNull()
    const all = [delivery('acme', 1, receivedAt, 2), delivery('zenith', 2), delivery('acme', 3), delivery('acme', 4, ahead)]
    await new InboxAppender(db).append(all)
    await db.write('test', (tx) => tx.sql.updateTable('sync_inbox').set({ kind: 'test' }).where('delivery_id', '=', 'msg_3').execute())
    expect(await newest('acme', 'test')).toEqual({ receivedAt, secret: 2 })
    expect(await newest('acme', 'other')).toEqual({ receivedAt, secret: 1 })
    expect(await newest('acme', 'test', ahead)).toEqual({ receivedAt: ahead, secret: 1 })
  })

  it('progress is moved by one process, separately for each name and account', async () => {
    const { db } = await opened()
    const move = (account: string, from: number, to: number) => db.write('test', (tx) => moveProgress(tx, account, 'task', from, to))
    expect([await move('acme', 0, 5), await move('acme', 0, 6), await move('acme', 5, 7), await move('acme', 4, 9)]).toEqual([
      true,
      false,
      true,
      false,
    ])
    expect([await move('zenith', 3, 4), await readProgress(db.read, 'acme', 'task')]).toEqual([false, 7])
    expect([await readProgress(db.read, 'acme', 'other'), await readProgress(db.read, 'zenith', 'task')]).toEqual([0, 0])
  })
})
