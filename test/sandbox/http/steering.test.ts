import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { ask, Client, Endpoint, sandboxFor } from '../support.ts'

interface Delivery {
  id: string
  outcome: string
  attempts: number
  last_status: number | null
  submission_id: string
  item_ids: string[]
}

const deliveries = async (sandbox: Sandbox, query = '') => (await ask(sandbox, `/deliveries${query}`)).body['deliveries'] as Delivery[]

test('a stepped clock advances only by its route, with retries, tokens and the story', async () => {
  const statuses = [500, 503, 204]
  const endpoint = await Endpoint.open(() => statuses.shift() ?? 204)
  const sandbox = await sandboxFor({
    clockKind: 'step',
    submissions: 1,
    autoStart: true,
    retryScheduleMs: [5_000, 60_000],
    accounts: [{ name: 'default', target: endpoint.url }],
  })
  const client = await new Client(sandbox).login()
  const { now } = (await ask(sandbox, '/clock')).body as { now: string }
  expect((await ask(sandbox, '/clock', { advance_s: 0 })).body).toEqual({ clock: 'step', now })
  const submissionId = sandbox.addSubmission('default')
  sandbox.addMessage('default', submissionId, { body_text: 'hello' })
  await ask(sandbox, '/clock', { advance_s: 0 })
  expect(await deliveries(sandbox)).toMatchObject([{ outcome: 'pending', attempts: 1, last_status: 500 }])
  await ask(sandbox, '/clock', { advance_s: 4.9 })
  expect(await deliveries(sandbox, `?submission=${submissionId}`)).toMatchObject([{ outcome: 'pending', attempts: 1 }])
  await ask(sandbox, '/clock', { advance_s: 0.1 })
  expect(await deliveries(sandbox, `?submission=${submissionId}`)).toMatchObject([{ outcome: 'pending', attempts: 2, last_status: 503 }])
  await ask(sandbox, '/clock', { advance_s: 60 })
  expect(await deliveries(sandbox, `?submission=${submissionId}`)).toMatchObject([
    { outcome: 'acknowledged', attempts: 3, last_status: 204 },
  ])
  expect((await client.get('/broker/me')).status).toBe(200)
  await ask(sandbox, '/clock', { advance_s: 3_535 })
  expect((await client.get('/broker/me')).status).toBe(401)
  expect(sandbox.stats().story).toMatchObject({ ended: true })
})

test('the route is refused for other clocks, and for wrong amounts', async () => {
  const real = await sandboxFor()
  expect(await ask(real, '/clock', { advance_s: 1 })).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('--clock step') },
  })
  expect((await ask(real, '/clock')).body).toMatchObject({ clock: 'real' })
  const step = await sandboxFor({ clockKind: 'step' })
  for (const advance_s of [-1, '5', 1e12, null]) expect((await ask(step, '/clock', { advance_s })).status).toBe(400)
})

test('deliveries are listed with their outcome, latest first, and can be lost and resent', async () => {
  let status = 204
  const endpoint = await Endpoint.open(() => status)
  const sandbox = await sandboxFor({
    clockKind: 'step',
    retryScheduleMs: [5_000, 5_000],
    accounts: [{ name: 'default', target: endpoint.url }, { name: 'other' }],
  })
  const submissionId = sandbox.addSubmission('default')
  const say = async (text: string) => {
    const { id } = sandbox.addMessage('default', submissionId, { body_text: text })
    await ask(sandbox, '/clock', { advance_s: 0 })
    const [latest] = await deliveries(sandbox)
    expect(latest?.item_ids).toEqual([id])
    return latest as Delivery
  }
  const heard = () => endpoint.arrivals.map(({ headers }) => headers['svix-id'])

  const first = await say('first')
  expect(first).toMatchObject({ outcome: 'acknowledged', submission_id: submissionId })
  await ask(sandbox, `/deliveries/${first.id}/resend`, {})
  await sandbox.deliveries.idle()
  expect(heard()).toEqual([first.id, first.id])

  expect((await ask(sandbox, '/deliveries/next/lose', {})).status).toBe(200)
  const lost = await say('never sent')
  expect(lost).toMatchObject({ outcome: 'lost', attempts: 0 })
  await ask(sandbox, `/deliveries/${lost.id}/resend`, {})
  await sandbox.deliveries.idle()
  expect(heard().at(-1)).toBe(lost.id)

  status = 500
  const failing = await say('failing')
  const behind = await say('behind it')
  expect((await ask(sandbox, `/deliveries/${failing.id}/resend`, {})).status).toBe(400)
  status = 204
  await ask(sandbox, `/deliveries/${failing.id}/lose`, {})
  await sandbox.deliveries.idle()
  expect((await deliveries(sandbox)).map(({ id, outcome }) => [id, outcome])).toEqual([
    [behind.id, 'acknowledged'],
    [failing.id, 'lost'],
    [lost.id, 'acknowledged'],
    [first.id, 'acknowledged'],
  ])
  expect((await ask(sandbox, `/deliveries/${first.id}/lose`, {})).status).toBe(400)
  expect((await ask(sandbox, '/deliveries/msg_unknown/resend', {})).status).toBe(400)
  expect(await deliveries(sandbox, '?account=other')).toEqual([])
  expect(await deliveries(sandbox, '?limit=1')).toHaveLength(1)
  expect((await ask(sandbox, '/deliveries?account=nobody')).status).toBe(400)
})

test('signatures have the real time, with any stepped clock', async () => {
  const clock = new ManualClock()
  const endpoint = await Endpoint.open()
  const sandbox = await sandboxFor({ clock, clockKind: 'step', accounts: [{ name: 'default', target: endpoint.url }] })
  await ask(sandbox, '/clock', { advance_s: 86_400 })
  const { occurred_at: occurredAt } = sandbox.addMessage('default', sandbox.addSubmission('default'), { body_text: 'tomorrow' })
  await sandbox.deliveries.idle()
  expect(Date.parse(occurredAt)).toBe(clock.now() + 86_400_000)
  expect(endpoint.arrivals[0]?.headers['svix-timestamp']).toBe(String(clock.now() / 1000))
})
