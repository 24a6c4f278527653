import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { marketEvents } from '../../../src/model/entities/market-events.ts'
import type { Db, FailPoint } from '../../../src/store/engine/db.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { startChild } from '../../tools/child.ts'
import { newSqlite, openAgain } from '../../tools/databases.ts'
import { applyAll } from '../../tools/mirror.ts'
import { observedEvent, uuid, wireEvent } from '../../tools/observations.ts'

async function opened(failPoint?: FailPoint): Promise<{ db: Db; path: string }> {
  const { config, remove } = newSqlite()
  const db = await openAgain(config, failPoint ? { failPoint } : {})
  onTestFinished(async () => {
    await db.close()
    await remove()
  })
  await migrate(db)
  return { db, path: config.path }
}

const counter = (account: string) => ({ account, name: 'n', label: '', value: 1 })

async function accounts(db: Db): Promise<string[]> {
  const rows = await db.read.sql.selectFrom('sync_counters').select('account').orderBy('account').execute()
  return rows.map((row) => row.account)
}

it('a transaction in the thread is committed completely or not at all, and ends with its work', async () => {
  const { db } = await opened()
  const write = (account: string, fail: boolean) =>
    db.write(
      'aside',
      async (tx) => {
        await tx.sql.insertInto('sync_counters').values(counter(account)).execute()
        if (fail) throw new Error('on purpose')
        return tx
      },
      { onWorkerThread: true },
    )
  await expect(write('a', true)).rejects.toThrow('on purpose')
  expect(await accounts(db)).toEqual([])
  const tx = await write('b', false)
  expect(await accounts(db)).toEqual(['b'])
  await expect(tx.sql.insertInto('sync_counters').values(counter('c')).execute()).rejects.toThrow(/has ended/)
  await expect(write('b', false)).rejects.toThrow(/UNIQUE/)
})

it('statements after the end of a failed transaction are rejected, and not committed separately', async () => {
  const { db } = await opened()
  const writing = db.write(
    'aside',
    async (tx) => {
      await tx.sql.insertInto('sync_counters').values(counter('a')).execute()
      // Like a full disk, or a restarted thread.
      await tx.run(sql`rollback`)
      await tx.sql.insertInto('sync_counters').values(counter('b')).execute()
    },
    { onWorkerThread: true },
  )
  await expect(writing).rejects.toThrow('ended before it was committed')
  expect(await accounts(db)).toEqual([])
})

it('the event loop turns while a transaction aside is at work, and other writers wait for it', async () => {
  const { db } = await opened()
  let turns = 0
  let over = false
  const turning = (async () => {
    for (; !over; turns++) await new Promise(setImmediate)
  })()
  const order: string[] = []
  const long = db.write(
    'aside',
    async (tx) => {
      const row = await tx.one(sql<{ n: number }>`
        with recursive c(n) as (select 1 union all select n + 1 from c where n < 500000) select count(*) as n from c`)
      order.push('aside')
      return row?.n
    },
    { onWorkerThread: true },
  )
  const other = db.write('other', async (tx) => {
    order.push('other')
    await tx.sql.insertInto('sync_counters').values(counter('other')).execute()
  })
  expect(await long).toBe(500_000)
  await other
  over = true
  await turning
  expect(order).toEqual(['aside', 'other'])
  expect(turns).toBeGreaterThan(20)
})

it('it reads and writes rows as any transaction does, and stops at the same points', async () => {
  const points: string[] = []
  const { db } = await opened((point) => points.push(point))
  await applyAll(db, [observedEvent('acme', uuid(9, 1), wireEvent(1)), observedEvent('acme', uuid(9, 1), wireEvent(2))])
  const before = await db.read.selectWhere(marketEvents, { account: 'acme' })
  points.length = 0
  await db.write(
    'aside',
    async (tx) => {
      expect(await tx.selectWhere(marketEvents, { account: 'acme' })).toEqual(before)
      expect(await tx.selectMany(marketEvents, before.slice(0, 1))).toEqual(before.slice(0, 1))
      expect(await tx.selectOfSubmissions(marketEvents, 'acme', [uuid(9, 1)], 1)).toHaveLength(1)
      expect(await tx.insertMany(marketEvents, before, { ignore: true })).toBe(0)
      expect(await tx.updateMany(marketEvents, ['detail'], [{ ...before[0], detail: 'changed' }])).toBe(1)
      tx.afterCommit(() => points.push('after'))
    },
    { onWorkerThread: true },
  )
  expect(points).toEqual(['aside:before-commit', 'aside:after-commit', 'after'])
  expect((await db.read.selectWhere(marketEvents, { account: 'acme' }))[0]?.['detail']).toBe('changed')
})

it("waits for another process's lock in its own thread", async () => {
  const { db, path } = await opened()
  const other = startChild('store/children/hold-lock.ts', [path])
  await other.says('locked')
  const writing = db.write('aside', (tx) => tx.sql.insertInto('sync_counters').values(counter('a')).execute(), { onWorkerThread: true })
  for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate)
  other.tell('let go')
  await other.says('released')
  await writing
  expect(await accounts(db)).toEqual(['a'])
})
