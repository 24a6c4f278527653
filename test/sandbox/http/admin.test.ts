import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { ask, Client, Endpoint, sandboxFor } from '../support.ts'

test('the truth equals the API', async () => {
  const sandbox = await sandboxFor({ clock: new ManualClock(), submissions: 6, accounts: [{ name: 'acme' }, { name: 'zenith' }] })
  for (let n = 0; n < 60; n++) sandbox.story.step()
  for (const account of sandbox.accountNames) {
    const client = await new Client(sandbox, account).login()
    const { body } = await ask(sandbox, `/truth?account=${account}`)
    const truth = body['submissions'] as {
      submission_id: string
      events: { id: string }[]
      messages: { id: string }[]
      requirements: object
    }[]
    expect(truth.map((submission) => submission.submission_id)).toEqual(sandbox.submissionIds(account))
    for (const { submission_id: id, events, messages, requirements } of truth) {
      expect((await client.readFeed('events', id, { limit: '3' })).ids).toEqual(events.map((event) => event.id))
      expect((await client.readFeed('thread', id, { limit: '3' })).ids).toEqual(messages.map((message) => message.id))
      expect(await (await client.get(`/broker/submissions/${id}/requirements`)).json()).toEqual(requirements)
    }
  }
})

test('submissions are listed, by default of the first account', async () => {
  const sandbox = await sandboxFor({ submissions: 3 })
  expect((await ask(sandbox, '/submissions')).body).toEqual({ account: 'default', submission_ids: sandbox.submissionIds('default') })
  expect(await ask(sandbox, '/submissions?account=nobody')).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('nobody') },
  })
})

test('faults are set, listed and cleared over HTTP', async () => {
  const sandbox = await sandboxFor()
  const client = await new Client(sandbox).login()
  await ask(sandbox, '/faults', { faults: [{ kind: 'status', status: 500, count: 1 }] })
  expect((await client.get('/broker/me')).status).toBe(500)
  expect((await ask(sandbox, '/faults')).body).toMatchObject({ faults: [{ kind: 'status', struck: 1 }] })
  await ask(sandbox, '/faults', { preset: 'all' })
  expect(sandbox.faults.list().length).toBeGreaterThan(20)
  await ask(sandbox, '/faults', { preset: 'none' })
  expect(sandbox.faults.list()).toEqual([])
  expect((await ask(sandbox, '/faults', { faults: [{ kind: 'unheard of' }] })).status).toBe(400)
})

test('story, target and deliveries are controlled over HTTP, with stats', async () => {
  const endpoint = await Endpoint.open()
  const sandbox = await sandboxFor({ submissions: 2 })
  expect((await ask(sandbox, '/target', { account: 'default', target: endpoint.url })).status).toBe(200)
  expect((await ask(sandbox, '/story', { action: 'step' })).body).toMatchObject({ step: expect.any(String), story: { played: 1 } })
  expect((await ask(sandbox, '/story', { action: 'start' })).body).toMatchObject({ story: { running: true } })
  expect((await ask(sandbox, '/story', { action: 'pause' })).body).toMatchObject({ story: { running: false } })
  const [id] = sandbox.submissionIds('default')
  expect((await ask(sandbox, '/deliver', { account: 'default', body: '{"odd":', submissionId: id, id: 'msg_odd' })).body).toEqual({
    id: 'msg_odd',
  })
  await sandbox.deliveries.idle()
  expect(endpoint.arrivals.at(-1)).toMatchObject({ body: '{"odd":', headers: { 'svix-id': 'msg_odd' } })
  const { body } = await ask(sandbox, '/stats')
  expect(body).toMatchObject({
    deliveriesPending: 0,
    writesSeen: 0,
    story: { ended: false },
    deliveries: { acknowledged: endpoint.arrivals.length },
  })
})

test('bodies are JSON with any content type, and malformed ones are refused', async () => {
  const { origin } = await sandboxFor({ submissions: 2 })
  const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  expect((await fetch(`${origin}/_sandbox/story`, { ...form, body: '{"action":"step"}' })).status).toBe(200)
  const broken = await fetch(`${origin}/_sandbox/story`, { ...form, headers: { 'content-type': 'application/json' }, body: '{"action":' })
  expect(broken.status).toBe(400)
  expect(await broken.json()).toHaveProperty('detail')
})

test('impossible requests are refused: a non-HTTP target, a delivery without a target, a fault of an unknown account', async () => {
  const sandbox = await sandboxFor()
  for (const [path, body] of [
    ['/target', { account: 'default', target: 'ftp://files.example/x' }],
    ['/deliver', { account: 'default', body: '{}' }],
    ['/faults', { faults: [{ kind: 'html', account: 'nobody' }] }],
    ['/faults', { faults: [{ kind: 'lose', operation: 'events' }] }],
    ['/faults', { faults: [{ kind: 'short_page', operation: 'requirements' }] }],
  ] as const) {
    expect(await ask(sandbox, path, body), JSON.stringify(body)).toMatchObject({ status: 400, body: { detail: expect.anything() } })
  }
  expect(sandbox.faults.list()).toEqual([])
})

test('an endpoint gets only its event types, or everything if there are none', async () => {
  const endpoint = await Endpoint.open()
  const sandbox = await sandboxFor({ submissions: 0 })
  const id = sandbox.addSubmission('default')
  const set = async (more: object) => (await ask(sandbox, '/target', { account: 'default', ...more })).status
  expect([await set({}), await set({ event_types: ['nonsense'] })]).toEqual([400, 400])
  expect(await set({ target: endpoint.url, event_types: ['bound'] })).toBe(200)
  sandbox.addMessage('default', id, { body_text: 'not subscribed' })
  sandbox.addEvent('default', id, { type: 'declined' })
  sandbox.addEvent('default', id, { type: 'bound' })
  await sandbox.deliveries.idle()
  expect(endpoint.contents.map(({ type }) => type)).toEqual(['submission.events'])
  expect(await set({ event_types: [] })).toBe(200)
  sandbox.addMessage('default', id, { body_text: 'subscribed' })
  await sandbox.deliveries.idle()
  expect(endpoint.contents.map(({ type }) => type)).toEqual(['submission.events', 'submission.message'])
})
