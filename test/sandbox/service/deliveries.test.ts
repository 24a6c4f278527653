import { Webhook } from 'svix'
import { expect, test } from 'vitest'
import type { EventsPayload, SandboxOptions } from '../../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { type Arrival, Endpoint, sandboxFor } from '../support.ts'

async function wired(endpoint: Endpoint, options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await sandboxFor(options)
  sandbox.account('default').target = endpoint.url
  return sandbox
}

function verify(sandbox: Sandbox, arrival: Arrival | undefined): void {
  new Webhook(sandbox.account('default').webhookSecret).verify(arrival?.body ?? '', arrival?.headers as Record<string, string>)
}

test('the svix library verifies deliveries', async () => {
  const endpoint = await Endpoint.open()
  const sandbox = await wired(endpoint)
  const id = sandbox.addSubmission('default')
  const event = sandbox.addEvent('default', id, { type: 'declined', detail: 'Out of appetite' })
  const message = sandbox.addMessage('default', id, { body_text: 'Hello', kind: 'question' })
  await sandbox.deliveries.idle()
  expect(endpoint.arrivals.map(({ body }) => JSON.parse(body))).toEqual([
    { type: 'submission.events', submission_id: id, events: [event] },
    { type: 'submission.message', submission_id: id, message },
  ])
  for (const arrival of endpoint.arrivals) verify(sandbox, arrival)
  expect(() =>
    new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`).verify(
      endpoint.arrivals[0]?.body ?? '',
      endpoint.arrivals[0]?.headers as Record<string, string>,
    ),
  ).toThrow()
})

test('signature headers can have the other names', async () => {
  const endpoint = await Endpoint.open()
  const sandbox = await wired(endpoint, { signatureHeaders: 'webhook' })
  sandbox.addEvent('default', sandbox.addSubmission('default'), { type: 'bound' })
  await sandbox.deliveries.idle()
  expect(endpoint.arrivals[0]?.headers).toHaveProperty('webhook-id')
  expect(endpoint.arrivals[0]?.headers).not.toHaveProperty('svix-id')
  verify(sandbox, endpoint.arrivals[0])
})

test('an events delivery can be laid out in other ways', async () => {
  const layouts: readonly (readonly [EventsPayload, (id: string, events: object[], ids: string[]) => object[]])[] = [
    ['data', (id, events) => [{ type: 'submission.events', data: { submission_id: id, events } }]],
    ['single', (id, events) => events.map((event) => ({ type: 'submission.events', submission_id: id, event }))],
    ['ids-only', (id, _events, ids) => [{ type: 'submission.events', submission_id: id, event_ids: ids }]],
    ['opaque', () => [{ type: 'submission.events' }]],
  ]
  for (const [eventsPayload, expected] of layouts) {
    const endpoint = await Endpoint.open()
    const sandbox = await wired(endpoint, { eventsPayload })
    const id = sandbox.addSubmission('default')
    const events = sandbox.addEvents('default', id, [{ type: 'market_attached' }, { type: 'quote_received' }])
    await sandbox.deliveries.idle()
    const ids = events.map((event) => event.id)
    expect(endpoint.arrivals.map(({ body }) => JSON.parse(body))).toEqual(expected(id, events, ids))
  }
})

test('a failing delivery is retried, and blocks only its submission', async () => {
  let failures = 3
  const order: string[] = []
  const endpoint = await Endpoint.open((arrival) => {
    const { submission_id } = JSON.parse(arrival.body) as { submission_id: string }
    if (submission_id === stubborn && failures-- > 0) return failures === 1 ? 'cut' : 503
    order.push(submission_id)
    return 200
  })
  const sandbox = await wired(endpoint)
  const stubborn = sandbox.addSubmission('default')
  const easy = sandbox.addSubmission('default')
  const mine = [1, 2, 3, 4].map((n) => sandbox.addMessage('default', stubborn, { body_text: `${n}` }).id)
  sandbox.addMessage('default', easy, { body_text: 'easy' })
  await sandbox.deliveries.idle()

  const tried = endpoint.contents.filter((content) => content.submission_id === stubborn).flatMap((content) => content.ids)
  expect(tried).toEqual([mine[0], mine[0], mine[0], ...mine])
  expect(order[0]).toBe(easy)
  const firstTries = endpoint.arrivals.filter(({ body }) => body.includes(mine[0] ?? '-'))
  expect(new Set(firstTries.map(({ headers }) => headers['svix-id'])).size).toBe(1)
  expect(sandbox.stats().deliveries).toMatchObject({ queued: 5, tries: 8, acknowledged: 5, givenUp: 0 })
})

test('an unacknowledged delivery is dead-lettered, and the next one follows', async () => {
  let refused = ''
  const endpoint = await Endpoint.open(({ body }) => (body.includes(refused) ? 500 : 204))
  const sandbox = await wired(endpoint, { retryScheduleMs: [1, 1] })
  const id = sandbox.addSubmission('default')
  refused = sandbox.addMessage('default', id, { body_text: 'refused' }).id
  const next = sandbox.addMessage('default', id, { body_text: 'next' }).id
  await sandbox.deliveries.idle()
  expect(endpoint.contents.flatMap(({ ids }) => ids)).toEqual([refused, refused, refused, next])
  expect(sandbox.stats().deliveries.givenUp).toBe(1)
})

test('an answer after the timeout does not acknowledge', async () => {
  const endpoint = await Endpoint.open(() => 'never')
  const sandbox = await wired(endpoint, { deliveryTimeoutMs: 50, retryScheduleMs: [] })
  sandbox.addMessage('default', sandbox.addSubmission('default'), { body_text: 'slow' })
  await sandbox.deliveries.idle()
  expect(sandbox.stats().deliveries).toMatchObject({ tries: 1, acknowledged: 0, givenUp: 1 })
})

test('history from before the endpoint, hidden lanes and filtered types are not delivered', async () => {
  const endpoint = await Endpoint.open()
  const sandbox = await sandboxFor({ accounts: [{ name: 'default', eventTypes: ['bound', 'message'] }] })
  const id = sandbox.addSubmission('default')
  sandbox.addEvent('default', id, { type: 'bound' })
  sandbox.account('default').target = endpoint.url
  const lane = sandbox.addLane('default', id, { hidden: true }).rail.submission_market_id
  sandbox.addEvent('default', id, { type: 'bound', lane_id: lane })
  sandbox.revealLane('default', id, lane)
  sandbox.addEvent('default', id, { type: 'declined', lane_id: lane })
  const bound = sandbox.addEvent('default', id, { type: 'bound', lane_id: lane })
  await sandbox.deliveries.idle()
  expect(endpoint.contents.flatMap(({ ids }) => ids)).toEqual([bound.id])
})

test('events that become visible late can be delivered too', async () => {
  const endpoint = await Endpoint.open()
  const sandbox = await wired(endpoint, { unshown: { announce_late: 'yes' } })
  const id = sandbox.addSubmission('default')
  const lane = sandbox.addLane('default', id, { hidden: true }).rail.submission_market_id
  const late = sandbox.addEvent('default', id, { type: 'market_attached', lane_id: lane })
  sandbox.revealLane('default', id, lane)
  await sandbox.deliveries.idle()
  expect(endpoint.contents.flatMap(({ ids }) => ids)).toEqual([late.id])
})

test('any body can be delivered, and secrets can be rotated', async () => {
  const endpoint = await Endpoint.open()
  const sandbox = await wired(endpoint)
  const before = sandbox.account('default').webhookSecret
  expect(sandbox.rotateWebhookSecret('default')).not.toBe(before)
  expect(sandbox.deliver('default', 'not json', { id: 'msg_mine' })).toBe('msg_mine')
  await sandbox.deliveries.idle()
  expect(endpoint.arrivals[0]).toMatchObject({ body: 'not json', headers: { 'svix-id': 'msg_mine' } })
  verify(sandbox, endpoint.arrivals[0])
})

test('every account has its own secret, derived from the seed', async () => {
  const accounts = [{ name: 'acme' }, { name: 'zenith' }]
  const [one, same, other] = await Promise.all(['a', 'a', 'b'].map((seed) => sandboxFor({ seed, accounts })))
  const secrets = (sandbox: Sandbox | undefined) => accounts.map(({ name }) => sandbox?.account(name).webhookSecret ?? '')
  expect(secrets(one)).toEqual(secrets(same))
  expect(new Set([...secrets(one), ...secrets(other)]).size).toBe(4)
  for (const secret of secrets(one)) expect(Buffer.from(secret.replace(/^whsec_/, ''), 'base64').length).toBeGreaterThanOrEqual(24)
})
