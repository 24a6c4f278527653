import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { inApplyTransaction } from '../../../src/apply/apply.ts'
import { silentObserver } from '../../../src/base/observer.ts'
import type { Change } from '../../../src/model/change.ts'
import { marketEvents } from '../../../src/model/entities/market-events.ts'
import { appendChanges } from '../../../src/store/changes/change-log.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { type OpenedDatabase, openAgain, testDatabases } from '../../tools/databases.ts'
import { applyAll, changesOf, rowsOf } from '../../tools/mirror.ts'
import { byPoll, byWebhook, observedEvent, trackFact, uuid, wireEvent } from '../../tools/observations.ts'

const ACCOUNT = 'acme'

async function opened(open: () => Promise<OpenedDatabase>, handles: number): Promise<Db[]> {
  const first = await open()
  const others = await Promise.all(Array.from({ length: handles - 1 }, () => openAgain(first.config)))
  onTestFinished(async () => {
    for (const other of others) await other.close()
    await first.close()
  })
  return [first.db, ...others]
}

/** Follows the change log as a reader does, by `seq > last`, until `isOver` and there are no more rows. */
async function follow(db: Db, isOver: () => boolean): Promise<number[]> {
  const seen: number[] = []
  for (;;) {
    const over = isOver()
    const rows = await db.read.all(sql<{ seq: number }>`select seq from changes where seq > ${seen.at(-1) ?? 0} order by seq limit 50`)
    seen.push(...rows.map((row) => row.seq))
    if (over && rows.length === 0) return seen
    await nextTurn()
  }
}

/** Many concurrent transactions on several submissions and handles, each event twice. */
async function writeAll(dbs: readonly Db[], transactions: number): Promise<void> {
  const submissions = [uuid(9, 1), uuid(9, 2), uuid(9, 3), uuid(9, 4)]
  const jobs = Array.from({ length: transactions * 2 }, (_, n) => n % transactions)
  const workers = dbs
    .flatMap((db) => [db, db])
    .map(async (db) => {
      for (let n = jobs.pop(); n !== undefined; n = jobs.pop()) {
        const [one = '', other = ''] = [submissions[n % 4], submissions[(n + 1) % 4]]
        const observations = [
          observedEvent(ACCOUNT, one, wireEvent(n), byWebhook),
          observedEvent(ACCOUNT, other, wireEvent(n + 10_000), byPoll),
          observedEvent(ACCOUNT, one, wireEvent(n + 20_000), byPoll),
        ]
        await applyAll(db, n % 2 ? observations : observations.reverse())
      }
    })
  await Promise.all(workers)
}

describe.each(testDatabases)('invariant 9: the change log on $name', ({ name, open }) => {
  it('a reader that continues from its last number gets every change once, in order, with many writers', async () => {
    // On SQLite one process writes, through one connection.
    const dbs = await opened(open, name === 'postgres' ? 4 : 1)
    let over = false
    const following = follow(dbs.at(-1) as Db, () => over)
    await writeAll(dbs, 150)
    over = true
    const seen = await following
    expect(seen).toEqual(seen.map((_, index) => index + 1))
    const changes = await changesOf(dbs[0] as Db)
    expect(seen).toHaveLength(changes.length)
    expect(changes.filter((change) => change.entity === 'market_events')).toHaveLength(450)
    expect(await rowsOf(dbs[0] as Db, marketEvents)).toHaveLength(450)
  })

  it('the changes of a transaction are numbered in the order in which they were made', async () => {
    const [db] = (await opened(open, 1)) as [Db]
    const changes = [2, 1, 3].map((n): Change => {
      const entity_id = JSON.stringify([uuid(9, 1), uuid(1, n)])
      const about = { account: ACCOUNT, submission_id: uuid(9, 1), entity: marketEvents.table, entity_id, cause: 'poll' } as const
      return { ...about, operation: 'update', before: { detail: null }, after: { detail: String(n) } }
    })
    await db.write('test', (tx) => appendChanges(tx, changes))
    expect((await changesOf(db)).map(({ seq, entity_id }) => [seq, entity_id])).toEqual(
      changes.map(({ entity_id }, index) => [index + 1, entity_id]),
    )
  })

  it('a transaction that is rolled back leaves no gap', async () => {
    const [db] = (await opened(open, 1)) as [Db]
    await applyAll(db, [trackFact(ACCOUNT, uuid(9, 1))])
    const failing = inApplyTransaction(db, silentObserver, 'test-failing', async (transaction) => {
      await transaction.apply([observedEvent(ACCOUNT, uuid(9, 1), wireEvent(1))])
      throw new Error('after all')
    })
    await expect(failing).rejects.toThrow('after all')
    await applyAll(db, [observedEvent(ACCOUNT, uuid(9, 1), wireEvent(2))])
    const changes = await changesOf(db)
    expect(changes.map((change) => change.seq)).toEqual(changes.map((_, index) => index + 1))
    expect(changes.some((change) => change.entity_id.includes(uuid(1, 1)))).toBe(false)
    const info = await db.read.sql.selectFrom('mirror_info').selectAll().executeTakeFirstOrThrow()
    expect(info.last_seq).toBe(changes.length)
  })

  it('applying unchanged data writes nothing, and a changed raw alone is no change', async () => {
    const [db] = (await opened(open, 1)) as [Db]
    await applyAll(db, [observedEvent(ACCOUNT, uuid(9, 1), wireEvent(1), byPoll)])
    const before = await changesOf(db)
    await applyAll(db, [observedEvent(ACCOUNT, uuid(9, 1), wireEvent(1), byWebhook)])
    await applyAll(db, [observedEvent(ACCOUNT, uuid(9, 1), wireEvent(1, { trace: 'new' }), byPoll)])
    expect(await changesOf(db)).toHaveLength(before.length)
    expect(String((await rowsOf(db, marketEvents))[0]?.['raw'])).toContain('"trace":"new"')
  })

  it('holds the changed columns before and after, all of them on insert, and never raw', async () => {
    const [db] = (await opened(open, 1)) as [Db]
    await applyAll(db, [observedEvent(ACCOUNT, uuid(9, 1), wireEvent(1, { detail: null }))])
    await applyAll(db, [observedEvent(ACCOUNT, uuid(9, 1), wireEvent(1, { detail: 'Out of appetite' }), byPoll)])
    const [insert, fill] = (await changesOf(db)).filter((change) => change.entity === 'market_events')
    const columns = Object.keys(marketEvents.columns).filter((column) => column !== 'raw')
    expect(insert).toMatchObject({
      operation: 'insert',
      before: null,
      cause: 'webhook',
      entity_id: JSON.stringify([uuid(9, 1), uuid(1, 1)]),
    })
    expect(Object.keys(insert?.after ?? {}).sort()).toEqual(columns.sort())
    expect(fill).toMatchObject({ operation: 'update', before: { detail: null }, after: { detail: 'Out of appetite' }, cause: 'poll' })
    expect(Object.keys(fill?.after ?? {})).toEqual(['detail'])
  })
})
