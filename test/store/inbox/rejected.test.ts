import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { type Rejected, RejectedStore } from '../../../src/store/inbox/rejected.ts'
import { type OpenedDatabase, silentLog, sqliteDatabase, testDatabases } from '../../tools/databases.ts'

const MIB = 1024 * 1024

function rejected(n: number, over: Partial<Rejected> = {}): Rejected {
  return {
    account: 'acme',
    path: '/webhooks/acme',
    receivedAt: '2026-05-04T12:00:00.123000Z',
    address: '192.0.2.1',
    reason: 'wrong_signature',
    headers: { 'svix-id': `msg_${n}` },
    body: Buffer.from(`body ${n}`),
    ...over,
  }
}

describe.each(testDatabases)('RejectedStore on $name', (database) => {
  let opened: OpenedDatabase
  let store: RejectedStore
  const clock = new ManualClock(Date.UTC(2026, 4, 4, 12))

  beforeEach(async () => {
    opened = await database.open({ clock })
    store = new RejectedStore(opened.db, silentLog)
  })
  afterEach(() => opened.close())

  async function keepMany(from: number, to: number): Promise<void> {
    for (let n = from; n <= to; n++) {
      if (!store.keep(rejected(n))) {
        clock.advance(60_000)
        await store.settled()
        expect(store.keep(rejected(n))).toBe(true)
      }
      if (n % 10 === 0) await store.settled()
    }
    await store.settled()
  }

  it('keeps rejected deliveries, and lists the newest first', async () => {
    store.keep(rejected(1))
    const unknown = { account: null, path: '/webhooks/nobody', reason: 'unknown_account', body: null, headers: { 'content-length': '12' } }
    store.keep(rejected(2, unknown))
    store.keep(rejected(3, { account: 'other', body: Buffer.alloc(0) }))
    await store.settled()
    const list = await store.list({ limit: 10 })
    expect(list.map((one) => one.headers['svix-id'])).toEqual(['msg_3', undefined, 'msg_1'])
    expect(list).toMatchObject([
      { account: 'other', body_bytes: 0, body_cut: false },
      { account: null, path: '/webhooks/nobody', reason: 'unknown_account', body_bytes: null, body_cut: false },
      {
        account: 'acme',
        received_at: '2026-05-04T12:00:00.123000Z',
        address: '192.0.2.1',
        body_bytes: 6,
        body_cut: false,
        replayed_at: null,
      },
    ])
    expect((await store.list({ limit: 10, account: 'acme' })).map((one) => one.rejected_id)).toEqual([list[2]?.rejected_id])
    expect(await store.list({ limit: 1 })).toHaveLength(1)
    expect((await store.get(list[2]?.rejected_id ?? 0))?.body).toEqual(Buffer.from('body 1'))
    expect((await store.get(list[0]?.rejected_id ?? 0))?.body).toEqual(Buffer.alloc(0))
    expect(await store.get(1_000_000)).toBeNull()
  })

  it('finds deliveries of a time span, however many came since', async () => {
    for (const [n, hour] of ['10', '11', '12'].entries()) store.keep(rejected(n, { receivedAt: `2026-05-04T${hour}:00:00.000000Z` }))
    await store.settled()
    const found = async (span: { since?: string; until?: string; limit?: number }) =>
      (await store.list(span)).map((one) => one.headers['svix-id'])
    expect(await found({ since: '2026-05-04T11:00:00.000000Z' })).toEqual(['msg_2', 'msg_1'])
    expect(await found({ until: '2026-05-04T12:00:00.000000Z', limit: 1 })).toEqual(['msg_1'])
    expect(await found({ since: '2026-05-04T11:00:00.000000Z', until: '2026-05-04T11:00:00.000000Z' })).toEqual([])
  })

  it('stores at most 60 small ones per sender and minute, and counts the others', async () => {
    let kept = 0
    for (let n = 0; n < 100; n++) if (store.keep(rejected(n))) kept += 1
    await store.settled()
    expect([kept, store.passedOver, (await store.list({ limit: 1000 })).length]).toEqual([60, 40, 60])
    clock.advance(60_000)
    expect(store.keep(rejected(100))).toBe(true)
    await store.settled()
  })

  const large = { body: Buffer.alloc(MIB, 'x') }
  const ofSite = (n: number) => `2001:db8:1:${n.toString(16)}::1`
  it.each([
    { strangers: 'one address with large bodies', count: 65, from: () => '192.0.2.1', over: large, most: 1 },
    { strangers: 'one IPv6 network', count: 65, from: (n: number) => `2001:db8:1:2::${n}`, over: {}, most: 60 },
    { strangers: 'the networks of one IPv6 site', count: 2_000, from: ofSite, over: {}, most: 60 },
    { strangers: 'many addresses', count: 2_000, from: (n: number) => `10.0.${n >> 8}.${n & 255}`, over: {}, most: 2_000 },
  ])('stores the whole delivery of another sender after too many from $strangers', async ({ count, from, over, most }) => {
    let kept = 0
    for (let n = 0; n < count; n++) {
      if (store.keep(rejected(n, { address: from(n), ...over }))) kept += 1
      if (n % 200 === 199) await store.settled()
    }
    expect(kept).toBeLessThanOrEqual(most)
    expect(store.keep(rejected(9_999, { address: '198.51.100.1' }))).toBe(true)
    await store.settled()
    expect((await store.list({ limit: 1 }))[0]).toMatchObject({ address: '198.51.100.1', body_cut: false })
  })

  it('removes the oldest of the sender with the most when the table is full', async () => {
    for (const [n, address] of ['198.51.100.1', '198.51.100.2'].entries()) store.keep(rejected(n, { address, ...large }))
    for (let n = 2; n < 40; n++) {
      clock.advance(60_000)
      store.keep(rejected(n, large))
      await store.settled()
    }
    const list = await store.list({ limit: 1_000 })
    expect(list.reduce((sum, { body_bytes }) => sum + Number(body_bytes), 0)).toBeLessThan(32 * MIB)
    const ids = list.map(({ headers }) => headers['svix-id'])
    expect([ids[0], ids.at(-1), ids.at(-2), ids.length]).toEqual(['msg_39', 'msg_0', 'msg_1', 30])
  })

  it('keeps the delivery of another sender when the networks of one IPv6 site fill the table', async () => {
    store.keep(rejected(0, { address: '198.51.100.1' }))
    for (let n = 1; n <= 1_200; n++) {
      if (n % 50 === 0) clock.advance(60_000)
      store.keep(rejected(n, { address: ofSite(n) }))
      if (n % 200 === 0) await store.settled()
    }
    await store.settled()
    const list = await store.list({ limit: 2_000 })
    expect([list.length, list.at(-1)?.address]).toEqual([1_000, '198.51.100.1'])
  })

  it('keeps the newest 1,000', async () => {
    await keepMany(1, 1_005)
    const list = await store.list({ limit: 2_000 })
    expect([list.length, list[0]?.headers['svix-id'], list.at(-1)?.headers['svix-id']]).toEqual([1_000, 'msg_1005', 'msg_6'])
  })

  it('keeps the first MiB of a body and says that it was cut', async () => {
    store.keep(rejected(1, { body: Buffer.alloc(MIB + 1, 'x') }))
    store.keep(rejected(2, { address: '192.0.2.2', body: Buffer.alloc(MIB, 'x') }))
    await store.settled()
    const [whole, cut] = await store.list({ limit: 2 })
    expect([whole, cut]).toMatchObject([
      { body_bytes: MIB, body_cut: false },
      { body_bytes: MIB + 1, body_cut: true },
    ])
    expect((await store.get(cut?.rejected_id ?? 0))?.body).toHaveLength(MIB)
  })

  it('keeps no reference to the received memory', async () => {
    const bodies = [MIB + 1, 10].map((length) => Buffer.alloc(length, 'x'))
    for (const [n, body] of bodies.entries()) {
      store.keep(rejected(n, { body }))
      // The reader may reuse the memory immediately.
      body.fill('y')
    }
    await store.settled()
    const kept = await Promise.all((await store.list({ limit: 2 })).map(({ rejected_id }) => store.get(rejected_id)))
    expect(kept.map((one) => one?.body?.equals(Buffer.alloc(one.body.length, 'x')))).toEqual([true, true])
    expect(kept.map((one) => one?.body_bytes)).toEqual([10, MIB + 1])
  })

  it('records replays', async () => {
    store.keep(rejected(1))
    await store.settled()
    const [one] = await store.list({ limit: 1 })
    await store.markReplayed(one?.rejected_id ?? 0)
    expect(await store.get(one?.rejected_id ?? 0)).toMatchObject({ replayed_at: expect.stringMatching(/^2026-05-04T/) })
  })
})

describe('RejectedStore on an unreachable database', () => {
  it('neither fails nor keeps anything', async () => {
    const opened = await sqliteDatabase.open()
    await opened.close()
    const store = new RejectedStore(opened.db, silentLog)
    expect(store.keep(rejected(1))).toBe(true)
    await store.settled()
    expect(store.passedOver).toBe(1)
  })
})
