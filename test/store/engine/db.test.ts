import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { TransientError } from '../../../src/base/errors.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import type { Db, Tx } from '../../../src/store/engine/db.ts'
import { dbTime } from '../../../src/store/engine/sql.ts'
import { type OpenedDatabase, openAgain, testDatabases } from '../../tools/databases.ts'

function note(tx: Tx, name: string, value = 1): Promise<unknown> {
  return tx.sql.insertInto('sync_counters').values({ account: 'acme', name, label: '', value }).execute()
}

async function noted(db: Db): Promise<string[]> {
  return (await db.read.sql.selectFrom('sync_counters').select('name').orderBy('name').execute()).map((row) => row.name)
}

describe.each(testDatabases)('a database on $name', ({ open }) => {
  let opened: OpenedDatabase
  let db: Db
  const points: string[] = []

  beforeEach(async () => {
    points.length = 0
    opened = await open({ failPoint: (point) => points.push(point) })
    db = opened.db
    points.length = 0
  })
  afterEach(() => opened.close())

  it('keeps the writes of a transaction, and names its fail points', async () => {
    expect(await db.write('noting', (tx) => note(tx, 'a').then(() => 'done'))).toBe('done')
    expect(await noted(db)).toEqual(['a'])
    expect(points).toEqual(['noting:before-commit', 'noting:after-commit'])
  })

  it('keeps nothing of a transaction that throws, skips its `afterCommit`, and continues', async () => {
    const after: string[] = []
    const failing = db.write('failing', async (tx) => {
      await note(tx, 'a')
      tx.afterCommit(() => after.push('never'))
      throw new RangeError('no')
    })
    await expect(failing).rejects.toThrow(RangeError)
    const breaking = db.write('breaking', async (tx) => {
      await note(tx, 'b')
      await tx.run(sql`select no_such_column from sync_counters`)
    })
    await expect(breaking).rejects.toThrow(/no_such_column/)
    await db.write('good', async (tx) => {
      await note(tx, 'c')
      tx.afterCommit(() => after.push('after'))
    })
    expect(await noted(db)).toEqual(['c'])
    expect(after).toEqual(['after'])
    expect(points).toEqual(['good:before-commit', 'good:after-commit'])
  })

  it('rejects statements of an ended transaction', async () => {
    let escaped: Tx | undefined
    await db.write('first', async (tx) => {
      escaped = tx
    })
    const tx = escaped as Tx
    await db.write('second', async (other) => {
      await expect(note(tx, 'stray')).rejects.toThrow(/has ended/)
      await note(other, 'own')
    })
    expect(await noted(db)).toEqual(['own'])
  })

  it('runs many concurrent transactions without losing an update', async () => {
    await db.write('start', (tx) => note(tx, 'sum', 0))
    const add = () =>
      db.write('add', async (tx) => {
        await tx.sql
          .updateTable('sync_counters')
          .set((e) => ({ value: e('value', '+', 1) }))
          .where('name', '=', 'sum')
          .execute()
      })
    await Promise.all(Array.from({ length: 60 }, add))
    expect(await db.read.sql.selectFrom('sync_counters').select('value').execute()).toEqual([{ value: 60 }])
  })

  it('runs a priority transaction before waiting ones', async () => {
    const order: string[] = []
    const [hold, started] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    // The most that run concurrently on either database are held; more wait behind them.
    const holding = Array.from({ length: 8 }, (_, i) =>
      db.write('hold', async () => {
        started.resolve()
        await hold.promise
        order.push(`held ${i}`)
      }),
    )
    await started.promise
    const waiting = db.write('waiting', async () => void order.push('waiting'))
    const first = db.write('first', async () => void order.push('first'), { priority: true })
    if (db.kind === 'postgres') await first
    hold.resolve()
    await Promise.all([...holding, waiting, first])
    expect(order.indexOf('first')).toBeLessThan(order.indexOf('waiting'))
    expect(order.indexOf('first')).toBe(db.kind === 'postgres' ? 0 : 1)
  })

  it('reads committed data while a transaction is open', async () => {
    await db.write('a', (tx) => note(tx, 'a'))
    await db.write('b', async (tx) => {
      await note(tx, 'b')
      expect(await noted(db)).toEqual(['a'])
    })
    expect(await noted(db)).toEqual(['a', 'b'])
  })

  it('returns rows of plain statements in one shape on both databases', async () => {
    const time = '2026-01-31T08:00:00.000001Z'
    await db.write('shapes', async (tx) => {
      const key = { account: 'acme', submission_id: 's', lane_id: 'l', state_source: 'rail' }
      const lane = { ...key, bound: true, gapped: false, lines: JSON.stringify(['gl']), gone_at: time } as never
      await tx.sql.insertInto('lanes').values(lane).execute()
      const ready = { account: 'acme', delivery_id: 'd', received_at: time, secret: 1, state: 'ready', attempts: 0, available_at: time }
      const delivery = { ...ready, headers: '{}', body: Buffer.from([0, 255, 10]) } as never
      await tx.sql.insertInto('sync_inbox').values(delivery).execute()
    })
    const columns = ['bound', 'gapped', 'submit_ready', 'lines', 'unmet_labels', 'gone_at'] as const
    const lane = await db.read.sql.selectFrom('lanes').select(columns).executeTakeFirstOrThrow()
    expect(lane).toEqual({ bound: true, gapped: false, submit_ready: null, lines: ['gl'], unmet_labels: null, gone_at: time })
    const delivery = await db.read.sql.selectFrom('sync_inbox').selectAll().executeTakeFirstOrThrow()
    expect(delivery).toMatchObject({ inbox_id: 1, received_at: time, lease_token: null })
    expect(Buffer.from(delivery.body ?? []).equals(Buffer.from([0, 255, 10]))).toBe(true)
    expect(await db.read.count(sql`select count(*) from lanes`)).toBe(1)
    const updated = await db.write('update', (tx) =>
      tx.sql.updateTable('lanes').set({ status: 'x' }).where('bound', '=', true).executeTakeFirst(),
    )
    expect(updated.numUpdatedRows).toBe(1n)
  })

  it('returns times as TimeText', async () => {
    const rows = await db.read.sql.selectFrom('mirror_info').select(dbTime(db.read, 60_000).as('soon')).execute()
    expect(rows[0]?.soon).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    expect(rows[0]?.soon.localeCompare(timeFromMs(Date.now()))).toBe(1)
  })

  it('waits for a running transaction before it closes, and accepts none after', async () => {
    const [hold, started] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = db.write('hold', async (tx) => {
      started.resolve()
      await hold.promise
      await note(tx, 'held')
    })
    await started.promise
    const closing = db.close()
    hold.resolve()
    await Promise.all([holding, closing])
    await expect(db.write('late', (tx) => note(tx, 'late'))).rejects.toThrow(TransientError)
    const again = await openAgain(opened.config)
    expect(await noted(again)).toEqual(['held'])
    await again.close()
  })
})
