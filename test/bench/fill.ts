import PQueue from 'p-queue'
import { Agent } from 'undici'
import { inApplyTransaction } from '../../src/apply/apply.ts'
import { systemClock } from '../../src/base/clock.ts'
import { type CounterName, type Labels, type Observer, silentObserver } from '../../src/base/observer.ts'
import { optionalReads } from '../../src/model/reads.ts'
import { AccountPoller } from '../../src/poll/account-poller.ts'
import { ReadSwitches } from '../../src/poll/read-switches.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { openDb } from '../../src/store/open/open.ts'
import { ensureAccounts } from '../../src/store/reads/accounts.ts'
import { newSqlite, silentLog } from '../tools/databases.ts'
import { trackFact } from '../tools/observations.ts'
import { bareJson, bareToken, clientOf, readFeedBare } from './bare-client.ts'
import { type ServedFeeds, serveFeeds } from './sandbox-process.ts'
import { type BenchRow, compare } from './table.ts'

const SUBMISSIONS = 1_000
const FEEDS = { events: 50, messages: 30 }
const ANSWER_MS = 40
const CONCURRENCY = 8
const DAY_MS = 86_400_000
const policy = {
  poll: { activeMs: DAY_MS, quietMs: DAY_MS, maxMs: DAY_MS, dormantMs: DAY_MS },
  replay: { activeMs: DAY_MS, quietMs: DAY_MS, dormantMs: DAY_MS },
}
const STATE = ['requirements', 'outstanding-requirements', 'application-workspace', 'api-quotes/sessions']

/**
 * A new mirror of 1,000 submissions, filled by the product's scheduling, against a client that sends the same requests and stores nothing.
 * Neither reads by id (binds, policies, insureds).
 */
export async function fillBench(): Promise<BenchRow[]> {
  const { feeds, stop } = await serveFeeds({ whole: SUBMISSIONS, ...FEEDS, answerMs: ANSWER_MS })
  try {
    const what = '1,000 submissions with 50 events, 30 messages and full state more, 40 ms an answer'
    return [
      await compare(
        `first fill, SQLite, ${what}`,
        'submissions/s',
        0.7,
        () => fill(feeds),
        () => bareFill(feeds),
      ),
    ]
  } finally {
    await stop()
  }
}

class Ends implements Observer {
  #next = Promise.withResolvers<void>()

  get next(): Promise<void> {
    return this.#next.promise
  }

  count(name: CounterName, labels: Labels = {}): void {
    if (name !== 'feed_reads_total') return
    if (labels['outcome'] === 'read') this.#next.resolve()
    else this.#next.reject(new Error(`a read failed: ${JSON.stringify(labels)}`))
    this.#next = Promise.withResolvers()
  }

  time(): void {}
  set(): void {}
}

/** New records are read again, so only the rows show when everything was read. */
async function isFilled(db: Db): Promise<boolean> {
  const unread = db.read.sql.selectFrom('sync_reads').select('read').where('last_read_at', 'is', null).where('id', '=', '').limit(1)
  return (await unread.execute()).length === 0
}

async function fill(feeds: ServedFeeds): Promise<number> {
  const place = newSqlite()
  const db = await openDb(place.config, { clock: systemClock, log: silentLog })
  const client = clientOf(feeds)
  const stopping = new AbortController()
  try {
    await migrate(db)
    await ensureAccounts(db, ['bench'])
    const tracked = feeds.submissionIds.map((id) => trackFact('bench', id))
    await inApplyTransaction(db, silentObserver, 'bench', (transaction) => transaction.apply(tracked))
    const ends = new Ends()
    const common = { account: 'bench', db, clock: systemClock, log: silentLog }
    const switches = new ReadSwitches({ ...common, wanted: optionalReads })
    const poller = new AccountPoller({ ...common, client, observer: ends, policy, concurrency: CONCURRENCY, switches })
    const startedAt = performance.now()
    const running = Promise.all([switches.run(stopping.signal), poller.run(stopping.signal)])
    while (!(await isFilled(db))) await Promise.race([ends.next, running])
    const seconds = (performance.now() - startedAt) / 1000
    stopping.abort()
    await running
    return SUBMISSIONS / seconds
  } finally {
    stopping.abort()
    await client.close()
    await db.close()
    await place.remove()
  }
}

async function bareFill(feeds: ServedFeeds): Promise<number> {
  const agent = new Agent()
  const token = await bareToken(feeds, agent)
  const queue = new PQueue({ concurrency: CONCURRENCY })
  const startedAt = performance.now()
  const asked = feeds.submissionIds.flatMap((id) => {
    const url = `${feeds.baseUrl}/broker/submissions/${id}`
    return [
      () => readFeedBare(`${url}/events`, 'events', token, agent),
      () => readFeedBare(`${url}/thread`, 'messages', token, agent),
      ...STATE.map((path) => () => bareJson(`${url}/${path}`, token, agent)),
    ]
  })
  await queue.addAll(asked)
  const seconds = (performance.now() - startedAt) / 1000
  await agent.close()
  return SUBMISSIONS / seconds
}
