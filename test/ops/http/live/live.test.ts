import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { inApplyTransaction } from '../../../../src/apply/apply.ts'
import { silentObserver } from '../../../../src/base/observer.ts'
import { loadConfig } from '../../../../src/config/config.ts'
import { timeFromMs } from '../../../../src/model/time.ts'
import { InboxAppender } from '../../../../src/store/inbox/append.ts'
import { claimDeliveries, settleDeliveries } from '../../../../src/store/inbox/work.ts'
import { openAgain, testDatabases } from '../../../tools/databases.ts'
import { messageFact, uuid, wireMessage } from '../../../tools/facts.ts'
import { until } from '../../../tools/until.ts'
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

  async function deliver(id: string, db = rig.db): Promise<void> {
    const body = Buffer.from('{"secret":"in the body"}')
    const one = { account: 'default', deliveryId: id, receivedAt: timeFromMs(Date.now()), secret: 1, headers: { 'x-mine': 'hidden' }, body }
    expect(await new InboxAppender(db).append([one])).toEqual([null])
  }
  const message = (n: number, text: string) =>
    inApplyTransaction(rig.db, silentObserver, 'test', (apply) =>
      apply.apply([messageFact('default', SUBMISSION, wireMessage(n, { body_text: text }))]),
    )

  it('say that deliveries, changes, pushes, runs, alarms and the verdict changed, and nothing else', async () => {
    await deliver('msg_before')
    const stream = await listen()
    expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8'])
    expect([stream.headers.get('cache-control'), stream.headers.get('x-content-type-options')]).toEqual(['no-store', 'nosniff'])
    await stream.next('reset')
    await deliver('msg_1')
    await stream.next('delivery')
    const claimed = await claimDeliveries(rig.db, 10, 60_000)
    const settled = claimed.map((delivery) => ({ delivery, state: 'dead' as const, submissionId: null, kind: 'x', error: 'a body' }))
    await rig.db.write('test', (tx) => settleDeliveries(tx, settled))
    await stream.next('delivery')

    await message(1, 'Nobody may read this.')
    await stream.next('change')
    await fanOut(rig.db, rig.config.destinations)
    await stream.next('push')
    await tryFirst(rig.db, 'ams', { state: 'dead' })
    await stream.next('push')
    await rig.ask('POST', '/reconcile-runs', { body: { dry_run: true } })
    await stream.next('run')
    const at = timeFromMs(Date.now())
    const alarm = { name: 'test', account: 'default', destination: '', state: 'firing', severity: 'warning', text: 'words' } as const
    const times = { since: at, last_at: at, resolved_at: null, notified_at: null }
    await rig.db.write('test', (tx) =>
      tx.sql
        .insertInto('alarms')
        .values({ ...alarm, ...times })
        .execute(),
    )
    await stream.next('alarm')
    await until('the verdict', async () => stream.text.includes('event: overview'))

    expect(stream.text.startsWith('retry: 3000\nevent: reset\ndata:\n\n')).toBe(true)
    const line = /^(|data:|: still here|retry: 3000|event: (reset|delivery|change|push|run|alarm|overview))$/
    expect(stream.text.split('\n').filter((each) => !line.test(each))).toEqual([])
    expect(stream.text.match(/event: reset/g)).toHaveLength(1)
  })

  it('tell of what other processes did', async () => {
    const stream = await listen()
    await stream.next('reset')
    const other = await openAgain(rig.opened.config)
    await deliver('msg_other', other)
    await other.close()
    await stream.next('delivery')
  })

  it('are for fifty listeners at most', async () => {
    const tokens = [VIEWER, ALICE]
    const fifty = await Promise.all(Array.from({ length: 50 }, (_, n) => listen({ authorization: `Bearer ${tokens[n % 2]}` })))
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
    for (const stream of [byOne, byTwo, byToken, bob]) await stream.next('reset')
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
