import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { startChild } from '../tools/child.ts'
import { newSqlite, type OpenedDatabase, sqliteDatabase } from '../tools/databases.ts'
import { until } from '../tools/until.ts'
import {
  account,
  deliver,
  head,
  inboxOf,
  newSecret,
  openRaw,
  post,
  type RawConnection,
  sign,
  signed,
  startTestReceiver,
  type TestReceiver,
} from './support.ts'
import { HeldAppender } from './support-appenders.ts'

const BODY = '{"type":"submission.message"}'
const STRANGER = '127.0.0.9'

describe('connections of strangers', () => {
  const secret = newSecret()
  let opened: OpenedDatabase
  let receiver: TestReceiver
  let raws: RawConnection[] = []

  beforeEach(async () => {
    opened = await sqliteDatabase.open()
  })
  afterEach(async () => {
    for (const { socket } of raws) socket.destroy()
    raws = []
    await receiver.running.stop(1_000)
    await opened.close()
  })

  const start = async (trustProxy: boolean | string = false) => {
    receiver = await startTestReceiver({ db: opened.db, accounts: [account('acme', [secret], true)], trustProxy })
  }
  const open = async (count: number, address = STRANGER) => {
    const opened = await Promise.all(Array.from({ length: count }, () => openRaw(receiver.port, address)))
    raws.push(...opened)
    return opened
  }
  const good = async () => (await deliver(`${receiver.origin}/webhooks`, secret, BODY)).status
  const refused = (reason: string) => receiver.counts.of('connections_rejected_total', { reason })

  it('many slow headers from one address take only its own places, and the oldest of them are closed first', async () => {
    await start()
    const slow = await open(300)
    for (const connection of slow) connection.write('POST /webhooks HTTP/1.1\r\nx-slow: ')
    expect(await good()).toBe(204)
    await until('those that were too many are closed', () => refused('too_many') >= 44)
    expect(slow.filter(({ socket }) => !socket.destroyed).length).toBeLessThanOrEqual(256)
  })

  it('one that pipelines without waiting for answers loses its connections, and gets no other for a while', async () => {
    await start()
    const [one, other] = await open(2)
    one?.write(head('/webhooks', { 'content-length': '0' }).repeat(1_000))
    await one?.closed()
    await other?.closed()
    expect(refused('pipelined')).toBe(2)
    const [again] = await open(1)
    await again?.closed()
    expect(refused('banned')).toBe(1)
    expect(await good()).toBe(204)
  })

  it('a sender that is known loses nothing for what others of its address do', async () => {
    await start()
    expect(await good()).toBe(204)
    const [one, other] = await open(2, '127.0.0.1')
    one?.write(head('/webhooks', { 'content-length': '0' }).repeat(1_000))
    await one?.closed()
    other?.write(signed(secret, BODY))
    expect(await other?.hears('\r\n\r\n')).toMatch(/^HTTP\/1\.1 204/)
    expect(await good()).toBe(204)
  })

  it.each([
    ['is read', () => sign(secret, BODY)],
    ['was refused before it was read', () => ({})],
  ])('a body in tiny chunks costs its sender the connection, when it %s', async (_, headers) => {
    await start()
    const [connection] = await open(1)
    connection?.write(head('/webhooks', { ...headers(), 'transfer-encoding': 'chunked' }))
    connection?.write('1\r\nx\r\n'.repeat(6_000))
    await connection?.closed()
    expect(refused('small_chunks')).toBe(1)
    expect(await good()).toBe(204)
  })

  it('one that connects and resets again and again is not listened to for a while', async () => {
    await start()
    for (let round = 0; round < 11; round++) {
      for (const { socket } of await open(50)) socket.resetAndDestroy()
    }
    await until('its connections are turned away', async () => {
      const [connection] = await open(1)
      connection?.socket.resetAndDestroy()
      return refused('banned') > 0
    })
    expect(refused('wasted')).toBeGreaterThan(0)
    expect(await good()).toBe(204)
  })

  it('keeps a hundred connections of one sender, and what they deliver', async () => {
    await start()
    const connections = await open(100, '127.0.0.1')
    for (let round = 0; round < 3; round++) {
      for (const { write } of connections) write(signed(secret, BODY))
      await until('all are stored', async () => (await inboxOf(opened.db)).length === 100 * (round + 1))
    }
    expect(connections.filter(({ socket }) => socket.destroyed)).toEqual([])
  })

  it('a trusted proxy has as many connections as it likes; those for whom it asks have as many requests as an address has places', async () => {
    await start('127.0.0.7')
    const connections = await open(300, '127.0.0.7')
    const begun = (forwarded: string) => head('/webhooks', { ...sign(secret, BODY), 'content-length': '100', 'x-forwarded-for': forwarded })
    for (const { write } of connections) write(begun('192.0.2.1'))
    await until('the rest is answered', () => refused('too_many') === 44)
    expect(connections.filter(({ socket }) => socket.destroyed)).toEqual([])
    const [other] = await open(1, '127.0.0.7')
    other?.write(signed(secret, BODY, '/webhooks', { 'x-forwarded-for': '192.0.2.2' }))
    expect(await other?.hears('\r\n\r\n')).toMatch(/^HTTP\/1\.1 204/)
  })

  it('reports all of them in one line', async () => {
    await start()
    const [one] = await open(1)
    one?.write('no http\r\n\r\n')
    await one?.closed()
    const [two] = await open(1)
    two?.write(head('/webhooks', { 'content-length': '0' }).repeat(100))
    await two?.closed()
    await receiver.running.stop(1_000)
    const lines = receiver.lines.filter(({ msg }) => String(msg).includes('were rejected or closed'))
    expect(lines).toMatchObject([{ reasons: { no_http: 1, pipelined: 1 }, worst: STRANGER, ofWorst: 2, addresses: 1 }])
  })

  it('reports what is wrong with a header that is too long, which is answered 431, and with TLS on the plain port', async () => {
    await start()
    const [long, tls] = await open(2)
    long?.write(head('/webhooks', { ...sign(secret, BODY), 'x-long': 'x'.repeat(20_000) }))
    expect(await long?.closed()).toMatch(/^HTTP\/1\.1 431 /)
    tls?.write(Buffer.from('16030102000100', 'hex'))
    await tls?.closed()
    await receiver.running.stop(1_000)
    const lines = receiver.lines.filter(({ msg }) => String(msg).includes('were rejected or closed'))
    expect(lines).toMatchObject([{ reasons: { long_header: 1, tls: 1 } }])
    expect(lines[0]?.['msg']).toMatch(/; long_header: a request with more than 16 KiB .*; tls: this port speaks plain HTTP; /)
  })

  it('a sender that ends its side of the connection after a delivery is answered', async () => {
    const appender = new HeldAppender()
    const accepted: Socket[] = []
    const accept = (message: unknown) => void accepted.push((message as { readonly socket: Socket }).socket)
    subscribe('net.server.socket', accept)
    onTestFinished(() => void unsubscribe('net.server.socket', accept))
    receiver = await startTestReceiver({ db: opened.db, accounts: [account('acme', [secret], true)], appender })
    const [connection, cut] = await open(2)
    connection?.socket.end(signed(secret, BODY))
    const batch = await appender.next()
    await until('its end is read', () => accepted[0]?.readableEnded)
    batch.end([null])
    expect(await connection?.closed()).toMatch(/^HTTP\/1\.1 204/)
    cut?.socket.end(`${head('/webhooks', { ...sign(secret, BODY), 'content-length': '100' })}${BODY}`)
    expect(await cut?.closed()).toBe('')
  })

  it('a process without file descriptors says so', async () => {
    const place = newSqlite()
    const child = startChild('receive/children/no-descriptors.ts', [place.config.path], 'ulimit -n 64')
    onTestFinished(async () => {
      await child.kill()
      await place.remove()
    })
    await start()
    await child.says('listening')
    child.tell('use them up')
    expect(await child.says('log')).toBe(
      'this process has no file descriptor left (EMFILE): new connections are closed without an answer; raise the limit (LimitNOFILE, --ulimit nofile)',
    )
  })

  it('a request by HTTP/1.0, and one that is not ours, are answered as before', async () => {
    await start()
    const [old] = await open(1)
    old?.write(signed(secret, BODY).replace('HTTP/1.1', 'HTTP/1.0'))
    expect(await old?.closed()).toMatch(/^HTTP\/1\.1 204/)
    expect((await post(`${receiver.origin}/elsewhere`, BODY, {})).status).toBe(404)
  })
})
