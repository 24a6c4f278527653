import { sql } from 'kysely'
import { describe, expect, it, onTestFinished } from 'vitest'
import { timeFromMs } from '../../../src/model/time.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender } from '../../../src/store/inbox/append.ts'
import { findDeliveries } from '../../../src/store/inbox/queries.ts'
import { openReportReader } from '../../../src/store/sqlite/report-reader.ts'
import { testDatabases } from '../../tools/databases.ts'

describe.each(testDatabases)('a database that is read aside, on $name', ({ name, open }) => {
  async function opened(): Promise<{ db: Db; aside: Db }> {
    const { db, config, close } = await open()
    const aside = openReportReader(db, config)
    onTestFinished(async () => {
      await aside.close()
      await close()
    })
    return { db, aside }
  }

  it('reads committed data, like the database itself', async () => {
    const { db, aside } = await opened()
    const delivery = { account: 'acme', deliveryId: 'msg_1', receivedAt: timeFromMs(Date.now()), headers: { a: 'b' }, secret: 1 }
    await new InboxAppender(aside).append([{ ...delivery, body: Buffer.from('{"n":1}') }])
    const [found] = await findDeliveries(aside.read, 'msg_1')
    expect(found).toEqual((await findDeliveries(db.read, 'msg_1'))[0])
    expect(found?.body?.toString('utf8')).toBe('{"n":1}')
    await aside.write('test', (tx) => tx.sql.deleteFrom('sync_inbox').execute())
    expect(await findDeliveries(aside.read, 'msg_1')).toEqual([])
  })

  it('lets the event loop turn while it reads', async () => {
    const { aside } = await opened()
    await aside.read.sql.selectFrom('mirror_info').selectAll().execute()
    let turns = 0
    let over = false
    const turn = () => {
      turns += 1
      if (!over) setImmediate(turn)
    }
    setImmediate(turn)
    const much = sql<{
      n: number
    }>`with recursive r(n) as (select 1 union all select n + 1 from r where n < 300000) select count(*) as n from r`
    expect(await aside.read.all(much)).toEqual([{ n: 300_000 }])
    over = true
    expect(turns).toBeGreaterThan(0)
  })

  it('throws the same errors as the database, and continues', async () => {
    const { aside } = await opened()
    await expect(aside.read.run(sql`select * from nowhere`)).rejects.toThrow(/nowhere/)
    expect(await aside.read.sql.selectFrom('mirror_info').select('id').execute()).toEqual([{ id: 1 }])
  })

  it('ends nothing but its own reading when it is closed', async () => {
    const { db, aside } = await opened()
    await aside.read.sql.selectFrom('mirror_info').selectAll().execute()
    await aside.close()
    expect(await db.read.sql.selectFrom('mirror_info').select('id').execute()).toEqual([{ id: 1 }])
    expect(aside.kind).toBe(name)
  })
})
