import { expect, it } from 'vitest'
import { inApplyTransaction } from '../../src/apply/apply.ts'
import { systemClock } from '../../src/base/clock.ts'
import { stateReads } from '../../src/model/reads.ts'
import { Counts } from '../tools/counts.ts'
import { testDatabases } from '../tools/databases.ts'
import { applyAll, changesOf } from '../tools/mirror.ts'
import { byPoll, observedEvent, observedMessage, trackFact, uuid, wireEvent, wireMessage } from '../tools/observations.ts'
import { closedAtEnd } from '../tools/servers.ts'

const ACCOUNT = 'acme'
const ID = uuid(9, 1)

it.each(testDatabases)('written rows are counted when they are committed, and only then, on $name', async ({ open }) => {
  let fails = true
  const failPoint = (point: string) => {
    if (fails && point === 'test:before-commit') throw new Error('no more')
  }
  const { db } = await closedAtEnd(open({ failPoint }))
  const counts = new Counts()
  const written = (entity: string) => counts.of('applied_rows_total', { account: ACCOUNT, entity, operation: 'insert', cause: 'webhook' })
  const observations = [1, 2].map((n) => observedEvent(ACCOUNT, ID, wireEvent(n)))
  const apply = () => inApplyTransaction(db, counts, 'test', (transaction) => transaction.apply(observations))
  await expect(apply()).rejects.toThrow('no more')
  expect([written('market_events'), counts.of('apply_commit_seconds')]).toEqual([0, 0])
  fails = false
  await apply()
  expect([written('submissions'), written('market_events'), counts.of('apply_commit_seconds')]).toEqual([1, 2, 1])
})

it.each(testDatabases)('a record that the service still shows requests no read, on $name', async ({ open }) => {
  const { db } = await closedAtEnd(open())
  await applyAll(db, [trackFact(ACCOUNT, ID)])
  const reads = () => db.read.sql.selectFrom('sync_reads').selectAll().orderBy('read').execute()
  const before = await reads()
  await applyAll(db, [{ kind: 'reach', account: ACCOUNT, submissionId: ID, cause: 'reconcile', unreachableSince: null }])
  expect(await reads()).toEqual(before)
})

it.each(testDatabases)(
  'history requests no reads; a new record requests the state, and the feed that did not contain it, on $name',
  async ({ open }) => {
    const { db } = await closedAtEnd(open())
    await applyAll(db, [trackFact(ACCOUNT, ID)])
    const requested = async () => {
      const reads = await db.read.sql.selectFrom('sync_reads').select('read').where('request_no', '>', 0).execute()
      await db.write('test', (tx) => tx.sql.updateTable('sync_reads').set({ request_no: 0 }).execute())
      return new Set(reads.map(({ read }) => read))
    }
    const minutesAgo = (minutes: number) => new Date(systemClock.now() - minutes * 60_000).toISOString()
    const firstFeedRead = { ...byPoll, isFullRead: true, firstFeedRead: true }
    const event = (n: number, occurred_at: string) => observedEvent(ACCOUNT, ID, wireEvent(n, { occurred_at }), firstFeedRead)
    const message = (n: number, occurred_at: string) => observedMessage(ACCOUNT, ID, wireMessage(n, { occurred_at }), firstFeedRead)
    await applyAll(db, [event(1, minutesAgo(120)), message(1, minutesAgo(120))])
    expect(await requested()).toEqual(new Set())
    await applyAll(db, [event(2, minutesAgo(5))])
    expect(await requested()).toEqual(new Set(['thread', ...stateReads]))
    await applyAll(db, [message(2, minutesAgo(5))])
    expect(await requested()).toEqual(new Set(['events', ...stateReads]))
  },
)

it.each(testDatabases)('records that become known together are logged in the order in which they happened, on $name', async ({ open }) => {
  const { db } = await closedAtEnd(open())
  const times = ['2026-11-20T10:03:00Z', '2026-11-20T10:01:00+00:00', '2026-11-20T12:02:00+02:00', '2026-11-20T10:01:00Z']
  const observations = times.flatMap((occurred_at, n) => [
    observedMessage(ACCOUNT, ID, wireMessage(n, { occurred_at })),
    observedEvent(ACCOUNT, ID, wireEvent(n, { occurred_at })),
  ])
  await applyAll(db, observations.reverse())
  const logged = async (entity: string) =>
    (await changesOf(db)).filter((change) => change.entity === entity).map((change) => (JSON.parse(change.entity_id) as string[])[1])
  expect(await logged('market_events')).toEqual([1, 3, 2, 0].map((n) => uuid(1, n)))
  expect(await logged('thread_messages')).toEqual([1, 3, 2, 0].map((n) => uuid(2, n)))
})
