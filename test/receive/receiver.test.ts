import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { Receiver } from '../../src/receive/receiver.ts'
import { InboxAppender } from '../../src/store/inbox-append.ts'
import { RejectedStore } from '../../src/store/rejected.ts'
import { testDatabases } from '../tools/databases.ts'
import { account, Counts, inboxOf, newSecret, recordingLog, sign } from './support.ts'

const [sqlite] = testDatabases

it('invariant 11: a good delivery whose time ends while it waits behind suspicious ones is answered 503', async () => {
  const opened = await sqlite?.open()
  if (!opened) throw new Error('there is no SQLite')
  onTestFinished(() => opened.close())
  const clock = new ManualClock()
  const secret = newSecret()
  const { log } = recordingLog()
  const receiver = new Receiver({
    accounts: [account('acme', [secret], true)],
    bodyLimitBytes: 1 << 20,
    appender: new InboxAppender(opened.db),
    rejectedStore: new RejectedStore(opened.db, log),
    secretUses: { note() {} },
    clock,
    log,
    observer: new Counts(),
  })
  const send = async (by: string, body: Buffer) => {
    const headers = sign(by, body, { atMs: clock.now() })
    const request = { account: undefined, path: '/webhooks', address: '192.0.2.1', headers, body: Readable.from([body]) }
    return (await receiver.receive(request)).status
  }
  const wrong = newSecret()
  for (let n = 0; n < 20; n++) expect(await send(wrong, Buffer.from('{}'))).toBe(401)
  // Bodies that cost something to verify go through one at a time, one in a turn of the event loop.
  const costly = Buffer.alloc(33 << 10, ' ')
  const before = Array.from({ length: 20 }, () => send(wrong, costly))
  const good = send(secret, costly)
  for (let turns = 0; turns < 5; turns++) await turn()
  clock.advance(8_000)
  expect(await good).toBe(503)
  expect(new Set(await Promise.all(before))).toEqual(new Set([429]))
  expect(await inboxOf(opened.db)).toEqual([])
  await receiver.drain()
})
