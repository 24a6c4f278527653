import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inApplyTransaction } from '../../../../src/apply/apply.ts'
import { silentObserver } from '../../../../src/base/observer.ts'
import { loadConfig } from '../../../../src/config/config.ts'
import { timeFromMs } from '../../../../src/model/time.ts'
import { InboxAppender } from '../../../../src/store/inbox/append.ts'
import { claimDeliveries, settleDeliveries } from '../../../../src/store/inbox/work.ts'
import { openAgain, testDatabases } from '../../../tools/databases.ts'
import { messageFact, uuid, wireMessage } from '../../../tools/facts.ts'
import { fanOut, tryFirst } from '../../cli/push-rig.ts'
import { AdminRig, ALICE, BOB } from '../rig.ts'
import { Stream } from './stream.ts'

const VIEWER = 'viewer-0123456789-abc'
const SUBMISSION = uuid(9, 1)

describe.each(testDatabases)('live events on $name', (database) => {
  let rig: AdminRig
  let streams: Stream[]
  beforeEach(async () => {
    streams = []
    rig = await AdminRig.open(database)
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: `alice:${ALICE} bob:${BOB} vera:${VIEWER}:viewer` })
  })
  afterEach(async () => {
    for (const stream of streams) stream.leave()
    await rig.close()
  })

  const listen = async (headers: Readonly<Record<string, string>> = { authorization: `Bearer ${VIEWER}` }): Promise<Stream> => {
    const stream = await Stream.open(rig.origin, headers)
    streams.push(stream)
    return stream
  }
  const behind = (id: string) => listen({ authorization: `Bearer ${VIEWER}`, 'last-event-id': id })

  async function deliver(id: string, db = rig.db): Promise<void> {
    const body = Buffer.from('{"secret":"in the body"}')
    const one = { account: 'default', deliveryId: id, receivedAt: timeFromMs(Date.now()), secret: 1, headers: { 'x-mine': 'hidden' }, body }
    expect(await new InboxAppender(db).append([one])).toEqual([null])
  }
  const message = (n: number, text: string) =>
    inApplyTransaction(rig.db, silentObserver, 'test', (apply) =>
      apply.apply([messageFact('default', SUBMISSION, wireMessage(n, { body_text: text }))]),
    )

  it('tell a viewer of deliveries, changes, pushes, runs, alarms and the verdict, without bodies', async () => {
    await deliver('msg_before')
    const stream = await listen()
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    expect([stream.headers.get('cache-control'), stream.headers.get('x-content-type-options')]).toEqual(['no-store', 'nosniff'])
    await stream.next('ready')
    await deliver('msg_1')
    const came = await stream.next('delivery')
    expect(came.data).toMatchObject({ delivery_id: 'msg_1', account: 'default', state: 'ready', inbox_id: expect.any(Number) })
    const claimed = await claimDeliveries(rig.db, 10, 60_000)
    const settled = claimed.map((delivery) => ({ delivery, state: 'dead' as const, submissionId: null, kind: 'x', error: 'a body' }))
    await rig.db.write('test', (tx) => settleDeliveries(tx, settled))
    await stream.next('delivery', (data) => data['state'] === 'dead')

    await message(1, 'Nobody may read this.')
    const change = await stream.next('change', (data) => data['entity'] === 'thread_messages')
    expect(change.data).toMatchObject({ submission_id: SUBMISSION, operation: 'insert', cause: 'webhook', seq: expect.any(Number) })
    await fanOut(rig.db, rig.config.destinations)
    const push = await stream.next('push', (data) => data['destination'] === 'ams')
    await tryFirst(rig.db, 'ams', { state: 'dead' })
    await stream.next('push', (data) => data['outbox_id'] === push.data['outbox_id'] && data['state'] === 'dead')
    await rig.ask('POST', '/reconcile-runs', { body: { dry_run: true } })
    expect((await stream.next('run')).data).toMatchObject({ account: 'default', state: 'requested', findings: 0 })
    const at = timeFromMs(Date.now())
    const alarm = { name: 'test', account: 'default', destination: '', state: 'firing', severity: 'warning', text: 'words' } as const
    const times = { since: at, last_at: at, resolved_at: null, notified_at: null }
    await rig.db.write('test', (tx) =>
      tx.sql
        .insertInto('alarms')
        .values({ ...alarm, ...times })
        .execute(),
    )
    const { text: _, ...told } = alarm
    expect((await stream.next('alarm')).data).toEqual({ ...told, since: at })
    expect((await stream.next('overview', (data) => data['verdict'] === 'attention')).data['sentence']).toMatch(/^Needs attention/)

    expect(stream.text).not.toMatch(/msg_before|hidden|in the body|Nobody may read|a body/)
    expect(new Set(stream.heard.map(({ id }) => id)).size).toBe(stream.heard.length)
    expect(await rig.notes()).toHaveLength(1)
  })

  it('go on behind the last one that was heard, or say that they cannot', async () => {
    const first = await listen()
    await deliver('msg_1')
    const { id } = await first.next('delivery')
    first.leave()
    const other = await listen()
    await deliver('msg_2')
    await deliver('msg_3')
    await other.next('delivery', (data) => data['delivery_id'] === 'msg_3')
    // All of it has happened by now, so it comes from what is kept.
    const second = await behind(id)
    await second.next('delivery', (data) => data['delivery_id'] === 'msg_3')
    const missed = second.heard.filter(({ event }) => event === 'delivery').map(({ data }) => data['delivery_id'])
    expect(missed).toEqual(['msg_2', 'msg_3'])
    const last = second.heard.at(-1)?.id ?? ''
    expect((await (await behind(last)).next('ready')).id).toMatch(/-\d+$/)
    const unknown = [`${'0'.repeat(36)}-1`, 'nonsense', `${last.slice(0, -1)}999`]
    for (const other of unknown)
      expect((await (await behind(other)).next('reset')).data).toMatchObject({ reason: expect.stringMatching(/not known/) })
  })

  it('tell of what other processes did', async () => {
    const stream = await listen()
    await stream.next('ready')
    const other = await openAgain(rig.opened.config)
    await deliver('msg_other', other)
    await other.close()
    expect((await stream.next('delivery')).data).toMatchObject({ delivery_id: 'msg_other' })
  })

  it('are for fifty listeners at most', async () => {
    const fifty = await Promise.all(Array.from({ length: 50 }, () => listen()))
    expect(fifty.map(({ status }) => status)).toEqual(fifty.map(() => 200))
    const refused = await rig.ask('GET', '/live', { token: VIEWER })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '15'])
    expect(refused.json['detail']).toMatch(/^50 listen already/)
    await deliver('msg_1')
    await Promise.all(fifty.map((stream) => stream.next('delivery')))
    fifty[0]?.leave()
    let again = await rig.ask('HEAD', '/accounts', { token: VIEWER })
    // The server learns of it a moment later.
    for (let status = 503; status === 503; ) {
      const stream = await listen()
      status = stream.status
      again = await rig.ask('HEAD', '/accounts', { token: VIEWER })
    }
    expect(again.status).toBe(200)
  })

  it('end when one signs out, when the token is taken from the settings, and when the process stops', async () => {
    const signIn = async (token: string) => {
      const answer = await rig.ask('POST', '/session', { token: null, body: { token } })
      return answer.headers.get('set-cookie')?.split(';')[0] ?? ''
    }
    const [one, two] = [await signIn(VIEWER), await signIn(ALICE)]
    const [byOne, byTwo, byToken, bob] = [
      await listen({ cookie: one }),
      await listen({ cookie: two }),
      await listen(),
      await listen({ authorization: `Bearer ${BOB}` }),
    ]
    for (const stream of [byOne, byTwo, byToken, bob]) await stream.next('ready')
    const out = (cookie: string) => rig.ask('DELETE', '/session', { token: null, headers: { cookie, origin: rig.origin } })
    expect((await out(one)).status).toBe(204)
    await byOne.ended()
    expect([byTwo.hasEnded, byToken.hasEnded, bob.hasEnded]).toEqual([false, false, false])
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: `alice:${ALICE} bob:${BOB}` })
    await out(two)
    await byTwo.ended()
    await byToken.ended()
    expect(bob.hasEnded).toBe(false)
    rig.beginStop()
    await bob.ended()
  })

  it('refuse a stranger, and answer no HEAD', async () => {
    expect((await rig.ask('GET', '/live', { token: null })).status).toBe(401)
    expect((await rig.ask('HEAD', '/live', { token: VIEWER })).status).toBe(404)
  })
})
