import { expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { newestFound } from '../../../src/ops/operations/found-without-webhook.ts'
import { ensureAccounts } from '../../../src/store/reads/accounts.ts'
import { testDatabases } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import {
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
import { closedAtEnd } from '../../tools/servers.ts'

const LOST_AFTER_MS = 900_000

const ACCOUNT = 'default'
const submission = uuid(9, 1)
const MINUTE_MS = 60_000

it.each(testDatabases)('a record found by a poll is listed until its webhook comes, on $name', async ({ open }) => {
  const clock = new ManualClock(START_MS)
  const { db } = await closedAtEnd(open({ clock }))
  await ensureAccounts(db, [ACCOUNT, 'other'])
  await applyAll(db, [
    trackFact(ACCOUNT, submission),
    trackFact('other', submission),
    observedEvent(ACCOUNT, submission, wireEvent(1), byPoll),
    observedMessage(ACCOUNT, submission, wireMessage(1), byPoll),
    observedEvent(ACCOUNT, submission, wireEvent(2), byWebhook),
    // History: no webhook is expected.
    observedEvent(ACCOUNT, submission, wireEvent(3, { occurred_at: '2020-01-01T00:00:00Z' }), byFirstFeedRead),
  ])
  clock.advance(MINUTE_MS)
  await applyAll(db, [observedEvent('other', submission, wireEvent(4), byPoll)])
  const found = (options = {}) =>
    newestFound(db, { accounts: [], webhooks: { lostAfterMs: LOST_AFTER_MS, silenceAfterMs: 0 } }, { limit: 10, ...options })
  const ids = async (options = {}) => (await found(options)).map(({ record_id }) => record_id)
  const [newest, ...others] = await ids()
  expect([newest, others.sort()]).toEqual([uuid(1, 4), [uuid(1, 1), uuid(2, 1)].sort()])
  expect(await ids({ account: 'other' })).toEqual([uuid(1, 4)])
  expect(await ids({ limit: 1 })).toEqual([uuid(1, 4)])
  const pages: string[] = []
  for (let [last] = await found({ limit: 1 }); last; [last] = await found({ limit: 1, after: last })) pages.push(last.record_id)
  expect(pages).toEqual(await ids())
  expect((await found()).map(({ lost }) => lost)).toEqual([false, false, false])
  clock.advance(14.5 * MINUTE_MS)
  expect((await found()).map(({ lost }) => lost)).toEqual([false, true, true])
  const [first] = await found({ account: ACCOUNT, limit: 1 })
  expect(first).toMatchObject({ account: ACCOUNT, submission_id: submission, known_via: 'poll' })
  // Happened long before the service could have sent a webhook. Counts as lost, as in `status` and `completeness`.
  await applyAll(db, [observedEvent(ACCOUNT, submission, wireEvent(5, { occurred_at: '2020-01-01T00:00:00Z' }), byPoll)])
  clock.advance(16 * MINUTE_MS)
  expect((await found({ account: ACCOUNT })).map((each) => [each.record_id, each.before_tracked, each.lost])).toContainEqual([
    uuid(1, 5),
    true,
    true,
  ])
  const { lost_webhooks } = await db.read.sql
    .selectFrom('completeness')
    .select('lost_webhooks')
    .where('account', '=', ACCOUNT)
    .executeTakeFirstOrThrow()
  expect((await found({ account: ACCOUNT })).filter(({ lost }) => lost)).toHaveLength(lost_webhooks)
  await db.write('test', (tx) => tx.sql.deleteFrom('sync_arrivals').where('record_id', '=', uuid(1, 5)).execute())
  await applyAll(db, [observedEvent(ACCOUNT, submission, wireEvent(1), byWebhook)])
  expect(await ids({ account: ACCOUNT })).toEqual([uuid(2, 1)])
})
