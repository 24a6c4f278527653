import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { parseExact } from '../../../src/model/exact-json.ts'
import { readEvent, readMessage } from '../../../src/upstream/wire/feeds.ts'
import { readRequirements } from '../../../src/upstream/wire/requirements.ts'

const ID = '0b8f6a52-3a35-4b52-9a1e-6f2d7f1f6a01'
const LANE = '5d2c1d1e-91c5-4c55-8d5d-2f4a7a5b9c02'

const event = {
  id: ID.toUpperCase(),
  type: 'quote_received',
  occurred_at: '2026-03-01T10:00:00.123456+02:00',
  market: { name: 'Acme Mutual', lines: ['general_liability'], lane_id: LANE.toUpperCase(), category: 'binding', tier: 1 },
  status: 'quoted',
  status_label: 'Quoted',
  detail: null,
  novelty: { kept: true },
}

const message = {
  id: ID,
  channel: 'email',
  direction: 'outbound',
  kind: 'quote_delivery',
  occurred_at: '2026-03-01T10:00:00Z',
  subject: 'Your quote',
  body_text: 'Attached.',
  from: 'desk@service.test',
  to: ['a@agency.test'],
  in_reply_to: '<1@agency.test>',
  attachments: [
    { name: 'quote.pdf', download_path: `/broker/finalized-documents/${LANE.toUpperCase()}/pdf` },
    { name: 'terms.pdf', download_path: null },
  ],
}

describe('events', () => {
  test('an event fills market_events, with its object in raw', () => {
    expect(readEvent(event)).toEqual({
      event_id: ID,
      type: 'quote_received',
      occurred_at: '2026-03-01T08:00:00.123456Z',
      market_name: 'Acme Mutual',
      market_lines: ['general_liability'],
      lane_id: LANE,
      category: 'binding',
      status: 'quoted',
      status_label: 'Quoted',
      detail: null,
      raw: JSON.stringify(event),
    })
  })

  test('an event needs id, type and time', () => {
    for (const missing of ['id', 'type', 'occurred_at']) expect(readEvent({ ...event, [missing]: undefined })).toBeNull()
    expect(readEvent({ ...event, id: 'evt_1' })).toBeNull()
    expect(readEvent({ ...event, occurred_at: 'yesterday' })).toBeNull()
    for (const value of [null, undefined, [], 'text', 7]) expect(readEvent(value)).toBeNull()
  })

  test('trap 57: an optional field of another type is null in its column and stays in raw', () => {
    const odd = { ...event, status: 7, detail: { why: 'x' }, market: 'Acme Mutual' }
    expect(readEvent(odd)).toMatchObject({ status: null, detail: null, market_name: null, lane_id: null, raw: JSON.stringify(odd) })
    expect(readEvent({ id: ID, type: 'bound', occurred_at: event.occurred_at })).toMatchObject({ market_lines: null, status: null })
  })

  test('trap 58: unknown fields are kept and unknown values pass through', () => {
    const future = { ...event, type: 'market_reopened', status: 'paused_by_carrier', market: { ...event.market, category: 'captive' } }
    expect(readEvent(future)).toMatchObject({ type: 'market_reopened', status: 'paused_by_carrier', category: 'captive' })
    expect(JSON.parse(readEvent(future)?.raw ?? '')).toEqual(future)
  })

  test('trap 59: a status is any text, with its label', () => {
    expect(readEvent({ ...event, status: 'Zurückgestellt', status_label: 'On ice' })).toMatchObject({
      status: 'Zurückgestellt',
      status_label: 'On ice',
    })
  })

  test('trap 66: an event with an invalid lane has no lane, but is read', () => {
    for (const lane_id of [null, undefined, 'lane-7', 7]) {
      expect(readEvent({ ...event, market: { ...event.market, lane_id } })).toMatchObject({ lane_id: null, market_name: 'Acme Mutual' })
    }
  })
})

describe('messages', () => {
  test('a message fills thread_messages and thread_attachments', () => {
    const [first, second] = message.attachments
    expect(readMessage(message)).toEqual({
      message: {
        message_id: ID,
        channel: 'email',
        direction: 'outbound',
        kind: 'quote_delivery',
        occurred_at: '2026-03-01T10:00:00.000000Z',
        subject: 'Your quote',
        body_text: 'Attached.',
        from_address: 'desk@service.test',
        to_addresses: ['a@agency.test'],
        in_reply_to: '<1@agency.test>',
        raw: JSON.stringify(message),
      },
      attachments: [
        { position: 0, name: 'quote.pdf', download_path: first?.download_path, document_key: LANE, raw: JSON.stringify(first) },
        { position: 1, name: 'terms.pdf', download_path: null, document_key: null, raw: JSON.stringify(second) },
      ],
    })
  })

  test('a message needs its required fields', () => {
    for (const missing of ['id', 'channel', 'direction', 'kind', 'occurred_at', 'body_text']) {
      expect(readMessage({ ...message, [missing]: null })).toBeNull()
    }
    expect(readMessage({ ...message, body_text: '' })).not.toBeNull()
  })

  test('trap 71: on chat rows from, subject and in_reply_to are null and to is the empty list', () => {
    const chat = { ...message, channel: 'chat', kind: 'chat', from: null, to: [], subject: null, in_reply_to: null, attachments: [] }
    expect(readMessage(chat)).toMatchObject({
      message: { from_address: null, to_addresses: [], subject: null, in_reply_to: null },
      attachments: [],
    })
    expect(readMessage({ ...chat, to: 'a@agency.test' })?.message.to_addresses).toBeNull()
  })

  test('trap 61: the kinds of messages are open', () => {
    expect(readMessage({ ...message, kind: 'renewal_notice', channel: 'sms' })?.message).toMatchObject({
      kind: 'renewal_notice',
      channel: 'sms',
    })
  })

  test('trap 72: NUL and lone surrogates become U+FFFD in columns and in raw', () => {
    const body = 'a\u0000b\ud800c\ud83d\ude00'
    const read = readMessage({ ...message, body_text: body, to: ['\udc00@x'], attachments: [{ name: '\u0000' }] })
    expect(read?.message.body_text).toBe('a\ufffdb\ufffdc\ud83d\ude00')
    expect(read?.message.to_addresses).toEqual(['\ufffd@x'])
    expect(read?.attachments[0]?.name).toBe('\ufffd')
    expect(JSON.parse(read?.message.raw ?? '')).toMatchObject({ body_text: read?.message.body_text, to: ['\ufffd@x'] })
  })

  test('a malformed attachment keeps its position', () => {
    expect(readMessage({ ...message, attachments: ['odd', { name: 'b.pdf' }] })?.attachments).toMatchObject([
      { position: 0, name: null, raw: '"odd"' },
      { position: 1, name: 'b.pdf' },
    ])
    expect(readMessage({ ...message, attachments: null })?.attachments).toEqual([])
  })

  test("a document's key is the id in its path, or the hash of another link", () => {
    const keyOf = (link: string) => readMessage({ ...message, attachments: [{ download_path: link }] })?.attachments[0]?.document_key
    for (const link of [
      `/broker/finalized-documents/${LANE}/pdf`,
      `broker/finalized-documents/${LANE}`,
      `/api/v1/broker/finalized-documents/${LANE.toUpperCase()}/pdf?x=1`,
    ]) {
      expect(keyOf(link)).toBe(LANE)
    }
    for (const link of ['/broker/files/7', `/broker/finalized-documents/${LANE}0/pdf`, '/broker/finalized-documents/latest/pdf']) {
      expect(keyOf(link)).toBe(createHash('sha256').update(link).digest('hex'))
    }
  })
})

const lane = {
  submission_market_id: LANE.toUpperCase(),
  market_id: 'm-1',
  market_name: 'Acme Mutual',
  program: 'GL',
  program_id: ID.toUpperCase(),
  program_category: 'binding',
  lines: ['general_liability'],
  status: 'quoted',
  status_label: 'Quoted',
  submit_ready: true,
  gapped: false,
  unmet_labels: [],
  quotes: [
    { quote_id: ID.toUpperCase(), premium_display: '$1,234', total_cents: 123_456, lines: ['general_liability'], is_revision: false },
  ],
  source_offers: [{ presentation_id: 'p-1', kind: 'quote', label: 'Quote', document_url: 'https://x.test/p', filename: 'p.pdf' }],
  bound: false,
  chip: 'quoted',
  carrier_api_session_ids: [ID],
  next_step: 'Bind it',
}

const view = {
  submission_id: ID,
  insured_name: 'Bay Bakery',
  lines: ['general_liability'],
  effective_date: '2026-06-01',
  state: 'CA',
  forms: [],
  marketing_status: 'matched',
  marketing_hint: null,
  form_fill_active: false,
  markets: [{ market_name: 'Acme Mutual', ready: false, needs_from_you: ['payroll'], hedge_obtains: ['loss runs'] }],
  assessment: null,
  rail: {
    generated_at: '2026-03-01T10:00:00Z',
    lanes: [lane],
    quote_history: [{ history_key: 'h-1', market_name: 'Acme', program: 'GL', outcome: 'expired', observed_at: '2026-02-01T00:00:00Z' }],
    quote_history_unavailable: false,
  },
}

const listsOf = (raw: unknown, table: string) => readRequirements(raw)?.lists.filter((list) => list.table === table) ?? []
const rowsOf = (raw: unknown, table: string) => listsOf(raw, table).flatMap(({ rows }) => rows)
const withLane = (change: object) => ({ ...view, rail: { ...view.rail, lanes: [{ ...lane, ...change }] } })
const laneOf = (change: object) => rowsOf(withLane(change), 'lanes')[0]

describe('requirements', () => {
  test('the view fills the submission, its lanes, offers and history', () => {
    const read = readRequirements(view)
    expect(read?.submission).toEqual({
      insured_name: 'Bay Bakery',
      lines: ['general_liability'],
      effective_date: '2026-06-01',
      forms: [],
      state: 'CA',
      marketing_status: 'matched',
      marketing_hint: null,
      form_fill_active: false,
      rail_generated_at: '2026-03-01T10:00:00.000000Z',
      raw: JSON.stringify(view),
    })
    const { submission_market_id, quotes, source_offers, ...columns } = lane
    expect(submission_market_id.toLowerCase()).toBe(LANE)
    const of = { lane_id: LANE }
    expect(read?.lists.slice(0, 3)).toEqual([
      { table: 'lanes', of: {}, rows: [{ ...columns, ...of, program_id: ID, raw: JSON.stringify(lane) }], whole: true },
      { table: 'quotes', of, rows: [{ ...quotes[0], ...of, quote_id: ID, raw: JSON.stringify(quotes[0]) }], whole: true },
      { table: 'source_offers', of, rows: [{ ...source_offers[0], ...of, raw: JSON.stringify(source_offers[0]) }], whole: true },
    ])
    expect(rowsOf(view, 'quote_history')).toMatchObject([
      { history_key: 'h-1', outcome: 'expired', observed_at: '2026-02-01T00:00:00.000000Z' },
    ])
  })

  test('an answer without a submission id is not a requirements view', () => {
    for (const value of [{}, { detail: 'busy' }, { ...view, submission_id: 'x' }, null, []]) expect(readRequirements(value)).toBeNull()
  })

  test('trap 64: a rail that is null, absent or without lanes is unknown', () => {
    for (const rail of [null, undefined, {}, 'soon', { lanes: null, quote_history: [] }]) {
      const read = readRequirements({ ...view, rail })
      expect(read?.submission).toMatchObject({ state: 'CA' })
      expect(read?.lists.map(({ table }) => table)).toEqual(['market_readiness'])
    }
    expect(listsOf({ ...view, rail: { lanes: [] } }, 'lanes')).toEqual([{ table: 'lanes', of: {}, rows: [], whole: true }])
    expect(listsOf({ ...view, rail: { lanes: [] } }, 'quote_history')).toEqual([])
  })

  test('trap 65: an unavailable or missing history is not empty', () => {
    const history = (change: object) => listsOf({ ...view, rail: { ...view.rail, ...change } }, 'quote_history')
    expect(history({ quote_history_unavailable: true })).toEqual([])
    expect(history({ quote_history_unavailable: true, quote_history: [] })).toEqual([])
    expect(history({ quote_history: null })).toEqual([])
    expect(history({ quote_history: [] })).toMatchObject([{ rows: [], whole: true }])
  })

  test('trap 69: money is integer cents or null, and premium_display is never parsed', () => {
    const cents = (total_cents: unknown) => rowsOf(withLane({ quotes: [{ ...lane.quotes[0], total_cents }] }), 'quotes')[0]
    expect(cents(9_007_199_254_740_991)).toMatchObject({ total_cents: 9_007_199_254_740_991 })
    for (const value of [12.5, '123456', 2 ** 60, null, Number.NaN]) {
      expect(cents(value)).toMatchObject({ total_cents: null, premium_display: '$1,234' })
    }
    expect(cents(undefined)).not.toHaveProperty('total_cents')
  })

  test('trap 77: hedge_obtains is in raw under its own name', () => {
    expect(JSON.parse(String(readRequirements(view)?.submission?.['raw']))).toMatchObject({ markets: [{ hedge_obtains: ['loss runs'] }] })
  })

  test('trap 59, trap 61: chips and statuses are any text, and wrong types are null', () => {
    expect(laneOf({ chip: 'paused', status: 'bound', bound: 'yes', gapped: 1 })).toMatchObject({
      chip: 'paused',
      status: 'bound',
      bound: null,
      gapped: null,
    })
  })

  test('omitted fields are omitted, null fields are null', () => {
    const partial = { submission_id: view.submission_id, state: null, rail: { lanes: [{ submission_market_id: LANE, chip: null }] } }
    expect(Object.keys(readRequirements(partial)?.submission ?? {}).sort()).toEqual(['marketing_hint', 'raw', 'state'])
    expect(rowsOf(partial, 'lanes')[0]).toEqual({ lane_id: LANE, chip: null, next_step: null, raw: expect.any(String) })
  })

  test('next_step is text, or JSON text', () => {
    expect(laneOf({ next_step: { action: 'bind' } })?.['next_step']).toBe('{"action":"bind"}')
    expect(laneOf({ next_step: null })?.['next_step']).toBeNull()
  })

  test('the last of several items with one id has the row; the others and items without an id are unreadable', () => {
    const lanes = [{ ...lane, status: 'old' }, { ...lane, submission_market_id: null }, 'odd', { ...lane, status: 'new' }]
    const ofLanes = { ...view, rail: { ...view.rail, lanes } }
    expect(rowsOf(ofLanes, 'lanes').map((row) => row['status'])).toEqual(['new'])
    expect(readRequirements(ofLanes)?.unreadable).toEqual([lanes[1], lanes[2], lanes[0]].map((item) => JSON.stringify(item)))
    const quotes = [{ quote_id: 'q', total_cents: 1 }, { total_cents: 2 }, { quote_id: 'q', total_cents: 3 }]
    expect(rowsOf(withLane({ quotes }), 'quotes')).toMatchObject([{ quote_id: 'q', total_cents: 3 }])
    expect(listsOf(withLane({ quotes }), 'quotes')).toMatchObject([{ whole: false }])
    expect(readRequirements(withLane({ quotes }))?.unreadable).toEqual([quotes[1], quotes[0]].map((item) => JSON.stringify(item)))
    const twice = withLane({ quotes: [quotes[2], quotes[2]] })
    expect([readRequirements(twice)?.unreadable, listsOf(twice, 'quotes')]).toMatchObject([[], [{ whole: true }]])
  })

  test('programs of one lane have separate rows, and so do their requirements and markets', () => {
    const program = { submission_market_id: LANE, program_id: ID, program_display_name: 'GL', met: [{ key: 'a' }], unmet: [], deferred: [] }
    const unnamed = { ...program, program_id: null }
    const market = { market_name: 'Acme Mutual', lane_id: LANE, program: 'GL', ready: false }
    const programs = [program, { ...program, program_id: 'p-2' }, unnamed, { ...unnamed, program_display_name: 'Umbrella' }]
    const markets = [market, { ...market, program: 'Umbrella' }, { ...market, program: null }]
    const keysOf = (all: readonly Record<string, unknown>[], table: string) =>
      rowsOf({ ...view, markets, assessment: { programs: all } }, table).map((row) => row['program_key'] ?? row['readiness_key'])
    for (const table of ['program_assessments', 'requirement_items']) {
      const keys = keysOf(programs, table)
      expect([new Set(keys).size, keys.slice(0, 2)]).toEqual([4, [ID, 'p-2']])
      expect(keysOf(programs.toReversed(), table).toReversed()).toEqual(keys)
    }
    expect(new Set(keysOf([], 'market_readiness')).size).toBe(3)
    const elsewhere = { ...unnamed, submission_market_id: ID }
    const [first, second] = keysOf([elsewhere, unnamed], 'program_assessments')
    expect(first).toBe(second)
  })
})

test('trap 58: raw has exact numbers, and columns have doubles', () => {
  const odd = { total_cents: '#', odd: [{ deep: '#' }] }
  const sent = (value: object) => JSON.stringify(value).replaceAll('"#"', '12345678901234567890')
  const read = (value: object) => parseExact(sent(value))
  const quotes = [{ ...lane.quotes[0], ...odd }, odd]
  const oddLane = { ...lane, quotes, source_offers: [{ ...lane.source_offers[0], ...odd }], next_step: { cents: '#' } }
  const rail = { ...view.rail, lanes: [oddLane], quote_history: [{ ...view.rail.quote_history[0], ...odd }] }
  const answer = read({ ...view, ...odd, rail })
  const requirements = readRequirements(answer)
  expect(requirements?.submission?.['raw']).toBe(sent({ ...view, ...odd, rail }))
  expect(requirements?.unreadable).toEqual([sent(odd)])
  expect(rowsOf(answer, 'quote_history')).toMatchObject([{ raw: sent(rail.quote_history[0] ?? {}) }])
  expect(rowsOf(answer, 'lanes')).toMatchObject([{ raw: sent(oddLane), next_step: '{"cents":12345678901234567000}' }])
  expect(rowsOf(answer, 'quotes')).toMatchObject([{ raw: sent(quotes[0] ?? {}), total_cents: null }])
  expect(rowsOf(answer, 'source_offers')).toMatchObject([{ raw: sent(oddLane.source_offers[0] ?? {}) }])
  expect(readEvent(read({ ...event, ...odd }))?.raw).toBe(sent({ ...event, ...odd }))
  const attachments = [{ ...message.attachments[0], ...odd }]
  const thread = readMessage(read({ ...message, attachments }))
  expect(thread?.message.raw).toBe(sent({ ...message, attachments }))
  expect(thread?.attachments).toMatchObject([{ raw: sent(attachments[0] ?? {}) }])
})
