import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { TransientError } from '../../src/base/errors.ts'
import type { Db } from '../../src/store/engine/db.ts'
import { InboxAppender, type NewDelivery } from '../../src/store/inbox/append.ts'
import { migrate } from '../../src/store/migrate/migrate.ts'
import { newPostgres, openAgain } from '../tools/databases.ts'
import { type Server, startPostgres } from '../tools/postgres-server.ts'
import { ask, waitFor } from '../tools/postgres-standby.ts'
import { until } from '../tools/until.ts'

const UNKNOWN = /^It is unknown whether the transaction was committed: the wait for the standby server was canceled/
/** Size of both pools of a process. */
const POOLS = 10

let server: Server
let db: Db

beforeAll(async () => {
  server = await startPostgres({ fsync: false })
  db = await openAgain(newPostgres(server.url).config)
  await migrate(db)
})
afterEach(() => waitFor(server, ''))
afterAll(async () => {
  await db.close()
  await server.remove()
})

/** Names a missing standby, and waits until commits wait for it. The server's processes read a setting at different times. */
async function waitForAbsent(): Promise<void> {
  await waitFor(server, 'absent')
  for (let waited = false; !waited; ) {
    let isOver = false
    const probe = ask(server, (client) => client.query("select pg_logical_emit_message(true, 'probe', '')")).finally(() => {
      isOver = true
    })
    await ask(server, (client) =>
      until('the probe waits or has ended', async () => {
        waited = ((await client.query(CANCEL)).rowCount ?? 0) > 0
        return waited || isOver
      }),
    )
    await probe
  }
}

const CANCEL = "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'"

/** Cancels commits that wait for the standby, as an administrator may. */
async function cancelWaiting(): Promise<void> {
  await ask(server, (client) =>
    until('a commit waits', async () => {
      const { rowCount } = await client.query(CANCEL)
      return (rowCount ?? 0) > 0
    }),
  )
}

const sessions = () =>
  ask(server, async (client) => {
    const { rows } = await client.query("select count(*)::int as count from pg_stat_activity where application_name = 'submission-mirror'")
    return rows[0].count as number
  })

function delivery(id: string): NewDelivery {
  return { account: 'default', deliveryId: id, receivedAt: '2026-01-31T00:00:00.000000Z', headers: {}, body: Buffer.from('{}'), secret: 1 }
}

function count(account: string): Promise<unknown> {
  return db.write('test', (tx) => tx.run(sql`insert into sync_counters values (${account}, 'n', '', 1)`))
}

it('treats a commit whose wait for the standby was canceled as of unknown outcome', async () => {
  await waitForAbsent()
  const transaction = count('cut')
  await Promise.all([expect(transaction).rejects.toThrow(UNKNOWN), cancelWaiting()])
  await expect(transaction).rejects.toThrow(TransientError)
  const [[outcome]] = await Promise.all([new InboxAppender(db).append([delivery('cut')]), cancelWaiting()])
  expect(outcome?.message).toMatch(UNKNOWN)
  expect(outcome).toBeInstanceOf(TransientError)
})

it('acknowledges no repeat of a delivery before the first is on the standby', async () => {
  const appender = new InboxAppender(db)
  await waitForAbsent()
  await Promise.all([appender.append([delivery('repeated')]), cancelWaiting()])
  const [[outcome]] = await Promise.all([appender.append([delivery('repeated')]), cancelWaiting()])
  expect(outcome?.message).toMatch(UNKNOWN)
  await waitFor(server, '')
  expect(await appender.append([delivery('repeated')])).toEqual([null])
})

it('never exceeds its pool sizes, however long the standby is away, and continues automatically when it is back', async () => {
  await waitForAbsent()
  const send = pg.Client.prototype.query as (query: object | string) => unknown
  const spy = vi.spyOn(pg.Client.prototype, 'query')
  // The client stops waiting for the answer here.
  spy.mockImplementation(function (this: pg.Client, query: object | string) {
    return send.call(this, typeof query === 'string' ? query : { ...query, query_timeout: 300 })
  } as never)
  onTestFinished(() => spy.mockRestore())
  const appender = new InboxAppender(db)
  for (let round = 0; round < 4; round++) {
    const appends = Array.from({ length: 4 }, (_, i) => appender.append([delivery(`away-${round}-${i}`)]))
    const counts = Array.from({ length: 10 }, (_, i) =>
      count(`away-${round}-${i}`).then(
        () => 'done',
        () => null,
      ),
    )
    for (const [outcome] of await Promise.all(appends)) expect(outcome).toBeInstanceOf(TransientError)
    expect(new Set(await Promise.all(counts))).toEqual(new Set([null]))
    expect(await sessions()).toBeLessThanOrEqual(POOLS)
  }
  const [refused] = await appender.append([delivery('away')])
  expect(refused?.message).toMatch(/^Postgres does not answer on any of 2 connections; check whether commits wait for a standby/)
  await waitFor(server, '')
  await until('it takes deliveries', async () => (await appender.append([delivery('away')]))[0] === null)
  await until('it writes', () =>
    count('back').then(
      () => true,
      () => false,
    ),
  )
})
