import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { countLostWebhooks, unannounced } from '../../../src/store/completeness/lost-webhooks.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { ensureAccounts, noteUnreadableEvents } from '../../../src/store/reads/accounts.ts'
import { type OpenedDatabase, openAgain, testDatabases } from '../../tools/databases.ts'
import { applyAll, applyEach } from '../../tools/mirror.ts'
import {
  at,
  byFirstFeedRead,
  byPoll,
  byWebhook,
  observedEvent,
  observedMessage,
  START_MS,
  trackFact,
  uuid,
  wireEvent,
  wireMessage,
} from '../../tools/observations.ts'

const LOST_AFTER_MS = 900_000

const ACCOUNT = 'default'
const submission = uuid(9, 1)
const MINUTE = 60_000

async function countAll(db: Db): Promise<Record<string, number>> {
  const total: Record<string, number> = {}
  for (let more = true; more; ) {
    const step = await countLostWebhooks(db, ACCOUNT, LOST_AFTER_MS)
    for (const { entity, count } of step.lost) total[entity] = (total[entity] ?? 0) + count
    more = step.more
  }
  return total
}

describe.each(testDatabases)('lost webhooks on $name', (database) => {
  let clock: ManualClock
  let opened: OpenedDatabase
  let db: Db
  beforeEach(async () => {
    clock = new ManualClock(START_MS)
    opened = await database.open({ clock })
    db = opened.db
    await ensureAccounts(db, [ACCOUNT])
    await applyAll(db, [trackFact(ACCOUNT, submission)])
  })
  afterEach(() => opened.close())

  it('are records of a feed without a webhook within 15 minutes, each counted once', async () => {
    await applyAll(db, [
      observedEvent(ACCOUNT, submission, wireEvent(1), byPoll),
      observedEvent(ACCOUNT, submission, wireEvent(2), byPoll),
      observedMessage(ACCOUNT, submission, wireMessage(1), byPoll),
      observedMessage(ACCOUNT, submission, wireMessage(2), byPoll),
      observedEvent(ACCOUNT, submission, wireEvent(3), byWebhook),
    ])
    clock.advance(5 * MINUTE)
    const late = [
      observedEvent(ACCOUNT, submission, wireEvent(2), byWebhook),
      observedMessage(ACCOUNT, submission, wireMessage(2), byWebhook),
    ]
    await applyAll(db, late)
    expect(await countAll(db)).toEqual({})
    clock.advance(10 * MINUTE)
    expect(await unannounced(db.read, ACCOUNT)).toEqual(expect.arrayContaining([uuid(1, 1), uuid(2, 1)]))
    expect(await countAll(db)).toEqual({ market_events: 1, thread_messages: 1 })
    expect(await countAll(db)).toEqual({})
  })

  it('are resolved by webhooks of their own account and submission alone', async () => {
    const places = [
      [ACCOUNT, submission],
      [ACCOUNT, uuid(9, 2)],
      ['another', submission],
    ] as const
    for (const [account, id] of places) await applyAll(db, [observedEvent(account, id, wireEvent(1), byPoll)])
    for (const [account, id] of places.slice(1)) await applyAll(db, [observedEvent(account, id, wireEvent(1), byWebhook)])
    clock.advance(20 * MINUTE)
    expect(await unannounced(db.read, ACCOUNT)).toEqual([uuid(1, 1)])
    expect(await countAll(db)).toEqual({ market_events: 1 })
  })

  it('are not the history of a submission that was tracked', async () => {
    await applyAll(db, [observedEvent(ACCOUNT, submission, wireEvent(1, { occurred_at: at(-24 * 60) }), byFirstFeedRead)])
    clock.advance(20 * MINUTE)
    expect(await countAll(db)).toEqual({})
  })

  it('are nothing that happened before the submission was tracked, however short before', async () => {
    await applyAll(db, [
      ...[-59, -1].map((minute, n) => observedEvent(ACCOUNT, submission, wireEvent(n, { occurred_at: at(minute) }), byFirstFeedRead)),
      observedMessage(ACCOUNT, submission, wireMessage(3, { occurred_at: at(-30) }), byFirstFeedRead),
      observedEvent(ACCOUNT, submission, wireEvent(4, { occurred_at: at(1) }), byFirstFeedRead),
    ])
    clock.advance(20 * MINUTE)
    expect(await countAll(db)).toEqual({ market_events: 1 })
  })

  it('are what happened shortly before, where a webhook made the submission known: there was an endpoint', async () => {
    const announced = uuid(9, 2)
    await applyAll(db, [observedEvent(ACCOUNT, announced, wireEvent(1), byWebhook)])
    await applyEach(db, [-61, -59, -1], (minute, n) =>
      observedEvent(ACCOUNT, announced, wireEvent(n + 2, { occurred_at: at(minute) }), byFirstFeedRead),
    )
    clock.advance(20 * MINUTE)
    expect(await countAll(db)).toEqual({ market_events: 2 })
  })

  it('are no events while the event deliveries of the account cannot be read', async () => {
    await applyAll(db, [
      observedEvent(ACCOUNT, submission, wireEvent(1), byPoll),
      observedMessage(ACCOUNT, submission, wireMessage(1), byPoll),
    ])
    await db.write('test', (tx) => noteUnreadableEvents(tx, ACCOUNT, timeFromMs(clock.now())))
    clock.advance(20 * MINUTE)
    expect(await countAll(db)).toEqual({ thread_messages: 1 })
  })

  it('are counted once by several processes, in steps', async () => {
    const n = 1_200
    for (let from = 0; from < n; from += 100) {
      const facts = Array.from({ length: 100 }, (_, i) => observedMessage(ACCOUNT, submission, wireMessage(from + i), byPoll))
      await applyAll(db, facts)
      clock.advance(1_000)
    }
    clock.advance(20 * MINUTE)
    const other = database.name === 'postgres' ? await openAgain(opened.config, { clock }) : db
    try {
      const counts = await Promise.all([countAll(db), countAll(other), countAll(db), countAll(other)])
      const rest = await countAll(db)
      const total = [...counts, rest].reduce((sum, count) => sum + (count['thread_messages'] ?? 0), 0)
      expect(total).toBe(n)
    } finally {
      if (other !== db) await other.close()
    }
  })
})
