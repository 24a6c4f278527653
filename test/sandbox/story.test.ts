import { expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import type { SandboxOptions } from '../../src/sandbox/service/options.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { Client, Endpoint, replyOf, sandboxFor } from './support.ts'

function tell(sandbox: Sandbox): void {
  while (sandbox.story.step()) {}
}

const playedWorld = async (options: SandboxOptions): Promise<Sandbox> => {
  const sandbox = await sandboxFor({ clock: new ManualClock(), submissions: 25, ...options })
  tell(sandbox)
  return sandbox
}

test('the same seed and start give the same world, another seed another one', async () => {
  const [one, same, other] = await Promise.all([playedWorld({ seed: 'x' }), playedWorld({ seed: 'x' }), playedWorld({ seed: 'y' })])
  expect(one.truth('default')).toEqual(same.truth('default'))
  expect(one.submissionIds('default')).not.toEqual(other.submissionIds('default'))
})

test('faults do not change the world', async () => {
  const [fair, foul] = await Promise.all([playedWorld({ seed: 'x' }), playedWorld({ seed: 'x', faults: 'all' })])
  expect(foul.truth('default')).toEqual(fair.truth('default'))
})

test('a story contains every type of event, every category, questions, replies, chat, quotes and a bind', async () => {
  const truth = (await playedWorld({})).truth('default')
  const events = truth.flatMap((submission) => submission.events)
  const messages = truth.flatMap((submission) => submission.messages)
  const lanes = truth.flatMap((submission) => submission.requirements.rail?.lanes ?? [])
  const types = ['market_attached', 'quote_received', 'status_changed', 'declined', 'withdrawn', 'blocked', 'bound']
  expect([...new Set(events.map((event) => event.type))].sort()).toEqual(types.sort())
  expect(new Set(lanes.map((lane) => lane.program_category))).toEqual(new Set(['instant_quote', 'binding', 'specialty']))
  const kinds = new Set(messages.map((message) => message.kind))
  for (const kind of [
    'initial_clearance',
    'market_plan_update',
    'question',
    'broker_reply',
    'quote_delivery',
    'bind_confirmation',
    'chat',
  ]) {
    expect(kinds).toContain(kind)
  }
  const quotes = lanes.flatMap((lane) => lane.quotes)
  expect(quotes.some((quote) => quote.is_revision)).toBe(true)
  for (const quote of quotes) expect(Number(quote.premium_display.replaceAll(/[$,]/g, ''))).toBeCloseTo(quote.total_cents / 100, 2)
  expect(lanes.some((lane) => lane.bound && lane.chip === 'bound')).toBe(true)
  expect(lanes.some((lane) => lane.source_offers.length > 0)).toBe(true)
  expect(truth.some((submission) => (submission.requirements.rail?.quote_history.length ?? 0) > 0)).toBe(true)
  expect(events.some((event) => event.market.lane_id === null)).toBe(true)
  // Only terminal outcomes have a rationale.
  const explained = new Set(events.filter((event) => event.detail !== null).map((event) => event.type))
  expect([...explained].sort()).toEqual(['blocked', 'declined', 'withdrawn'])
})

test('each submission is consistent: events have lanes of its rail, in feed order, with unique ids', async () => {
  for (const { events, messages, requirements } of (await playedWorld({})).truth('default')) {
    const lanes = new Set(requirements.rail?.lanes.map((lane) => lane.submission_market_id))
    expect(requirements.markets.map((market) => market.lane_id)).toEqual([...lanes])
    for (const event of events) if (event.market.lane_id !== null) expect(lanes).toContain(event.market.lane_id)
    for (const items of [events, messages]) {
      const keys = items.map((item) => `${item.occurred_at} ${item.id}`)
      expect(keys).toEqual([...keys].sort())
      expect(new Set(items.map((item) => item.id)).size).toBe(items.length)
    }
  }
})

test('history from before the start is never delivered', async () => {
  const endpoint = await Endpoint.open()
  const sandbox = await sandboxFor({ submissions: 25, accounts: [{ name: 'default', target: endpoint.url }] })
  const history = sandbox.truth('default').flatMap(({ events, messages }) => [...events, ...messages])
  expect(history.length).toBeGreaterThan(20)
  for (const item of history) expect(Date.parse(item.occurred_at)).toBeLessThan(Date.now() - 3_600_000)
  tell(sandbox)
  await sandbox.deliveries.idle()
  const delivered = new Set(endpoint.contents.flatMap(({ ids }) => ids))
  for (const item of history) expect(delivered).not.toContain(item.id)
  expect(delivered.size).toBeGreaterThan(100)
})

test('some markets become visible behind the newest event, and all of them have a later event', async () => {
  const sandbox = await sandboxFor({ submissions: 25 })
  const newest = new Map<string, string>()
  const seen = new Set<string>()
  const late = new Map<string, string>()
  for (let step = sandbox.story.step(); step; step = sandbox.story.step()) {
    const { submissionId } = step
    for (const event of sandbox.truth('default', submissionId)[0]?.events ?? []) {
      if (seen.has(event.id)) continue
      seen.add(event.id)
      const { lane_id: lane } = event.market
      if (event.occurred_at < (newest.get(submissionId) ?? '')) late.set(lane ?? '', event.id)
      else {
        newest.set(submissionId, event.occurred_at)
        late.delete(lane ?? '')
      }
    }
    if (step.label.endsWith('becomes visible') && late.size > 0) newest.set('found', 'yes')
  }
  expect(newest.get('found')).toBe('yes')
  expect([...late]).toEqual([])
})

test('it plays automatically at its speed, pauses and ends', async () => {
  const clock = new ManualClock()
  const sandbox = await sandboxFor({ clock, submissions: 3, speed: 10 })
  expect(sandbox.stats().story).toMatchObject({ running: false, played: 0, ended: false })
  sandbox.story.start()
  await played(clock, 3_000)
  const { played: soFar, total } = sandbox.stats().story
  expect(soFar).toBeGreaterThan(0)
  sandbox.story.pause()
  await played(clock, 60_000)
  expect(sandbox.stats().story).toMatchObject({ running: false, played: soFar })
  sandbox.story.start()
  await played(clock, 31_000)
  await sandbox.story.ended
  expect(sandbox.stats().story).toEqual({ running: false, played: total, total, ended: true })
})

test('the requirements view changes with the story', async () => {
  const sandbox = await sandboxFor({ submissions: 1 })
  const [id] = sandbox.submissionIds('default')
  const client = await new Client(sandbox).login()
  const statuses = new Set<string>()
  const laneCounts = new Set<number>()
  do {
    const { body: view } = await replyOf(client.get(`/broker/submissions/${id}/requirements`))
    statuses.add(view.marketing_status)
    laneCounts.add(view.rail?.lanes.length ?? -1)
  } while (sandbox.story.step())
  expect([...statuses]).toEqual(['not_started', 'matching', 'matched'])
  expect(laneCounts.size).toBeGreaterThan(3)
})

test('a requirements view has every field of the service', async () => {
  const sandbox = await playedWorld({ submissions: 3 })
  const view = sandbox.truth('default')[0]?.requirements
  const keys = (value: object | undefined | null) => Object.keys(value ?? {}).sort()
  expect(keys(view)).toEqual(
    // biome-ignore format: a list to be compared with the service's own.
    ['submission_id', 'insured_name', 'lines', 'effective_date', 'state', 'forms', 'marketing_status', 'marketing_hint', 'form_fill_active', 'markets', 'carrier_api_sessions', 'documents_on_file', 'assessment', 'rail'].sort(),
  )
  expect(keys(view?.rail)).toEqual(['generated_at', 'lanes', 'quote_history', 'quote_history_unavailable'])
  expect(keys(view?.rail?.lanes[0])).toEqual(
    // biome-ignore format: a list to be compared with the service's own.
    ['submission_market_id', 'market_id', 'market_name', 'program', 'program_id', 'program_category', 'lines', 'status', 'status_label', 'submit_ready', 'gapped', 'unmet_labels', 'quotes', 'source_offers', 'bound', 'chip', 'carrier_api_session_ids', 'next_step'].sort(),
  )
})

test('facts, lanes, rail and items can be changed manually', async () => {
  const sandbox = await sandboxFor()
  const id = sandbox.addSubmission('default', { facts: { insured_name: 'Before' } })
  sandbox.setFacts('default', id, { insured_name: 'After', marketing_status: 'matched' })
  const view = () => sandbox.truth('default', id)[0]?.requirements
  expect(view()).toMatchObject({ insured_name: 'After', rail: null, assessment: null })
  const lane = sandbox.addLane('default', id).rail.submission_market_id
  sandbox.patchLane('default', id, lane, { rail: { status: 'quoted', chip: 'quoted' }, session: { has_quote: true } })
  expect(view()).toMatchObject({ rail: { lanes: [{ status: 'quoted' }] }, carrier_api_sessions: [{ has_quote: true }] })
  sandbox.world.submission('default', id).hideLane(lane)
  expect(view()).toMatchObject({ rail: { lanes: [] }, markets: [] })
  const item = { history_key: 'k', market_name: 'm', program: 'p', outcome: 'expired', observed_at: '2026-01-01T00:00:00Z' } as const
  sandbox.setRail('default', id, { quote_history: [item] })
  expect(view()).toMatchObject({ rail: { quote_history: [item] } })
  sandbox.setRail('default', id, { quote_history_unavailable: true })
  expect(view()).toMatchObject({ rail: { quote_history: [], quote_history_unavailable: true } })
  sandbox.setRail('default', id, { available: false })
  expect(view()).toMatchObject({ rail: null })

  const event = sandbox.addEvent('default', id, { type: 'declined', occurred_at: '2026-01-01T01:02:03.123456+02:00' })
  expect(sandbox.world.submission('default', id).events.amend(event.id, { detail: 'now known' })).toMatchObject({
    detail: 'now known',
    occurred_at: event.occurred_at,
  })
  expect(() => sandbox.addEvent('default', id, { type: 'declined', id: event.id, occurred_at: event.occurred_at })).toThrow(RangeError)
  expect(() => sandbox.addEvent('default', crypto.randomUUID(), { type: 'declined' })).toThrow(RangeError)
})

/** Moves the clock in small steps, so that sleepers run in between. */
async function played(clock: ManualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    clock.advance(100)
    await new Promise(setImmediate)
  }
}
