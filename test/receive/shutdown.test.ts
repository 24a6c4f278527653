import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type OpenedDatabase, sqliteDatabase } from '../tools/databases.ts'
import { until } from '../tools/until.ts'
import { account, deliver, newSecret, openRaw, type RawConnection, signed, startTestReceiver, type TestReceiver } from './support.ts'
import { HeldAppender } from './support-appenders.ts'

const BODY = '{"type":"submission.message"}'

describe('stopping the receiver', () => {
  const secret = newSecret()
  const appender = new HeldAppender()
  let opened: OpenedDatabase
  let receiver: TestReceiver

  let accepted: Socket[] = []
  const accept = (message: unknown) => void accepted.push((message as { readonly socket: Socket }).socket)
  beforeEach(async () => {
    accepted = []
    subscribe('net.server.socket', accept)
    opened = await sqliteDatabase.open()
    receiver = await startTestReceiver({ db: opened.db, accounts: [account('acme', [secret], true)], appender })
  })
  afterEach(async () => {
    unsubscribe('net.server.socket', accept)
    await receiver.running.stop(0)
    await opened.close()
  })

  /** A connection that was used and is kept open. */
  async function used(): Promise<RawConnection> {
    const connection = await openRaw(receiver.port)
    connection.write(signed(secret, BODY))
    ;(await appender.next()).end([null])
    await connection.hears('\r\n\r\n')
    return connection
  }

  it('answers requests in progress, rejects new ones, and closes idle connections immediately', async () => {
    const idle = await used()
    const busy = await openRaw(receiver.port)
    busy.write(signed(secret, BODY))
    const batch = await appender.next()
    const late = await openRaw(receiver.port)
    late.write(signed(secret, BODY).slice(0, 40))
    await until('what came is read', () => accepted.at(-1)?.bytesRead === 40)
    const stopping = receiver.running.stop(60_000)
    await idle.closed()
    late.write(signed(secret, BODY).slice(40))
    const refused = await late.hears('\r\n\r\n')
    for (const part of [/^HTTP\/1\.1 503/, /^retry-after: 5/im, /^connection: close/im]) expect(refused).toMatch(part)
    batch.end([null])
    expect(await busy.closed()).toMatch(/^HTTP\/1\.1 204.*connection: close/is)
    await stopping
    await expect(deliver(`${receiver.origin}/webhooks`, secret, BODY)).rejects.toThrow(/ECONNREFUSED/)
  })

  it('closes connections that never said anything', async () => {
    const silent = await openRaw(receiver.port)
    await receiver.running.stop(60_000)
    await silent.closed()
  })

  it('aborts unfinished requests after its grace period', async () => {
    const stuck = await openRaw(receiver.port)
    stuck.write(signed(secret, BODY))
    const batch = await appender.next()
    await receiver.running.stop(0)
    expect(await stuck.closed()).toBe('')
    batch.end([null])
  })
})
