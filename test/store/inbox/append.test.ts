import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { TransientError } from '../../../src/base/errors.ts'
import { timeFromMs } from '../../../src/model/time.ts'
import { InboxAppender, type NewDelivery } from '../../../src/store/inbox/append.ts'
import { type DifferingDelivery, differingSince } from '../../../src/store/inbox/repeats.ts'
import { claimDeliveries, settleDeliveries } from '../../../src/store/inbox/work.ts'
import { addReads } from '../../../src/store/reads/reads.ts'
import type { InboxState } from '../../../src/store/schema/inbox.ts'
import { type OpenedDatabase, openAgain, testDatabases } from '../../tools/databases.ts'
import { meddled } from '../../tools/meddled.ts'

function delivery(deliveryId: string, over: Partial<NewDelivery> = {}): NewDelivery {
  return {
    account: 'acme',
    deliveryId,
    receivedAt: '2026-05-04T12:00:00.123000Z',
    headers: { 'svix-id': deliveryId, 'content-type': 'application/json; charset="utf-8"' },
    body: Buffer.from(`body of ${deliveryId}`),
    secret: 1,
    ...over,
  }
}

describe.each(testDatabases)('InboxAppender on $name', (database) => {
  let opened: OpenedDatabase
  let appender: InboxAppender

  beforeEach(async () => {
    opened = await database.open()
    appender = new InboxAppender(opened.db)
  })
  afterEach(() => opened.close())

  const rows = () => opened.db.read.sql.selectFrom('sync_inbox').selectAll().orderBy('inbox_id').execute()
  const ids = async () => (await rows()).map((row) => row.delivery_id)

  async function settleAll(state: InboxState): Promise<void> {
    const claimed = await claimDeliveries(opened.db, 100, 60_000)
    const error = state === 'dead' ? 'poison' : null
    const settlements = claimed.map((one) => ({ delivery: one, state, submissionId: null, kind: null, error }))
    await opened.db.write('settle', (tx) => settleDeliveries(tx, settlements))
  }

  it('stores deliveries as received, in their order, ready to be claimed', async () => {
    const bodies = [Buffer.alloc(0), Buffer.from([0, 0xff, 0xfe, 0x00]), Buffer.from('not json {\\"\u0000'), Buffer.alloc(300_000, 'é')]
    const given = bodies.map((body, n) => delivery(`msg_${9 - n}`, { body, secret: n + 1 }))
    expect(await appender.append(given)).toEqual([null, null, null, null])
    const fresh = { account: 'acme', state: 'ready', attempts: 0, lease_token: null, settled_at: null }
    const wanted = given.map(({ deliveryId, receivedAt, secret, headers, body }) => {
      return { ...fresh, delivery_id: deliveryId, received_at: receivedAt, secret, headers: JSON.stringify(headers), body }
    })
    expect(await rows()).toMatchObject(wanted)
    expect((await claimDeliveries(opened.db, 10, 1000)).map((claimed) => claimed.deliveryId)).toEqual(given.map((one) => one.deliveryId))
  })

  it('trap 27: a repeat changes nothing, in the same batch or later', async () => {
    expect(await appender.append([delivery('a'), delivery('b'), delivery('a', { body: Buffer.from('again') })])).toEqual([null, null, null])
    expect(await appender.append([delivery('c'), delivery('b'), delivery('a', { body: Buffer.from('later') })])).toEqual([null, null, null])
    expect((await rows()).map((row) => `${row.delivery_id}: ${row.body}`)).toEqual(['a: body of a', 'b: body of b', 'c: body of c'])
  })

  it('trap 36: the same id in two accounts is two deliveries', async () => {
    await appender.append([delivery('a', { account: 'acme' }), delivery('a', { account: 'acme-staging' })])
    expect((await rows()).map((row) => row.account)).toEqual(['acme', 'acme-staging'])
  })

  it('makes only a dead delivery ready again when it is repeated', async () => {
    for (const state of ['dead', 'done', 'aside'] as const) {
      await appender.append([delivery(state)])
      await settleAll(state)
    }
    await opened.db.write('purge', (tx) => tx.sql.updateTable('sync_inbox').set({ body: null }).where('delivery_id', '=', 'dead').execute())
    const outcomes = await appender.append(['dead', 'done', 'aside', 'new'].map((id) => delivery(id)))
    expect(outcomes).toEqual([null, null, null, null])
    const shown = (await rows()).map((row) => `${row.delivery_id} ${row.state} ${row.attempts} ${row.error} ${row.settled_at === null}`)
    expect(shown).toEqual(['dead ready 0 null true', 'done done 1 null false', 'aside aside 1 null false', 'new ready 0 null true'])
    // Its body had been purged: the repeat brings it back.
    expect((await claimDeliveries(opened.db, 10, 1000)).map((one) => String(one.body))).toEqual(['body of dead', 'body of new'])
  })

  it('makes no delivery of another account ready again, and keeps the first body', async () => {
    await appender.append([delivery('a', { account: 'acme-staging' })])
    await settleAll('dead')
    await appender.append([delivery('a')])
    await settleAll('dead')
    expect(await appender.append([delivery('a', { body: Buffer.from('again') })])).toEqual([null])
    const shown = (await rows()).map(({ account, state, body }) => `${account} ${state}: ${body}`)
    expect(shown).toEqual(['acme-staging dead: body of a', 'acme ready: body of a'])
  })

  it('wakes the workers after the commit', async () => {
    const abort = new AbortController()
    await opened.db.signals.wait('inbox', 0, abort.signal)
    const woken = opened.db.signals.wait('inbox', 3_600_000, abort.signal)
    await appender.append([delivery('a')])
    await woken
  })

  it('a delivery that cannot be stored never fails the others of its batch', async () => {
    const poison =
      database.name === 'sqlite'
        ? sql`create trigger poison before insert on sync_inbox when new.delivery_id = 'bad' begin select raise(abort, 'poison'); end`
        : sql`alter table sync_inbox add constraint poison check (delivery_id <> 'bad')`
    await opened.db.write('poison', (tx) => tx.run(poison))
    const outcomes = await appender.append([delivery('a'), delivery('bad'), delivery('b'), delivery('bad')])
    expect(outcomes).toEqual([null, expect.any(Error), null, expect.any(Error)])
    expect(await ids()).toEqual(['a', 'b'])
  })

  it('returns a TransientError for every delivery when the database is unreachable', async () => {
    const closed = await openAgain(opened.config)
    await closed.close()
    const outcomes = await new InboxAppender(closed).append([delivery('a'), delivery('b')])
    expect(outcomes).toEqual([1, 2].map(() => expect.any(TransientError)))
    expect(await ids()).toEqual([])
  })

  it('tries a batch of any size once while the database is unreachable', async () => {
    let tries = 0
    const away = meddled(opened.db, () => {
      tries += 1
      throw new TransientError('the store is away')
    })
    const outcomes = await new InboxAppender(away).append([delivery('a'), delivery('b'), delivery('c')])
    expect(outcomes).toEqual([1, 2, 3].map(() => expect.any(TransientError)))
    expect(tries).toBe(1)
  })

  it('reports the size of a failed batch until one as large is stored', async () => {
    let isAway = true
    const db = meddled(opened.db, async (_name, go) => {
      if (isAway) throw new TransientError('the store is away')
      return go()
    })
    const own = new InboxAppender(db)
    expect(own.failedBytes).toBe(0)
    const large = { ...delivery('b'), body: Buffer.alloc(1_000) }
    await own.append([delivery('a'), large])
    const failed = delivery('a').body.length + 1_000
    expect(own.failedBytes).toBe(failed)
    isAway = false
    await own.append([delivery('a')])
    expect(own.failedBytes).toBe(failed)
    await own.append([delivery('a'), large])
    expect(own.failedBytes).toBe(0)
  })

  it('does nothing for an empty batch', async () => {
    expect(await appender.append([])).toEqual([])
  })

  it('runs before waiting transactions', async () => {
    const order: string[] = []
    const note = (what: string) => () => order.push(what)
    const blocking = opened.db.write('blocking', () => new Promise<void>((resolve) => setImmediate(resolve)))
    const waiting = [1, 2, 3].map((n) => opened.db.write('waiting', async () => {}).then(note(`waiting ${n}`)))
    const first = appender.append([delivery('a')]).then(note('append'))
    await Promise.all([blocking, ...waiting, first])
    if (database.name === 'sqlite') expect(order).toEqual(['append', 'waiting 1', 'waiting 2', 'waiting 3'])
    expect(order).toHaveLength(4)
  })
})

describe.each(testDatabases)('the time at which an appended delivery is ready on $name', (database) => {
  it("is the database's, on SQLite our clock's", async () => {
    const clock = new ManualClock(Date.UTC(2026, 0, 1))
    const opened = await database.open({ clock })
    await new InboxAppender(opened.db).append([delivery('a')])
    const [row] = await opened.db.read.sql.selectFrom('sync_inbox').select('available_at').execute()
    if (database.name === 'sqlite') expect(row?.available_at).toBe('2026-01-01T00:00:00.000000Z')
    else expect(Date.parse(row?.available_at ?? '')).toBeGreaterThan(Date.UTC(2026, 0, 2))
    await opened.close()
  })
})

describe.each(testDatabases)('a delivery that is repeated with another body, on $name', (database) => {
  const SUBMISSION = '6f1f5c0e-0000-4000-8000-000000000001'
  const other = Buffer.from(`{"submission_id":"${SUBMISSION}"}`)
  let opened: OpenedDatabase
  let appender: InboxAppender
  let reported: DifferingDelivery[]

  beforeEach(async () => {
    opened = await database.open()
    reported = []
    appender = new InboxAppender(opened.db, (differing) => reported.push(differing))
    const now = timeFromMs(opened.db.clock.now())
    await opened.db.write('test', (tx) => addReads(tx, [{ account: 'acme', submissionId: SUBMISSION }], now, false))
  })
  afterEach(() => opened.close())

  const kept = () => opened.db.read.sql.selectFrom('sync_differing_deliveries').selectAll().orderBy('body_sha256').execute()
  const requested = async () =>
    (
      await opened.db.read.sql.selectFrom('sync_reads').select(['read', 'request_no']).where('request_no', '>', 0).orderBy('read').execute()
    ).map(({ read, request_no }) => `${read} ${request_no}`)
  const body = async (id: string) =>
    String((await opened.db.read.sql.selectFrom('sync_inbox').select('body').where('delivery_id', '=', id).executeTakeFirst())?.body)

  it('stores and reports the hash of each, and wakes the feeds of the submission that it names', async () => {
    await appender.append([delivery('a')])
    expect(await appender.append([delivery('b'), delivery('a', { body: other })])).toEqual([null, null])
    expect(await appender.append([delivery('a', { body: other })])).toEqual([null])
    const bodySha256 = createHash('sha256').update(other).digest('hex')
    expect(reported).toMatchObject([1, 2].map(() => ({ account: 'acme', deliveryId: 'a', bodySha256, isCompared: true })))
    expect(await kept()).toMatchObject([{ account: 'acme', delivery_id: 'a', body_sha256: bodySha256, times: 2, is_compared: 1 }])
    expect(await requested()).toEqual(['events 2', 'thread 2'])
    expect([await body('a'), await body('b')]).toEqual(['body of a', 'body of b'])
    expect(await differingSince(opened.db.read, 'acme', timeFromMs(0))).toBe(2)
  })

  it('finds one in the same batch, and none among equal ones', async () => {
    await appender.append([delivery('a'), delivery('a'), delivery('b'), delivery('b', { body: other })])
    await appender.append([delivery('a'), delivery('b'), delivery('b', { account: 'acme-staging', body: other })])
    expect(reported.map(({ deliveryId }) => deliveryId)).toEqual(['b'])
  })

  it('makes a dead one ready again with its first body', async () => {
    await appender.append([delivery('a')])
    await opened.db.write('test', (tx) => tx.sql.updateTable('sync_inbox').set({ state: 'dead' }).execute())
    await appender.append([delivery('a', { body: other })])
    expect(reported).toHaveLength(1)
    expect(await opened.db.read.sql.selectFrom('sync_inbox').select('state').execute()).toEqual([{ state: 'ready' }])
    expect(await body('a')).toBe('body of a')
  })

  it('reports that it cannot compare after retention removed the first body', async () => {
    await appender.append([delivery('a')])
    await opened.db.write('test', (tx) => tx.sql.updateTable('sync_inbox').set({ state: 'done', body: null }).execute())
    await appender.append([delivery('a')])
    expect(reported).toMatchObject([{ deliveryId: 'a', isCompared: false }])
    expect(await differingSince(opened.db.read, 'acme', timeFromMs(0))).toBe(0)
  })
})
