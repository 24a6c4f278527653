import fc from 'fast-check'
import { Webhook } from 'svix'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ManualClock, systemClock } from '../../../src/base/clock.ts'
import { Secret } from '../../../src/base/secret.ts'
import type { WebhookDestination } from '../../../src/config/config.ts'
import type { Row } from '../../../src/model/entity.ts'
import type { Outcome } from '../../../src/push/contract/delivery.ts'
import { TEST_TYPE } from '../../../src/push/contract/delivery.ts'
import { createWebhook } from '../../../src/push/kinds/webhook.ts'
import { silentLog } from '../../tools/databases.ts'
import { itemOf } from '../http/support.ts'
import { type Arrived, type Behavior, startReceiver, takesAll } from '../receiver.ts'
import { SECRET, webhookTo } from '../rig.ts'

const OTHER = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const madeUp = { isMadeUp: true } as const
const never = new AbortController().signal

const item = itemOf({
  messageId: '6f7d6b3a-3b0e-5c39-9a37-2f6f3b7f6a11',
  submissionId: 'sub-1',
  entityId: '["sub-1","e-1"]',
  seq: 42,
  changedAt: '2026-01-05T12:00:00.000000Z',
  after: { type: 'bound', detail: 'Ünïcode 🎉' },
  submission: null,
})

function kindFor(url: string, over: Partial<WebhookDestination> = {}, clock = systemClock) {
  const kind = createWebhook(webhookTo(url, over), { clock, log: silentLog, proxy: {} })
  onTestFinished(() => kind.close())
  return kind
}

async function outcomeOf(behavior: Behavior, over: Partial<WebhookDestination> = {}): Promise<Outcome | undefined> {
  const receiver = await startReceiver(behavior, madeUp)
  return (await kindFor(receiver.url, over).send([item], never))[0]
}

const answers =
  (status: number, headers: Record<string, string> = {}, body = ''): Behavior =>
  (_, response) =>
    response.writeHead(status, headers).end(body)

/** The message, when the library finds it signed with the secret; it throws when not. */
function verified(arrived: Arrived | undefined, secret = SECRET): unknown {
  new Webhook(secret).verify(arrived?.body ?? '', arrived?.headers as Record<string, string>)
  return JSON.parse(arrived?.body ?? '')
}

function afterIn(body = ''): unknown {
  return (JSON.parse(body) as { data: { after: unknown } }).data.after
}

describe('a message', () => {
  test('is what Standard Webhooks says, signed so that a library verifies it', async () => {
    const receiver = await startReceiver(takesAll, madeUp)
    expect(await kindFor(receiver.url).send([item], never)).toEqual([{ type: 'delivered', status: 204, remoteId: null, detail: null }])
    const [arrived] = receiver.arrived
    expect(arrived?.headers['content-type']).toBe('application/json')
    expect(verified(arrived)).toEqual({
      type: 'market_events.insert',
      timestamp: '2026-01-05T12:00:00.000000Z',
      data: {
        seq: 42,
        account: 'acme',
        submission_id: 'sub-1',
        entity: 'market_events',
        entity_id: '["sub-1","e-1"]',
        operation: 'insert',
        changed_at: '2026-01-05T12:00:00.000000Z',
        cause: 'webhook',
        before: null,
        after: { type: 'bound', detail: 'Ünïcode 🎉' },
      },
    })
    expect(() => verified(arrived, OTHER)).toThrow()
  })

  test('has the same id and the same bytes on every attempt, and a new timestamp', async () => {
    const clock = new ManualClock(Date.now())
    const receiver = await startReceiver(takesAll, madeUp)
    const kind = kindFor(receiver.url, {}, clock)
    await kind.send([item], never)
    clock.advance(7_000)
    await kind.send([{ ...item, attempts: 1 }], never)
    const [first, second] = receiver.arrived
    expect(second?.body).toBe(first?.body)
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    expect(Number(second?.headers['webhook-timestamp']) - Number(first?.headers['webhook-timestamp'])).toBe(7)
    expect(second?.headers['webhook-signature']).not.toBe(first?.headers['webhook-signature'])
  })

  test('has the same bytes from the columns and from their text', async () => {
    const receiver = await startReceiver(takesAll, madeUp)
    const kind = kindFor(receiver.url)
    const columns = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true })
    const variants = fc.record({
      after: fc.option(columns as fc.Arbitrary<Row>),
      direction: fc.constantFrom('sent' as const, null),
      snapshot: fc.boolean(),
    })
    await fc.assert(
      fc.asyncProperty(variants, async (variant) => {
        await kind.send([{ ...item, ...variant }], never)
        await kind.send([{ ...item, ...variant, after: null, afterText: JSON.stringify(variant.after) }], never)
        const [second, first] = [receiver.arrived.pop()?.body, receiver.arrived.pop()?.body]
        expect(second).toBe(first)
        expect(afterIn(first)).toEqual(JSON.parse(JSON.stringify(variant.after)))
      }),
    )
  })

  test('is signed with both secrets while one replaces the other', async () => {
    const receiver = await startReceiver(takesAll, madeUp)
    await kindFor(receiver.url, { secrets: [new Secret(OTHER), new Secret(SECRET)] }).send([item], never)
    const [arrived] = receiver.arrived
    for (const secret of [SECRET, OTHER]) {
      expect(verified(arrived, secret)).toBeTruthy()
    }
  })

  test('marks a snapshot, and names the writer of a message', async () => {
    const receiver = await startReceiver(takesAll, madeUp)
    await kindFor(receiver.url).send([{ ...item, snapshot: true, direction: 'sent', echo: true }], never)
    expect(JSON.parse(receiver.arrived[0]?.body ?? '')).toMatchObject({ snapshot: true, brokerage: { direction: 'sent', echo: true } })
  })
})

describe('the answers of a receiver', () => {
  test.each([200, 201, 202, 204, 299])('%i is a success', async (status) => {
    expect(await outcomeOf(answers(status))).toMatchObject({ type: 'delivered', status })
  })

  test('a success is one although its body breaks off', async () => {
    const breaking: Behavior = (_, response) => {
      response.writeHead(200, { 'content-length': '10' }).write('half')
      response.socket?.end()
    }
    expect(await outcomeOf(breaking, { idempotent: false })).toMatchObject({ type: 'delivered', status: 200 })
  })

  test.each([400, 409, 413, 415, 422])('%i is a refusal for good', async (status) => {
    expect(await outcomeOf(answers(status))).toMatchObject({ type: 'failed', permanent: true, alive: true, status })
  })

  test.each([301, 307, 401, 402, 403, 404, 405, 406, 411, 412, 414, 418, 423, 451])('%i is about the endpoint', async (status) => {
    expect(await outcomeOf(answers(status, { location: '/x' }))).toMatchObject({ type: 'suspend', retry: 'soon', status })
  })

  test.each([408, 425, 429])('%i may pass', async (status) => {
    expect(await outcomeOf(answers(status, { location: '/x' }))).toMatchObject({ type: 'failed', permanent: false, alive: true, status })
  })

  test.each([500, 502, 503, 504])('%i is a failure of the receiver itself', async (status) => {
    expect(await outcomeOf(answers(status))).toMatchObject({ type: 'failed', permanent: false, alive: false, status })
  })

  test('502 and 504 are unknown if a second delivery does harm', async () => {
    expect(await outcomeOf(answers(502), { idempotent: false })).toMatchObject({ type: 'unknown' })
    expect(await outcomeOf(answers(503), { idempotent: false })).toMatchObject({ type: 'failed', permanent: false })
  })

  test('410 stops the destination', async () => {
    expect(await outcomeOf(answers(410))).toMatchObject({ type: 'suspend', retry: 'manually', status: 410 })
  })

  test('Retry-After is passed on, with any status', async () => {
    expect(await outcomeOf(answers(429, { 'retry-after': '30' }))).toMatchObject({ type: 'failed', permanent: false, retryAfterMs: 30_000 })
    expect(await outcomeOf(answers(403, { 'retry-after': '30' }))).toMatchObject({ type: 'suspend', retryAfterMs: 30_000 })
  })

  test('its text is shown, without possible secrets', async () => {
    const body = JSON.stringify({ error: 'no such field for 123-45-6789' })
    expect(await outcomeOf(answers(422, {}, body))).toMatchObject({ error: 'answered 422 (no such field for […])' })
  })

  test('without an answer the outcome is unknown; an unsent request has failed', async () => {
    expect(await outcomeOf((_, response) => response.socket?.destroy())).toMatchObject({ type: 'unknown' })
    expect(await outcomeOf(() => undefined, { timeoutMs: 1_000 })).toMatchObject({ type: 'unknown' })
    expect(await outcomeOf(answers(204), { allowPrivate: false })).toMatchObject({ type: 'suspend', status: null })
  })
})

describe('a probe', () => {
  test('is a signed message of its own type', async () => {
    const receiver = await startReceiver((_, response) => response.writeHead(200).end(), madeUp)
    const result = await kindFor(receiver.url).probe(never)
    expect(result.ok).toBe(true)
    const [arrived] = receiver.arrived
    expect(verified(arrived)).toMatchObject({ type: TEST_TYPE })
  })

  test.each([
    [300, 'set url to the redirect target'],
    [400, 'log'],
    [401, 'signing secret'],
    [403, 'signing secret'],
    [410, 'URL'],
    [307, 'redirects are not followed; set url to the redirect target'],
    [404, 'URL'],
    [500, 'log'],
  ])('explains %i', async (status, hint) => {
    const receiver = await startReceiver(answers(status), madeUp)
    const { ok, text } = await kindFor(receiver.url).probe(never)
    expect([ok, text.includes(String(status)), text.includes(hint)]).toEqual([false, true, true])
  })

  test('says that nothing can be reached, and what to do', async () => {
    const { ok, text } = await kindFor('http://127.0.0.1:9/').probe(never)
    expect([ok, text]).toEqual([false, expect.stringMatching(/cannot be reached: .*compare host and port/)])
  })
})
