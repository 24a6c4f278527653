import PQueue from 'p-queue'
import { Agent } from 'undici'
import { inApplyTransaction } from '../../src/apply/apply.ts'
import { systemClock } from '../../src/base/clock.ts'
import { silentObserver } from '../../src/base/observer.ts'
import { carryOutRead } from '../../src/poll/claimed-read.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { openDb } from '../../src/store/open/open.ts'
import { claimReads } from '../../src/store/reads/claims.ts'
import { newSqlite, silentLog } from '../tools/databases.ts'
import { trackFact } from '../tools/observations.ts'
import { bareToken, clientOf, readFeedBare } from './bare-client.ts'
import { type RowsByTable, sqliteRows, writeSqlite } from './hand-written.ts'
import { type ServedFeeds, serveFeeds } from './sandbox-process.ts'
import { type BenchRow, compare } from './table.ts'

const SUBMISSIONS = 16
const EVENTS = 2_500
const CONCURRENCY = 8
const PAGE = 100
const DAY_MS = 86_400_000
const policy = {
  poll: { activeMs: DAY_MS, quietMs: DAY_MS, maxMs: DAY_MS, dormantMs: DAY_MS },
  replay: { activeMs: DAY_MS, quietMs: DAY_MS, dormantMs: DAY_MS },
}

/** Tables that an event fills, in the order of the hand-written inserts. */
const TABLES = ['market_events', 'sync_arrivals', 'changes'] as const

/** Least latency of a page on the internet. */
const ANSWER_MS = 40

/**
 * Reads feeds into a new mirror, against a client that parses the pages and stores nothing: with a slow service, and with an immediate
 * emulator, which measures only storing. The last row shows the upper limit: the same events inserted by prepared statements.
 */
export async function feedReadBench(): Promise<BenchRow[]> {
  return [...(await measure('40 ms a page', ANSWER_MS)), ...(await measure('immediate answers', 0, true))]
}

async function measure(what: string, answerMs: number, withMost = false): Promise<BenchRow[]> {
  const { feeds, stop } = await serveFeeds({ bare: SUBMISSIONS, events: EVENTS, answerMs })
  try {
    const theirs = () => bareFeedReads(feeds)
    await theirs()
    let rows: RowsByTable | undefined
    const ours = () => mirrorFeedReads(feeds, (path) => (rows ??= sqliteRows(path, TABLES)))
    const feedRead = await compare(`feed reads into the mirror, SQLite, ${what}`, 'events/s', 0.7, ours, theirs)
    if (!withMost) return [feedRead]
    const byHand = async () => (SUBMISSIONS * EVENTS) / (await writeSqlite(rows as RowsByTable, (SUBMISSIONS * EVENTS) / PAGE))
    return [
      feedRead,
      await compare('the rows of these events, written by prepared statements, against those feed reads', 'events/s', null, byHand, theirs),
    ]
  } finally {
    await stop()
  }
}

async function mirrorFeedReads(feeds: ServedFeeds, look: (path: string) => void): Promise<number> {
  const place = newSqlite()
  const db = await openDb(place.config, { clock: systemClock, log: silentLog })
  const client = clientOf(feeds)
  try {
    await migrate(db)
    await inApplyTransaction(db, silentObserver, 'bench', (transaction) =>
      transaction.apply(feeds.submissionIds.map((id) => trackFact('bench', id))),
    )
    const claims = await claimReads(db, { account: 'bench', submissionIds: feeds.submissionIds, limit: SUBMISSIONS * 3, leaseMs: DAY_MS })
    const reads = claims.filter((claim) => claim.read === 'events')
    const queue = new PQueue({ concurrency: CONCURRENCY })
    const options = { db, client, clock: systemClock, log: silentLog, observer: silentObserver, policy, cause: 'poll' as const }
    const startedAt = performance.now()
    const ends = await queue.addAll(reads.map((claim) => () => carryOutRead(options, claim, new AbortController().signal)))
    const seconds = (performance.now() - startedAt) / 1000
    if (ends.some((end) => end !== 'read')) throw new Error(`a feed read failed: ${ends.join()}`)
    look(place.config.path)
    return (SUBMISSIONS * EVENTS) / seconds
  } finally {
    await client.close()
    await db.close()
    await place.remove()
  }
}

async function bareFeedReads(feeds: ServedFeeds): Promise<number> {
  const agent = new Agent()
  const access_token = await bareToken(feeds, agent)
  const queue = new PQueue({ concurrency: CONCURRENCY })
  const startedAt = performance.now()
  const counts = await queue.addAll(
    feeds.submissionIds.map((id) => () => readFeedBare(`${feeds.baseUrl}/broker/submissions/${id}/events`, 'events', access_token, agent)),
  )
  const seconds = (performance.now() - startedAt) / 1000
  await agent.close()
  const events = counts.reduce((sum, n) => sum + n, 0)
  if (events !== SUBMISSIONS * EVENTS) throw new Error(`the bare feed reads saw ${events} events`)
  return events / seconds
}
