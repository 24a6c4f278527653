import { expect, test } from 'vitest'
import { ManualClock } from '../../../src/base/clock.ts'
import { FaultInjector, type FaultInput, faultSchema, presetFaults } from '../../../src/sandbox/service/faults.ts'
import { Prng } from '../../../src/sandbox/world/prng.ts'
import { Client, Endpoint, sandboxFor } from '../support.ts'

async function withFaults(...faults: FaultInput[]) {
  const sandbox = await sandboxFor()
  const id = sandbox.addSubmission('default')
  sandbox.fillFeeds('default', id, { events: 5, messages: 5 })
  const client = await new Client(sandbox).login()
  sandbox.faults.set(faults)
  return { sandbox, id, client, events: () => client.get(`/broker/submissions/${id}/events`) }
}

async function wired(...faults: FaultInput[]) {
  const endpoint = await Endpoint.open()
  const sandbox = await sandboxFor({ faults })
  sandbox.account('default').target = endpoint.url
  return { endpoint, sandbox, id: sandbox.addSubmission('default') }
}

test('any status, with JSON, HTML or no body', async () => {
  for (const status of [401, 404, 409, 429, 500, 502, 503]) {
    const { events } = await withFaults({ kind: 'status', status, count: 1 })
    const answer = await events()
    expect(answer.status).toBe(status)
    expect(await answer.json()).toHaveProperty('detail')
    expect((await events()).status).toBe(200)
  }
  const { events } = await withFaults(
    { kind: 'status', status: 502, body: 'html', count: 1 },
    { kind: 'status', status: 503, body: 'empty' },
  )
  expect((await events()).headers.get('content-type')).toContain('text/html')
  expect(await (await events()).text()).toBe('')
})

test('Retry-After in seconds and as a date', async () => {
  const { events } = await withFaults(
    { kind: 'status', status: 429, retryAfterSeconds: 7, count: 1 },
    { kind: 'status', status: 429, retryAfterSeconds: 7, retryAfterAs: 'date' },
  )
  expect((await events()).headers.get('retry-after')).toBe('7')
  expect(Date.parse((await events()).headers.get('retry-after') ?? '')).not.toBeNaN()
})

test('HTML instead of the answer', async () => {
  const { events } = await withFaults({ kind: 'html' })
  const answer = await events()
  expect(answer.status).toBe(200)
  expect(await answer.text()).toContain('<html>')
})

test('a cut body is shorter than its declared length', async () => {
  const { events } = await withFaults({ kind: 'cut' })
  const answer = await events()
  expect(answer.status).toBe(200)
  await expect(answer.text()).rejects.toThrow()
})

test('a hanging answer ends the connection after its time', async () => {
  const clock = new ManualClock()
  const struck = Promise.withResolvers<void>()
  const sandbox = await sandboxFor({ clock, observe: () => struck.resolve() })
  const client = await new Client(sandbox).login()
  sandbox.faults.set([{ kind: 'hang', ms: 5_000, count: 1 }])
  const outcome = client.get('/broker/me').then(
    () => 'answered',
    () => 'closed',
  )
  await struck.promise
  // Lets the answer start to sleep.
  await new Promise(setImmediate)
  clock.advance(5_000)
  expect(await outcome).toBe('closed')
  expect((await client.get('/broker/me')).status).toBe(200)
})

test('a fault can be limited to one submission, one operation, one account and a count', async () => {
  const { sandbox, id, client } = await withFaults({ kind: 'status', status: 500, operation: 'thread', count: 2 })
  const other = sandbox.addSubmission('default')
  const statuses = async (...asked: (readonly ['events' | 'thread', string])[]) => {
    const out: number[] = []
    for (const [feed, submission] of asked) out.push((await client.get(`/broker/submissions/${submission}/${feed}`)).status)
    return out
  }
  expect(await statuses(['events', id], ['thread', id], ['thread', other], ['thread', id])).toEqual([200, 500, 500, 200])
  sandbox.faults.set([{ kind: 'status', status: 503, submissionId: other }])
  expect(await statuses(['events', id], ['events', other])).toEqual([200, 503])
  sandbox.faults.set([{ kind: 'status', status: 503, account: 'another' }])
  expect(await statuses(['events', id])).toEqual([200])
  expect(sandbox.faults.list()).toEqual([expect.objectContaining({ kind: 'status', struck: 0 })])
})

test('the token endpoint can fail too', async () => {
  const { sandbox, client } = await withFaults({ kind: 'status', status: 503, operation: 'token', count: 1 })
  expect((await client.exchange()).status).toBe(503)
  expect((await client.exchange()).status).toBe(200)
  expect(sandbox.stats().faults).toEqual({ status: 1 })
})

test('a lost delivery never arrives, and is counted', async () => {
  const { endpoint, sandbox, id } = await wired({ kind: 'lose', count: 1 })
  sandbox.addMessage('default', id, { body_text: 'lost' })
  const kept = sandbox.addMessage('default', id, { body_text: 'kept' })
  await sandbox.deliveries.idle()
  expect(endpoint.contents.flatMap(({ ids }) => ids)).toEqual([kept.id])
  expect(sandbox.stats().deliveries).toMatchObject({ lost: 1, acknowledged: 1 })
})

test('a duplicate has the same delivery id, a twin another one, both the same message', async () => {
  const { endpoint, sandbox, id } = await wired({ kind: 'duplicate', count: 1 }, { kind: 'twin', count: 1 })
  const message = sandbox.addMessage('default', id, { body_text: 'thrice' })
  await sandbox.deliveries.idle()
  expect(endpoint.contents.map(({ ids }) => ids)).toEqual([[message.id], [message.id], [message.id]])
  expect(new Set(endpoint.arrivals.map(({ headers }) => headers['svix-id'])).size).toBe(2)
  expect(sandbox.stats().deliveries).toMatchObject({ duplicated: 1, twinned: 1, acknowledged: 3 })
})

test('a reordered delivery comes after later ones, a delayed one keeps its place', async () => {
  for (const kind of ['reorder', 'delay'] as const) {
    const clock = new ManualClock()
    const arrived = Promise.withResolvers<void>()
    const endpoint = await Endpoint.open(() => {
      arrived.resolve()
      return 204
    })
    const sandbox = await sandboxFor({ clock, faults: [{ kind, ms: 1_000, count: 1 }] })
    sandbox.account('default').target = endpoint.url
    const id = sandbox.addSubmission('default')
    const [first, second] = ['first', 'second'].map((text) => sandbox.addMessage('default', id, { body_text: text }).id)
    if (kind === 'reorder') await arrived.promise
    clock.advance(1_000)
    await sandbox.deliveries.idle()
    expect(endpoint.contents.flatMap(({ ids }) => ids)).toEqual(kind === 'reorder' ? [second, first] : [first, second])
  }
})

test('the clock can be ahead or behind in signatures and Date headers', async () => {
  for (const ms of [3_600_000, -3_600_000]) {
    const { endpoint, sandbox, id } = await wired({ kind: 'clock_skew', ms })
    sandbox.addMessage('default', id, { body_text: 'late' })
    await sandbox.deliveries.idle()
    const offBy = (timeMs: number) => Math.round((timeMs - Date.now()) / 600_000) * 600_000
    expect(offBy(Number(endpoint.arrivals[0]?.headers['svix-timestamp']) * 1_000)).toBe(ms)
    const client = await new Client(sandbox).login()
    expect(offBy(Date.parse((await client.get('/broker/me')).headers.get('date') ?? ''))).toBe(ms)
  }
})

test('a wrong clock affects Retry-After dates, cut answers and expired tokens alike', async () => {
  const skew = { kind: 'clock_skew', ms: -3_600_000 } as const
  const { sandbox, client, events } = await withFaults(skew, { kind: 'status', status: 429, retryAfterSeconds: 7, retryAfterAs: 'date' })
  const time = (answer: Response, header: string) => Date.parse(answer.headers.get(header) ?? '')
  const throttled = await events()
  expect(time(throttled, 'retry-after') - time(throttled, 'date')).toBe(7_000)
  sandbox.faults.set([skew, { kind: 'cut' }])
  expect(time(await events(), 'date')).toBeLessThan(Date.now() - 3_000_000)
  sandbox.tokens.expireAll('default')
  const refused = await client.get('/broker/me')
  expect(refused.status).toBe(401)
  expect(time(refused, 'date')).toBeLessThan(Date.now() - 3_000_000)
})

test('chance is repeatable, with its probability', () => {
  const strikes = (seed: string) => {
    const book = new FaultInjector(new Prng(seed), () => {})
    book.set([{ kind: 'lose', probability: 0.3 }])
    return Array.from({ length: 2_000 }, () => book.draw(['lose'], { operation: 'delivery' }) !== null)
  }
  expect(strikes('a')).toEqual(strikes('a'))
  const share = strikes('b').filter(Boolean).length / 2_000
  expect(share).toBeGreaterThan(0.25)
  expect(share).toBeLessThan(0.35)
})

test('the preset of all faults contains every kind except no_next_cursor, and no refused credential', () => {
  const faults = presetFaults('all')
  const kinds = new Set(faults.map(({ kind }) => kind))
  const every = faultSchema.options.map((option) => option.shape.kind.value)
  expect([...kinds].sort()).toEqual(every.filter((kind) => kind !== 'no_next_cursor').sort())
  expect(faults.filter((fault) => fault.kind === 'status' && fault.status < 500).every(({ operation }) => operation !== undefined)).toBe(
    true,
  )
})

test('an invalid fault is refused', () => {
  const book = new FaultInjector(new Prng('a'), () => {})
  expect(() => book.set([{ kind: 'lose', probability: 2 }])).toThrow()
})

test('submission ids ignore case', async () => {
  const { sandbox, id, events } = await withFaults()
  sandbox.faults.add({ kind: 'status', status: 500, submissionId: id.toUpperCase() })
  expect((await events()).status).toBe(500)
})
