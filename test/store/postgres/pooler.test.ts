import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { TransientError } from '../../../src/base/errors.ts'
import type { Db } from '../../../src/store/engine/db.ts'
import { InboxAppender, type NewDelivery } from '../../../src/store/inbox/append.ts'
import { migrate } from '../../../src/store/migrate/migrate.ts'
import { newPostgres, openAgain } from '../../tools/databases.ts'
import { Pooler } from '../../tools/pooler.ts'

const AT_ONCE = 12

function delivery(): NewDelivery {
  return {
    account: 'acme',
    deliveryId: randomUUID(),
    receivedAt: '2026-01-05T12:00:00.000000Z',
    headers: {},
    body: Buffer.from('{}'),
    secret: 1,
  }
}

// A pooler is named in the settings, or detected.
describe.each([true, false])('behind a pooler that shares sessions by transaction (a way past it is named: %s)', (named) => {
  let pooler: Pooler
  let place: ReturnType<typeof newPostgres>
  let db: Db

  beforeAll(async () => {
    pooler = await Pooler.start(inject('postgresUrl'))
    place = newPostgres(inject('postgresUrl'))
    const url = { reveal: () => pooler.url }
    db = await openAgain({ ...place.config, url, listenUrl: named ? place.config.url : url })
    await migrate(db)
  })
  afterAll(async () => {
    await db.close()
    await pooler.close()
    await place.remove()
  })

  it('deliveries are stored, each durably and once', async () => {
    const appender = new InboxAppender(db)
    const deliveries = Array.from({ length: 30 }, delivery)
    for (const each of [...deliveries, ...deliveries]) expect(await appender.append([each])).toEqual([null])
    const rows = await db.read.all(sql<{ n: number }>`select count(*)::int as n from sync_inbox`)
    expect(rows).toEqual([{ n: deliveries.length }])
  })

  it('nothing meets the settings of another session', async () => {
    const look = sql<{ where: string; durable: string; zone: string }>`
      select current_schema() as "where", current_setting('synchronous_commit') as durable, current_setting('timezone') as zone`
    const seen = await Promise.all(
      Array.from({ length: AT_ONCE }, async () => [
        await db.read.one(look),
        await db.write('look', async (tx) => await tx.one(look), { singleStatement: true }),
      ]),
    )
    for (const each of seen.flat()) expect(each).toEqual({ where: place.config.schema, durable: 'on', zone: 'UTC' })
  })

  it('settings of other clients stay unchanged', async () => {
    const other = new pg.Client({ connectionString: pooler.url })
    await other.connect()
    for (let n = 0; n < AT_ONCE; n++) {
      await db.write('work', async (tx) => tx.run(sql`select 1`))
      const { rows } = await other.query(`select current_setting('search_path') as path, current_setting('statement_timeout') as most`)
      expect(rows).toEqual([{ path: '"$user", public', most: '0' }])
    }
    await other.end()
  })
})

it('a pooler that logs in and gives no session to a statement holds no connection for ever', async () => {
  const pooler = await Pooler.start(inject('postgresUrl'))
  const place = newPostgres(inject('postgresUrl'))
  const url = { reveal: () => pooler.url }
  const db = await openAgain({ ...place.config, url, listenUrl: url })
  await migrate(db)
  const other = await openAgain({ ...place.config, url, listenUrl: url })
  const appender = new InboxAppender(other)
  pooler.pause()
  const [failure] = await appender.append([delivery()])
  expect(failure).toBeInstanceOf(TransientError)
  pooler.resume()
  expect(await appender.append([delivery()])).toEqual([null])
  await Promise.all([db.close(), other.close()])
  await pooler.close()
  await place.remove()
})
