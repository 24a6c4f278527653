import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { Secret } from '../../src/base/secret.ts'
import { Receiver } from '../../src/receive/receiver.ts'
import { InboxAppender } from '../../src/store/inbox/append.ts'
import { RejectedStore } from '../../src/store/inbox/rejected.ts'
import { secretTag } from '../../src/upstream/webhook/signature.ts'
import { CountingClock } from '../tools/counting-clock.ts'
import { Counts } from '../tools/counts.ts'
import { sqliteDatabase } from '../tools/databases.ts'
import { interrupted } from '../tools/meddled.ts'
import { account, inboxOf, newSecret, recordingLog, sign } from './support.ts'

const secret = newSecret()
const second = newSecret()
const wrong = newSecret()
const costly = Buffer.alloc(33 << 10, ' ')
const cheap = Buffer.from('{}')

/** A receiver without a server, and a sender. @param beforeWrite runs before each transaction of rejections. */
async function bench(clock: ManualClock, beforeWrite: () => unknown = () => {}) {
  const opened = await sqliteDatabase.open()
  if (!opened) throw new Error('there is no SQLite')
  onTestFinished(() => opened.close())
  const { log } = recordingLog()
  const rejected = new RejectedStore(interrupted(opened.db, beforeWrite), log)
  const uses: unknown[] = []
  const receiver = new Receiver({
    accounts: [account('acme', [second, secret], true)],
    bodyLimitBytes: 1 << 20,
    appender: new InboxAppender(opened.db),
    rejectedStore: rejected,
    lastUses: { note: (_kind, ...use) => void uses.push(use) },
    clock,
    log,
    observer: new Counts(),
  })
  const send = async (by: string, body: Buffer) => {
    const headers = sign(by, body, { atMs: clock.now() })
    const signals = { onSigned() {}, onManyChunks() {} }
    const request = { account: undefined, path: '/webhooks', address: '192.0.2.1', headers, body: Readable.from([body]), ...signals }
    return (await receiver.receive(request)).status
  }
  const sendMany = async (by: string, body: Buffer, n: number) =>
    new Set(await Promise.all(Array.from({ length: n }, () => send(by, body))))
  return { receiver, send, sendMany, rejected, uses, inbox: () => inboxOf(opened.db) }
}

it('invariant 11: a good delivery whose deadline passes while it waits behind suspicious ones is answered 503', async () => {
  const clock = new ManualClock()
  const { receiver, send, sendMany, inbox } = await bench(clock)
  for (let n = 0; n < 20; n++) expect(await send(wrong, cheap)).toBe(401)
  // They pass one at a time, one in a turn of the event loop.
  const before = sendMany(wrong, costly, 20)
  const good = send(secret, costly)
  for (let turns = 0; turns < 5; turns++) await turn()
  clock.advance(8_000)
  expect(await good).toBe(503)
  expect(await before).toEqual(new Set([429]))
  expect(await inbox()).toEqual([])
  await receiver.drain()
})

it('large bodies of a sender of many bad signatures are verified one at a time; those beyond 32 that wait are answered 503', async () => {
  const { receiver, send, sendMany, inbox } = await bench(new ManualClock())
  for (let n = 0; n < 20; n++) expect(await send(wrong, cheap)).toBe(401)
  const waiting = sendMany(wrong, costly, 32)
  expect(await sendMany(secret, costly, 5)).toEqual(new Set([503]))
  expect(await waiting).toEqual(new Set([429]))
  expect(await send(secret, costly)).toBe(204)
  expect(await inbox()).toHaveLength(1)
  await receiver.drain()
})

it('good deliveries that come together are stored, large ones, and small ones of a sender with too many bad ones', async () => {
  const { receiver, sendMany } = await bench(new ManualClock())
  expect(await sendMany(secret, costly, 40)).toEqual(new Set([204]))
  expect(await sendMany(wrong, cheap, 21)).toEqual(new Set([401, 429]))
  expect(await sendMany(secret, cheap, 40)).toEqual(new Set([204]))
  await receiver.drain()
})

it('trap 37: notes by which of its secrets a delivery was verified, and when', async () => {
  const clock = new ManualClock()
  const { receiver, send, uses } = await bench(clock)
  const tagged = (one: string) => ['acme', secretTag(new Secret(one)), clock.now()]
  for (const by of [secret, wrong, second]) await send(by, cheap)
  expect(uses).toEqual([tagged(secret), tagged(second)])
  await receiver.drain()
})

it('drains once what it rejected is written, and leaves no timer', async () => {
  const clock = new CountingClock()
  const { receiver, send, rejected } = await bench(clock, async () => {
    for (let turns = 0; turns < 5; turns++) await turn()
  })
  expect(await send(wrong, cheap)).toBe(401)
  await receiver.drain()
  expect(await rejected.list({ limit: 10 })).toMatchObject([{ reason: 'wrong_signature' }])
  expect(clock.sleeping).toBe(0)
})
