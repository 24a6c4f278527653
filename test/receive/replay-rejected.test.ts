import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { Secret } from '../../src/base/secret.ts'
import { type TimeText, timeFromMs } from '../../src/model/time.ts'
import { replayRejected } from '../../src/receive/replay-rejected.ts'
import { InboxAppender } from '../../src/store/inbox/append.ts'
import { DeliveryVerifier } from '../../src/upstream/webhook/signature.ts'
import { type OpenedDatabase, onSqlite } from '../tools/databases.ts'
import { account, deliver, inboxOf, newSecret, post, sign, startTestReceiver, type TestReceiver } from './support.ts'

const DAY_MS = 86_400_000
const lastUses = { note: () => undefined }

describe.each(onSqlite)('replaying rejected deliveries on $name', (database) => {
  const wrong = newSecret()
  const right = newSecret()
  const clock = new ManualClock(Date.UTC(2026, 4, 4, 12))
  let opened: OpenedDatabase
  let receiver: TestReceiver

  beforeEach(async () => {
    opened = await database.open({ clock })
    receiver = await startTestReceiver({
      db: opened.db,
      clock,
      accounts: [account('acme', [wrong], true), account('other', [wrong])],
      bodyLimitBytes: 4 << 20,
    })
  })
  afterEach(async () => {
    await receiver.running.stop(1_000)
    await opened.close()
  })

  function replay(over: { account?: string; since?: TimeText | undefined; until?: TimeText | undefined } = {}) {
    const verifier = new DeliveryVerifier([new Secret(wrong), new Secret(right)])
    return replayRejected({
      store: receiver.rejected,
      appender: new InboxAppender(opened.db),
      lastUses,
      verifiers: new Map([
        ['acme', verifier],
        ['other', verifier],
      ]),
      ...over,
    })
  }

  it('takes those that verify now, judged by when they came, and says why others do not', async () => {
    const acme = `${receiver.origin}/webhooks/acme`
    const atMs = clock.now()
    expect((await deliver(acme, right, 'one', { id: 'msg_1', atMs })).status).toBe(401)
    expect((await deliver(acme, right, 'two', { id: 'msg_2', atMs, names: 'webhook' })).status).toBe(401)
    expect((await deliver(acme, newSecret(), 'three', { id: 'msg_3', atMs })).status).toBe(401)
    expect((await deliver(acme, right, 'four', { id: 'msg_4', atMs: atMs - DAY_MS })).status).toBe(401)
    expect((await post(acme, 'five', {})).status).toBe(401)
    expect((await deliver(acme, right, 'x'.repeat(5 << 20), { id: 'msg_5', atMs })).status).toBe(413)
    expect((await post(acme, 'six', { ...sign(right, 'six', { atMs }), 'svix-signature': 'v9,abc' })).status).toBe(401)
    expect((await deliver(acme, right, 'x'.repeat(2 << 20), { id: 'msg_7', atMs })).status).toBe(401)
    expect((await deliver(`${receiver.origin}/webhooks/nobody`, right, 'eight', { atMs })).status).toBe(404)
    expect((await deliver(`${receiver.origin}/webhooks/other`, right, 'nine', { id: 'msg_9', atMs })).status).toBe(401)
    await receiver.rejected.settled()
    clock.advance(DAY_MS)

    expect(await replay({ account: 'acme' })).toEqual({
      accepted: 2,
      rejected: { wrong_signature: 1, stale_timestamp: 1, missing_headers: 1, body_too_large: 1, unknown_scheme: 1, body_cut: 1 },
    })
    const rows = await inboxOf(opened.db)
    expect(rows.map((row) => [row.account, row.delivery_id, row.secret, String(row.body)])).toEqual([
      ['acme', 'msg_1', 2, 'one'],
      ['acme', 'msg_2', 2, 'two'],
    ])
    // Next to the body, exactly what a delivery that is accepted immediately has.
    const stored = { ...sign(right, 'two', { id: 'msg_2', atMs, names: 'webhook' }), 'content-type': 'application/json' }
    expect(JSON.parse(rows[1]?.headers ?? '')).toEqual(stored)
    const verifiers = new Map<string, DeliveryVerifier>()
    const none = { accepted: 0, rejected: { unknown_account: 1 } }
    expect(
      await replayRejected({ store: receiver.rejected, appender: new InboxAppender(opened.db), lastUses, verifiers, account: 'other' }),
    ).toEqual(none)
    // Accepted deliveries are not accepted again.
    expect(await replay()).toMatchObject({ accepted: 1, rejected: { unknown_account: 1 } })
    expect((await replay()).accepted).toBe(0)
    expect((await inboxOf(opened.db)).map((row) => row.delivery_id)).toEqual(['msg_1', 'msg_2', 'msg_9'])
  })

  it('takes only those of a time, when one is given', async () => {
    const began = clock.now()
    for (const id of ['msg_1', 'msg_2', 'msg_3']) {
      await deliver(`${receiver.origin}/webhooks/acme`, right, id, { id, atMs: clock.now() })
      await receiver.rejected.settled()
      clock.advance(60_000)
    }
    const [first, second, third] = [0, 60_000, 120_000].map((ms) => timeFromMs(began + ms))
    expect(await replay({ since: timeFromMs(began + 120_001) })).toEqual({ accepted: 0, rejected: {} })
    expect(await replay({ since: second, until: third })).toEqual({ accepted: 1, rejected: {} })
    expect(await replay({ until: second })).toEqual({ accepted: 1, rejected: {} })
    expect((await inboxOf(opened.db)).map((row) => row.delivery_id)).toEqual(['msg_2', 'msg_1'])
    expect(await replay({ since: first })).toEqual({ accepted: 1, rejected: {} })
  })

  it('fails when the database cannot store one, and marks nothing as replayed', async () => {
    const atMs = clock.now()
    await deliver(`${receiver.origin}/webhooks/acme`, right, 'one', { id: 'msg_1', atMs })
    await receiver.rejected.settled()
    const verifiers = new Map([['acme', new DeliveryVerifier([new Secret(right)])]])
    const away = { append: async () => [new Error('away')] }
    await expect(replayRejected({ store: receiver.rejected, appender: away, lastUses, verifiers })).rejects.toThrow('away')
    expect((await replay()).accepted).toBe(1)
  })
})
