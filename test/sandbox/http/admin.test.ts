import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { runSandbox, sandboxCommandSchema } from '../../../src/sandbox/command.ts'
import type { Sandbox } from '../../../src/sandbox/service/sandbox.ts'
import { Client, Endpoint, sandboxFor } from '../support.ts'

async function ask(sandbox: Sandbox, path: string, body?: object): Promise<{ status: number; body: Record<string, unknown> }> {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const answer = await fetch(`${sandbox.origin}/_sandbox${path}`, body ? post : {})
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

test('the truth is what the API shows', async () => {
  const sandbox = await sandboxFor({ clock: new ManualClock(), submissions: 6, accounts: [{ name: 'acme' }, { name: 'zenith' }] })
  for (let n = 0; n < 60; n++) sandbox.step()
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
      expect((await client.walk('events', id, { limit: '3' })).ids).toEqual(events.map((event) => event.id))
      expect((await client.walk('thread', id, { limit: '3' })).ids).toEqual(messages.map((message) => message.id))
      expect(await (await client.get(`/broker/submissions/${id}/requirements`)).json()).toEqual(requirements)
    }
  }
})

test('submissions are listed, of the first account when none is named', async () => {
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

test('story, target and deliveries are steered over HTTP, and the stats tell', async () => {
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
  await sandbox.deliveriesSettled()
  expect(endpoint.arrivals.at(-1)).toMatchObject({ body: '{"odd":', headers: { 'svix-id': 'msg_odd' } })
  const { body } = await ask(sandbox, '/stats')
  expect(body).toMatchObject({
    deliveriesPending: 0,
    writesSeen: 0,
    story: { ended: false },
    deliveries: { acknowledged: endpoint.arrivals.length },
  })
})

test('the command prints what a mirror needs and serves until it is told to stop', async () => {
  const endpoint = await Endpoint.open()
  const lines: string[] = []
  const stop = new AbortController()
  const options = sandboxCommandSchema.parse({ port: '0', submissions: '2', accounts: '2', target: endpoint.url, paused: true })
  const log = createLog({ level: 'silent', pretty: false, secrets: [] })
  const ready = Promise.withResolvers<void>()
  const print = (line: string) => {
    lines.push(line)
    if (lines.filter((other) => other.startsWith('WEBHOOK_SECRETS=')).length === 2) ready.resolve()
  }
  const running = runSandbox(options, { log, clock: new ManualClock(), signal: stop.signal, print })
  await ready.promise
  const value = (name: string) => lines.find((line) => line.startsWith(`${name}=`))?.slice(name.length + 1) ?? ''
  expect(value('BROKER_API_BASE_URL')).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/)
  const form = {
    grant_type: 'client_credentials',
    client_id: value('BROKER_API_CLIENT_ID'),
    client_secret: value('BROKER_API_CLIENT_SECRET'),
  }
  const answer = await fetch(`${value('BROKER_API_BASE_URL')}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })
  expect(answer.status).toBe(200)
  stop.abort()
  await running
})

test('wrong options of the command are refused with a reason', () => {
  const wrong = [
    { port: '70000' },
    { speed: '0' },
    { faults: '[{"kind":"nothing"}]' },
    { faults: 'some' },
    { target: 'ftp://x' },
    { unknown: true },
  ]
  for (const options of wrong) expect(sandboxCommandSchema.safeParse(options).success).toBe(false)
  expect(sandboxCommandSchema.parse({ faults: '[{"kind":"lose","probability":0.5}]' }).faults).toEqual([{ kind: 'lose', probability: 0.5 }])
  expect(sandboxCommandSchema.parse({ faults: 'all' }).faults).toBe('all')
})

test('a body is read as JSON whatever type it is said to have, and what is no JSON is told like anything else that is wrong', async () => {
  const { origin } = await sandboxFor({ submissions: 2 })
  const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' } }
  expect((await fetch(`${origin}/_sandbox/story`, { ...form, body: '{"action":"step"}' })).status).toBe(200)
  const broken = await fetch(`${origin}/_sandbox/story`, { ...form, headers: { 'content-type': 'application/json' }, body: '{"action":' })
  expect(broken.status).toBe(400)
  expect(await broken.json()).toHaveProperty('detail')
})

test('what could never come to anything is refused: a target that is no HTTP, a delivery to nowhere, a fault of nobody', async () => {
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

test('an endpoint is sent only what its event types name, and everything again when they are empty', async () => {
  const endpoint = await Endpoint.open()
  const sandbox = await sandboxFor({ submissions: 0 })
  const id = sandbox.addSubmission('default')
  const set = async (more: object) => (await ask(sandbox, '/target', { account: 'default', ...more })).status
  expect([await set({}), await set({ event_types: ['nonsense'] })]).toEqual([400, 400])
  expect(await set({ target: endpoint.url, event_types: ['bound'] })).toBe(200)
  sandbox.addMessage('default', id, { body_text: 'not subscribed' })
  sandbox.addEvent('default', id, { type: 'declined' })
  sandbox.addEvent('default', id, { type: 'bound' })
  await sandbox.deliveriesSettled()
  expect(endpoint.contents.map(({ type }) => type)).toEqual(['submission.events'])
  expect(await set({ event_types: [] })).toBe(200)
  sandbox.addMessage('default', id, { body_text: 'subscribed' })
  await sandbox.deliveriesSettled()
  expect(endpoint.contents.map(({ type }) => type)).toEqual(['submission.events', 'submission.message'])
})
