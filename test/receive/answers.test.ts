import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type OpenedDatabase, testDatabases } from '../tools/databases.ts'
import {
  account,
  answerTo,
  BODY_LIMIT,
  deliver,
  head,
  inboxOf,
  newSecret,
  openRaw,
  post,
  sign,
  signed,
  startTestReceiver,
  type TestReceiver,
} from './support.ts'

const BODY = '{"type":"submission.message","submission_id":"6f1f5c0e-0000-4000-8000-000000000001"}'
const MINUTE_MS = 60_000

describe.each(testDatabases)('the receiver on $name', (database) => {
  const secret = newSecret()
  const second = newSecret()
  const stagingSecret = newSecret()
  let opened: OpenedDatabase
  let receiver: TestReceiver
  let acme: string

  beforeEach(async () => {
    opened = await database.open()
    receiver = await startTestReceiver({
      db: opened.db,
      accounts: [account('acme', [secret, second], true), account('acme-staging', [stagingSecret])],
    })
    acme = `${receiver.origin}/webhooks/acme`
  })
  afterEach(async () => {
    await receiver.running.stop(1_000)
    await opened.close()
  })

  const inbox = () => inboxOf(opened.db)
  const counted = (answer: number, name = 'acme') => receiver.counts.of('deliveries_total', { account: name, answer: String(answer) })
  const refusals = (reason: string, name = 'acme') => receiver.counts.of('deliveries_rejected_total', { account: name, reason })

  it('204: a delivery with a good signature is stored, under the account of its path', async () => {
    expect(await post(acme, BODY, sign(secret, BODY, { id: 'msg_1' }))).toEqual({ status: 204, retryAfter: undefined, text: '' })
    expect((await deliver(`${receiver.origin}/webhooks`, secret, BODY, { id: 'msg_2' })).status).toBe(204)
    expect((await deliver(`${receiver.origin}/webhooks/acme-staging`, stagingSecret, BODY, { id: 'msg_3' })).status).toBe(204)
    const rows = await inbox()
    expect(rows.map((row) => [row.account, row.delivery_id, row.state, row.secret, String(row.body)])).toEqual([
      ['acme', 'msg_1', 'ready', 1, BODY],
      ['acme', 'msg_2', 'ready', 1, BODY],
      ['acme-staging', 'msg_3', 'ready', 1, BODY],
    ])
    expect(JSON.parse(rows[0]?.headers ?? '')).toMatchObject({ 'svix-id': 'msg_1', 'content-type': 'application/json' })
    expect([counted(204), counted(204, 'acme-staging')]).toEqual([2, 1])
    expect(receiver.counts.of('acknowledge_seconds', { account: 'acme' })).toBe(2)
  })

  it('takes webhook-* headers, and counts which secret verified', async () => {
    expect((await deliver(acme, second, BODY, { id: 'msg_1', names: 'webhook' })).status).toBe(204)
    expect(await inbox()).toMatchObject([{ delivery_id: 'msg_1', secret: 2 }])
    expect(JSON.parse((await inbox())[0]?.headers ?? '')).toMatchObject({ 'webhook-id': 'msg_1' })
    expect(receiver.counts.of('deliveries_verified_total', { account: 'acme', secret: '2' })).toBe(1)
  })

  it('stores a delivery under the triple that verified, when both came and one of them is spoiled', async () => {
    const good = sign(secret, BODY, { id: 'msg_webhook', names: 'webhook' })
    expect((await post(acme, BODY, { ...sign(newSecret(), BODY, { id: 'msg_svix' }), ...good })).status).toBe(204)
    const [row, ...others] = await inbox()
    expect([row?.delivery_id, others]).toEqual(['msg_webhook', []])
    expect(JSON.parse(row?.headers ?? '')).toEqual({ ...good, 'content-type': 'application/json' })
  })

  it('trap 27: a repeated delivery is acknowledged and kept once', async () => {
    for (let n = 0; n < 3; n++) expect((await deliver(acme, secret, BODY, { id: 'msg_1' })).status).toBe(204)
    const many = await Promise.all(Array.from({ length: 20 }, () => deliver(acme, secret, BODY, { id: 'msg_2' })))
    expect(many.every((answer) => answer.status === 204)).toBe(true)
    expect((await inbox()).map((row) => row.delivery_id)).toEqual(['msg_1', 'msg_2'])
  })

  it('trap 30: a burst is absorbed, and a body that is not JSON is stored unchanged', async () => {
    const bodies = ['', 'no json {', '[1,2', '"\\ud800"', '\u0000', '{"type":"of a later release"}', 'é'.repeat(20_000)].map((text) =>
      Buffer.from(text),
    )
    const burst = [...bodies, ...Array.from({ length: 200 }, (_, n) => Buffer.from(`{"n":${n}}`))]
    const answers = await Promise.all(burst.map((body, n) => deliver(acme, secret, body, { id: `msg_${n}` })))
    expect(answers.map((answer) => answer.status)).toEqual(burst.map(() => 204))
    const stored = new Map((await inbox()).map((row) => [row.delivery_id, row.body]))
    expect(burst.map((_, n) => stored.get(`msg_${n}`))).toEqual(burst)
  })

  it('invariant 11: no header that a sender adds turns a good signature into another answer', async () => {
    const odd: Record<string, string>[] = [
      { 'content-type': 'garbage' },
      { 'content-type': 'application/json; charset=' },
      { 'content-type': 'text/plain' },
      { 'content-type': 'multipart/form-data' },
      { 'content-encoding': 'gzip' },
      { 'content-encoding': 'br', 'accept-version': '9' },
      { accept: 'application/xml' },
    ]
    for (const headers of odd) expect((await post(acme, BODY, { ...sign(secret, BODY), ...headers })).status).toBe(204)
    const chunks = [BODY.slice(0, 10), BODY.slice(10)].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`)
    for (const texts of [
      [signed(secret, BODY, '/webhooks/acme')],
      [signed(secret, BODY, '/webhooks/acme', { expect: 'much' })],
      [head('/webhooks/acme', { ...sign(secret, BODY), 'transfer-encoding': 'chunked' }), ...chunks, '0\r\n\r\n'],
    ])
      expect(await answerTo(receiver.port, ...texts)).toMatch(/^HTTP\/1.1 204/)
    expect((await inbox()).map((row) => String(row.body))).toEqual(Array.from({ length: odd.length + 3 }, () => BODY))
  })

  it('401: signature missing, wrong, of another scheme, or too far from now, each with its reason', async () => {
    const good = sign(secret, BODY)
    const cases: [reason: string, headers: Record<string, string>, body?: string][] = [
      ['missing_headers', {}],
      ['missing_headers', { 'svix-id': good['svix-id'] ?? '', 'svix-timestamp': good['svix-timestamp'] ?? '' }],
      ['wrong_signature', good, `${BODY} `],
      ['wrong_signature', { ...good, 'svix-id': 'msg_other' }],
      ['wrong_signature', sign(newSecret(), BODY)],
      ['unknown_scheme', { ...good, 'svix-signature': 'v2,abc' }],
      ['bad_timestamp', { ...good, 'svix-timestamp': 'now' }],
      ['stale_timestamp', sign(secret, BODY, { atMs: Date.now() - 6 * MINUTE_MS })],
      ['stale_timestamp', sign(secret, BODY, { atMs: Date.now() + 6 * MINUTE_MS })],
    ]
    const expected = new Map<string, number>()
    for (const [reason, headers, body = BODY] of cases) {
      const answer = await post(acme, body, headers)
      expect(answer.status).toBe(401)
      const text = reason === 'missing_headers' ? /^no complete signature was sent: send svix-id, svix-timestamp,/ : /^signature rejected$/m
      expect(answer.text).toMatch(text)
      expected.set(reason, (expected.get(reason) ?? 0) + 1)
      expect(refusals(reason)).toBe(expected.get(reason))
    }
    expect(await inbox()).toEqual([])
    expect(counted(401)).toBe(cases.length)
    await receiver.rejected.settled()
    const kept = await receiver.rejected.list({ limit: 100 })
    expect(kept.map((one) => one.reason).reverse()).toEqual(cases.map(([reason]) => reason))
    expect(kept.find((one) => one.reason === 'wrong_signature')).toMatchObject({
      account: 'acme',
      address: '127.0.0.1',
      path: '/webhooks/acme',
    })
    expect(receiver.lines.filter((line) => line['reason'] === 'wrong_signature')).toHaveLength(3)
  })

  it('of the address of a rejected delivery the query is neither kept nor logged, which may hold a token', async () => {
    for (const path of ['/webhooks/acme', '/webhooks/nobody']) {
      await post(`${receiver.origin}${path}?token=query-token-1`, BODY, sign(newSecret(), BODY))
    }
    await receiver.rejected.settled()
    expect((await receiver.rejected.list({ limit: 10 })).map((one) => one.path)).toEqual(['/webhooks/nobody', '/webhooks/acme'])
    expect(JSON.stringify(receiver.lines)).not.toContain('query-token-1')
  })

  it('a request whose sender disconnected before it was read is rejected and kept, with its address if the system provided it', async () => {
    const raw = await openRaw(receiver.port)
    raw.write(head('/webhooks/acme', { 'content-length': '0' }))
    // The system still delivers the request, but may have lost its sender.
    raw.socket.resetAndDestroy()
    expect((await post(acme, BODY, {})).status).toBe(401)
    await receiver.rejected.settled()
    const kept = await receiver.rejected.list({ limit: 10 })
    expect(kept.map((one) => [one.reason, one.address])).toEqual([
      ['missing_headers', '127.0.0.1'],
      ['missing_headers', expect.stringMatching(/^(127\.0\.0\.1|unknown)$/)],
    ])
    expect([refusals('missing_headers'), counted(401), counted(503)]).toEqual([2, 2, 0])
  })

  it('trap 26: a scheme that is unknown is refused, and the log and the kept delivery say so', async () => {
    const headers: Record<string, string> = { ...sign(secret, BODY), 'svix-signature': 'v1a,ZWQyNTUxOQ==' }
    expect((await post(acme, BODY, headers)).status).toBe(401)
    await receiver.rejected.settled()
    expect(await receiver.rejected.list({ limit: 1 })).toMatchObject([
      { reason: 'unknown_scheme', headers: { 'svix-signature': 'v1a,ZWQyNTUxOQ==' } },
    ])
    expect(receiver.lines).toContainEqual(
      expect.objectContaining({ reason: 'unknown_scheme', account: 'acme', delivery: headers['svix-id'] }),
    )
  })

  it('trap 35: the account is the one whose path and secret verified, with any body', async () => {
    const body = JSON.stringify({ type: 'submission.message', account: 'acme-staging', brokerage_id: randomUUID() })
    expect((await deliver(acme, secret, body)).status).toBe(204)
    expect((await deliver(`${receiver.origin}/webhooks/acme-staging`, secret, body)).status).toBe(401)
    expect((await inbox()).map((row) => row.account)).toEqual(['acme'])
  })

  it('trap 36: a staging secret never writes a production row', async () => {
    for (const path of ['/webhooks/acme', '/webhooks']) {
      expect((await deliver(`${receiver.origin}${path}`, stagingSecret, BODY, { id: 'msg_1' })).status).toBe(401)
    }
    expect(await inbox()).toEqual([])
    expect((await deliver(`${receiver.origin}/webhooks/acme-staging`, stagingSecret, BODY, { id: 'msg_1' })).status).toBe(204)
    expect((await deliver(acme, secret, BODY, { id: 'msg_1' })).status).toBe(204)
    expect((await inbox()).map((row) => [row.account, row.delivery_id])).toEqual([
      ['acme-staging', 'msg_1'],
      ['acme', 'msg_1'],
    ])
  })

  it('404: unknown accounts, paths and methods', async () => {
    const headers = sign(secret, BODY)
    const below = ['nobody', 'ACME', '', 'acme/', 'acme/x', '%zz'].map((account) => `/webhooks/${account}`)
    for (const path of [...below, '/', '/healthz']) {
      expect([path, (await post(`${receiver.origin}${path}`, BODY, headers)).status]).toEqual([path, 404])
      expect([path, (await post(`${receiver.origin}${path}`, BODY, { 'content-type': 'garbage' })).status]).toEqual([path, 404])
    }
    expect((await post(`${receiver.origin}/webhooks/${'a'.repeat(500)}`, BODY, headers)).status).toBe(404)
    // Nothing of the request is repeated.
    expect((await post(`${receiver.origin}/healthz`, BODY, headers)).text).toBe('not found\n')
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'QUERY'])
      expect((await fetch(acme, { method })).status).toBe(404)
    expect(await inbox()).toEqual([])
    expect(refusals('unknown_account', 'unknown')).toBeGreaterThan(0)
  })

  it('413: a body over the limit, announced or not; it is counted and raises an alarm, and the connection continues', async () => {
    const large = 'x'.repeat(BODY_LIMIT + 1)
    const limit = 'x'.repeat(BODY_LIMIT)
    expect((await deliver(acme, secret, limit)).status).toBe(204)
    expect((await deliver(acme, secret, large)).status).toBe(413)
    expect((await deliver(acme, secret, 'x'.repeat(20 * BODY_LIMIT))).status).toBe(413)
    // A body with a too long announced length is not awaited.
    const announced = head('/webhooks/acme', { ...sign(secret, large), 'content-length': String(large.length) })
    expect(await answerTo(receiver.port, announced)).toMatch(/^HTTP\/1.1 413/)
    const chunked = await openRaw(receiver.port)
    chunked.write(head('/webhooks/acme', { ...sign(secret, large), 'transfer-encoding': 'chunked' }))
    const part = `${(1024).toString(16)}\r\n${'x'.repeat(1024)}\r\n`
    for (let n = 0; n < 80; n++) chunked.write(part)
    expect(await chunked.hears('\r\n\r\n')).toMatch(/^HTTP\/1.1 413/)
    chunked.write('0\r\n\r\n')
    chunked.write(signed(secret, BODY, '/webhooks/acme'))
    expect(await chunked.hears('HTTP/1.1 204')).toContain('HTTP/1.1 204')
    chunked.socket.destroy()
    expect([counted(413), refusals('body_too_large')]).toEqual([4, 4])
    expect(receiver.lines.filter((line) => line['level'] === 50 && line['reason'] === 'body_too_large')).toHaveLength(4)
    expect(await inbox()).toHaveLength(2)
  })

  it('429: from the 21st bad signature in a minute; a good one is never limited', async () => {
    const bad = sign(newSecret(), BODY)
    const answers: number[] = []
    for (let n = 0; n < 25; n++) answers.push((await post(acme, BODY, bad)).status)
    expect(answers).toEqual([...Array.from({ length: 20 }, () => 401), ...Array.from({ length: 5 }, () => 429)])
    expect((await post(acme, BODY, {})).status).toBe(429)
    // Small and large, to every account.
    for (const body of [BODY, 'x'.repeat(BODY_LIMIT)]) {
      expect((await deliver(acme, secret, body)).status).toBe(204)
      expect((await deliver(`${receiver.origin}/webhooks/acme-staging`, stagingSecret, body)).status).toBe(204)
    }
    const large = 'x'.repeat(BODY_LIMIT)
    expect((await post(acme, large, sign(newSecret(), large))).status).toBe(429)
    expect([counted(401), counted(429), counted(204)]).toEqual([20, 7, 2])
    expect(await inbox()).toHaveLength(4)
  })

  it('counts bad signatures by the address that a trusted proxy names', async () => {
    const behindProxy = await startTestReceiver({ db: opened.db, accounts: [account('acme', [secret], true)], trustProxy: true })
    const from = async (address: string) => (await post(`${behindProxy.origin}/webhooks`, BODY, { 'x-forwarded-for': address })).status
    for (let n = 0; n < 20; n++) expect(await from('203.0.113.1')).toBe(401)
    expect([await from('203.0.113.1'), await from('203.0.113.2')]).toEqual([429, 401])
    await behindProxy.running.stop(1_000)
  })
})
