import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock, systemClock } from '../../src/base/clock.ts'
import { type OpenedDatabase, sqliteDatabase } from '../tools/databases.ts'
import { until } from '../tools/until.ts'
import { account, deliver, head, inboxOf, newSecret, openRaw, sign, startTestReceiver, type TestReceiver } from './support.ts'
import { HeldAppender } from './support-appenders.ts'

const BODY = '{"type":"submission.message"}'

describe('senders that are slow or cut', () => {
  const secret = newSecret()
  let opened: OpenedDatabase
  let receiver: TestReceiver | undefined

  beforeEach(async () => {
    opened = await sqliteDatabase.open()
  })
  afterEach(async () => {
    await receiver?.running.stop(1_000)
    await opened.close()
  })

  async function start(over: { clock?: ManualClock; appender?: HeldAppender; bodyLimitBytes?: number } = {}): Promise<TestReceiver> {
    receiver = await startTestReceiver({ db: opened.db, accounts: [account('acme', [secret], true)], ...over })
    return receiver
  }

  const announced = (atMs: number, length: number) =>
    head('/webhooks', { ...sign(secret, BODY, { atMs }), 'content-length': String(length) })

  it('a head that never ends costs its sender the connection, and nobody else anything', async () => {
    const { port, origin } = await start()
    const slow = await openRaw(port)
    slow.write('POST /webhooks HTTP/1.1\r\nhost: localhost\r\nx-slow: ')
    const silent = await openRaw(port)
    expect((await deliver(`${origin}/webhooks`, secret, BODY)).status).toBe(204)
    expect(await slow.closed()).toBe('')
    expect(await silent.closed()).toBe('')
  })

  it('connections that are kept for nothing never keep a sender out', async () => {
    // With a running clock, a slow machine would send their headers too late.
    const { port, origin, counts } = await start({ clock: new ManualClock(Date.now()) })
    const addresses = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6']
    const idle = await Promise.all(Array.from({ length: 1_200 }, (_, n) => openRaw(port, addresses[n % addresses.length])))
    for (const connection of idle) connection.write(head('/nothing', { 'content-length': '0' }))
    await Promise.all(idle.map((connection) => connection.hears('\r\n\r\n')))
    expect((await deliver(`${origin}/webhooks`, secret, BODY)).status).toBe(204)
    expect(counts.of('connections_rejected_total', { reason: 'full' })).toBeGreaterThanOrEqual(176)
    for (const connection of idle) connection.socket.destroy()
  })

  it('large deliveries one after another are stored, with more bytes than all memory for bodies', async () => {
    const appender = { blocking: false, append: async (deliveries: readonly unknown[]) => deliveries.map(() => null) }
    receiver = await startTestReceiver({ db: opened.db, accounts: [account('acme', [secret], true)], appender, bodyLimitBytes: 4 << 20 })
    const body = Buffer.alloc(4 << 20, 'x')
    for (let n = 0; n < 17; n += 1) expect((await deliver(`${receiver.origin}/webhooks`, secret, body)).status).toBe(204)
  })

  it('a sender of non-HTTP data loses its connection', async () => {
    const { port } = await start()
    const connection = await openRaw(port)
    connection.write('no http\r\n\r\n')
    expect(await connection.closed()).toBe('')
  })

  it('a body that does not arrive in 8 s is answered 503, and what it held is free again', async () => {
    const clock = new ManualClock(Date.now())
    const { port, counts } = await start({ clock })
    const connection = await openRaw(port)
    connection.write(`${announced(clock.now(), 100)}{"type":`)
    await arrived(port, clock)
    clock.advance(8_000)
    expect(await connection.hears('\r\n\r\n')).toMatch(/^HTTP\/1\.1 503.*retry-after: \d+/is)
    expect(counts.of('deliveries_total', { account: 'acme', answer: '503' })).toBe(1)
    expect(await inboxOf(opened.db)).toEqual([])
    connection.socket.destroy()
  })

  it('a sender that goes away in the middle of a body leaves nothing', async () => {
    const { port, origin } = await start()
    const connection = await openRaw(port)
    connection.write(`${announced(Date.now(), 100)}{"type":`)
    await deliver(`${origin}/webhooks`, secret, BODY, { id: 'msg_1' })
    connection.socket.destroy()
    await connection.closed()
    expect((await deliver(`${origin}/webhooks`, secret, BODY, { id: 'msg_2' })).status).toBe(204)
    expect((await inboxOf(opened.db)).map((row) => row.delivery_id)).toEqual(['msg_1', 'msg_2'])
  })

  it('bodies that together fill the memory are answered 503, and the next ones are taken again', async () => {
    const limit = 32 << 20
    const { port, origin } = await start({ bodyLimitBytes: limit })
    const large = 'x'.repeat(8 << 20)
    const begun = Buffer.alloc(30 << 20, 'x')
    // Two incomplete bodies hold 60 of 64 MiB until their time is over.
    const hold = async () => {
      const holders = [await openRaw(port), await openRaw(port)]
      const bytes = Buffer.concat([Buffer.from(announced(Date.now(), limit)), begun])
      // Everything but the system's buffers has arrived when it is written.
      await Promise.all(holders.map(({ socket }) => new Promise<void>((resolve) => socket.write(bytes, () => resolve()))))
      return holders
    }
    let holders = await hold()
    for (let tries = 1; ; tries++) {
      // Until the last bytes have arrived there may be room; on a slow machine the holders' time may end before that.
      const { status, retryAfter } = await deliver(`${origin}/webhooks`, secret, large)
      if (status !== 204) {
        expect([status, Number(retryAfter) > 0]).toEqual([503, true])
        break
      }
      if (tries % 5 > 0) continue
      for (const holder of holders) holder.socket.destroy()
      holders = await hold()
    }
    expect((await deliver(`${origin}/webhooks`, secret, BODY)).status).toBe(204)
    for (const holder of holders) {
      holder.socket.destroy()
      await holder.closed()
    }
    await until('a large one is taken', async () => (await deliver(`${origin}/webhooks`, secret, large)).status === 204)
  })

  it('trap 29: a store that does not answer in 8 s is answered for with 503, never with a 2xx', async () => {
    const clock = new ManualClock(Date.now())
    const appender = new HeldAppender()
    const { origin } = await start({ clock, appender })
    const answering = deliver(`${origin}/webhooks`, secret, BODY, { atMs: clock.now() })
    const batch = await appender.next()
    clock.advance(8_000)
    expect(await answering).toMatchObject({ status: 503, retryAfter: '5' })
    // It was stored after all: the repeated delivery finds it.
    batch.end([null])
  })

  it('trap 29: a delivery is acknowledged after its transaction has ended, not before', async () => {
    const appender = new HeldAppender()
    const { port, origin } = await start({ appender })
    const connection = await openRaw(port)
    let heard = ''
    connection.socket.on('data', (text: string) => {
      heard += text
    })
    connection.write(`${announced(Date.now(), BODY.length)}${BODY}`)
    const batch = await appender.next()
    // Another request is answered in between, so an early answer would have come too.
    expect((await deliver(`${origin}/webhooks`, newSecret(), BODY)).status).toBe(401)
    expect(heard).toBe('')
    batch.end([null])
    expect(await connection.hears('\r\n\r\n')).toMatch(/^HTTP\/1\.1 204/)
    connection.socket.destroy()
  })

  /** Resolves when earlier writes on other connections were read: the server reads connections in turn. */
  async function arrived(port: number, clock: ManualClock): Promise<void> {
    for (let n = 0; n < 3; n++) {
      await deliver(`http://127.0.0.1:${port}/webhooks`, secret, BODY, { atMs: clock.now(), id: 'probe' })
      await systemClock.sleep(0)
    }
    await opened.db.write('forget', (tx) => tx.sql.deleteFrom('sync_inbox').where('delivery_id', '=', 'probe').execute())
  }
})
