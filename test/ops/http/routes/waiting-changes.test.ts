import { beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../../../../src/config/config.ts'
import { growthOf, MOST_HELD } from '../../../../src/ops/actions/log-growth.ts'
import { MOST_AT_ONCE } from '../../../../src/ops/http/api/guard.ts'
import { ensureAccounts } from '../../../../src/store/reads/accounts.ts'
import { openAgain, testDatabases } from '../../../tools/databases.ts'
import { applyAll } from '../../../tools/mirror.ts'
import { byWebhook, observedEvent, observedMessage, uuid, wireEvent, wireMessage } from '../../../tools/observations.ts'
import { until } from '../../../tools/until.ts'
import { ALICE, adminRigForEach, BOB, refusal } from '../rig.ts'

const SUBMISSION = uuid(9, 1)

interface Page {
  readonly items: readonly { readonly seq: number; readonly entity: string }[]
  readonly next_cursor: string | null
  readonly last_seq: number
}

describe.each(testDatabases)('waiting for changes, on $name', (database) => {
  const rig = adminRigForEach(database)
  beforeEach(async () => {
    await ensureAccounts(rig.db, ['acme'])
  })

  const wait = (query: string, token = ALICE) => rig.ask<Page>('GET', `/changes?wait=30&${query}`, { token })
  const held = (n: number) => until(`${n} requests wait`, () => growthOf(rig.db).held === n)
  const addEvent = (n: number, db = rig.db) => applyAll(db, [observedEvent('acme', SUBMISSION, wireEvent(n), byWebhook)])
  const addMessage = (n: number) => applyAll(rig.db, [observedMessage('acme', SUBMISSION, wireMessage(n), byWebhook)])

  it('answers immediately with existing changes, otherwise waits for one', async () => {
    const waiting = wait('after=0')
    await held(1)
    await addEvent(1)
    const { json: first } = await waiting
    expect(first.items.length).toBeGreaterThan(0)
    expect(first).toMatchObject({ next_cursor: null, last_seq: first.items.at(-1)?.seq })
    expect((await wait('after=0')).json).toEqual(first)
    expect(growthOf(rig.db).held).toBe(0)
  })

  it('waits until a change matches the filter, and reads the others once', async () => {
    await addEvent(1)
    const { last_seq } = (await wait('after=0')).json
    const waiting = wait(`after=${last_seq}&entity=thread_messages`)
    await held(1)
    await addEvent(2)
    await addEvent(3)
    await addMessage(4)
    const { json } = await waiting
    expect(json.items).toMatchObject([{ entity: 'thread_messages' }])
    expect(json.items[0]?.seq).toBeGreaterThan(last_seq + 2)
  })

  it('wakes up when another process writes', async () => {
    const listening = new AbortController()
    const done = rig.db.listen(listening.signal)
    const other = await openAgain(rig.opened.config)
    const waiting = wait('after=0')
    await held(1)
    await addEvent(1, other)
    expect((await waiting).json.items.length).toBeGreaterThan(0)
    await other.close()
    listening.abort()
    await done
  })

  it('ends immediately when the process stops and when the client disconnects', async () => {
    const leaving = new AbortController()
    const headers = { authorization: `Bearer ${ALICE}` }
    const left = fetch(`${rig.origin}/api/v1/changes?wait=30`, { headers, signal: leaving.signal }).catch((error: Error) => error.name)
    await held(1)
    leaving.abort()
    expect(await left).toBe('AbortError')
    await held(0)
    const waiting = wait('after=0')
    await held(1)
    rig.beginStop()
    const stopped = await waiting
    expect(stopped).toMatchObject(refusal(503, expect.stringContaining('the process is stopping') as string))
    expect(stopped.headers.get('retry-after')).toBe('5')
  })

  it('rejects more than the limit of waiting requests', async () => {
    const tokens = Array.from({ length: 4 }, (_, n) => `token-${n}-0123456789-abcdef`)
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: [`alice:${ALICE}`, ...tokens.map((token, n) => `t${n}:${token}`)].join(' ') })
    const waiting = Array.from({ length: MOST_HELD }, (_, n) => wait('after=0', tokens[n % 4]))
    await held(MOST_HELD)
    const refused = await wait('after=0')
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(refused.text).toContain(`${MOST_HELD} requests already wait for changes`)
    expect((await rig.ask('GET', '/changes?after=0')).status).toBe(200)
    await addEvent(1)
    const answers = await Promise.all(waiting)
    expect(answers.every(({ json }) => json.items.length > 0)).toBe(true)
  })

  it('leaves room for others when one token reaches its limit', async () => {
    const waiting = Array.from({ length: MOST_AT_ONCE }, () => wait('after=0'))
    await held(MOST_AT_ONCE)
    const refused = await rig.ask('GET', '/accounts')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
    expect(refused.text).toContain(`alice has reached the limit of ${MOST_AT_ONCE} concurrent requests`)
    const other = wait('after=0', BOB)
    await held(MOST_AT_ONCE + 1)
    await addEvent(1)
    for (const { status } of await Promise.all([...waiting, other])) expect(status).toBe(200)
    expect((await rig.ask('GET', '/accounts')).status).toBe(200)
  })

  it.each(['token', 'session'])('ends when its %s does', async (kind) => {
    const signedIn = await rig.ask('POST', '/session', { token: null, body: { token: BOB } })
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    const waiting = kind === 'token' ? wait('after=0', BOB) : rig.ask('GET', '/changes?wait=30', { token: null, headers: { cookie } })
    await held(1)
    rig.config = loadConfig({ ...rig.env, OPS_TOKENS: `alice:${ALICE}` })
    const ended = await waiting
    expect([ended.status, ended.text]).toEqual([401, expect.stringContaining('the token or session has ended')])
  })

  it('accepts 1 to 30 seconds, and does not wait with a cursor', async () => {
    for (const wrong of ['0', '31', 'x']) expect((await rig.ask('GET', `/changes?wait=${wrong}`)).status).toBe(400)
    await addEvent(1)
    const { last_seq } = (await wait('after=0')).json
    expect((await wait(`cursor=${last_seq}`)).json.items).toEqual([])
  })
})
