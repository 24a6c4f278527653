import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { storableJsonText } from '../../../src/model/json.ts'
import { readIdentity, readPage, readToken } from '../../../src/upstream/wire/answers.ts'
import { readEvent, readMessage } from '../../../src/upstream/wire/feeds.ts'
import { readRequirements } from '../../../src/upstream/wire/requirements.ts'

const readers = {
  readEvent,
  readMessage,
  readRequirements,
  readIdentity,
  readToken,
  readEvents: (raw: unknown) => readPage(raw, 'events'),
  readThread: (raw: unknown) => readPage(raw, 'messages'),
}

// Any JSON string, including NUL and lone surrogates.
const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) })
const anyJson = fc.jsonValue({ stringUnit: 'binary' })
const odd = fc.oneof(anyJson, anyText, fc.anything())

/** A record with valid, arbitrary and absent fields. */
function mostly(fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Record<string, unknown>> {
  const absent = fc.constant(undefined)
  const field = (good: fc.Arbitrary<unknown>) => fc.oneof({ weight: 20, arbitrary: good }, odd, absent)
  const known = fc.record(Object.fromEntries(Object.entries(fields).map(([key, good]) => [key, field(good)])))
  return fc.tuple(known, fc.dictionary(anyText, anyJson, { maxKeys: 3 })).map(([known, unknown]) => ({ ...unknown, ...known }))
}

const time = fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:00.1234567-05:00')
const texts = fc.array(anyText, { maxLength: 3 })
const bool = fc.boolean()
const market = mostly({ name: anyText, lines: texts, lane_id: fc.uuid(), category: anyText })
const event = mostly({ id: fc.uuid(), type: anyText, occurred_at: time, market, status: anyText, status_label: anyText, detail: anyText })
const message = mostly({
  id: fc.uuid(),
  channel: anyText,
  direction: anyText,
  kind: anyText,
  occurred_at: time,
  body_text: anyText,
  subject: anyText,
  from: anyText,
  to: texts,
  attachments: fc.array(mostly({ name: anyText, download_path: anyText }), { maxLength: 3 }),
  in_reply_to: anyText,
})
const quote = mostly({ quote_id: fc.uuid(), total_cents: fc.integer(), lines: texts, is_revision: bool, premium_display: anyText })
const lane = mostly({
  submission_market_id: fc.uuid(),
  status: anyText,
  lines: texts,
  quotes: fc.array(quote, { maxLength: 2 }),
  source_offers: fc.array(mostly({ presentation_id: anyText, label: anyText }), { maxLength: 2 }),
  next_step: anyText,
})
const history = fc.array(mostly({ history_key: anyText, observed_at: time }), { maxLength: 2 })
const rail = mostly({ lanes: fc.array(lane, { maxLength: 3 }), quote_history: history, quote_history_unavailable: bool })
const view = mostly({
  submission_id: fc.uuid(),
  insured_name: anyText,
  lines: texts,
  effective_date: anyText,
  form_fill_active: bool,
  rail,
})

/** Every text of a record outside `raw`. */
function columnTexts(value: unknown, key = ''): string[] {
  if (key === 'raw') return []
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, item]) => [name, ...columnTexts(item, name)])
}

const storable = (text: string) => text.isWellFormed() && !text.includes('\u0000')

describe('tolerance', () => {
  test('trap 57: no input makes a reader throw', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), anyJson, event, message, view), (raw) => {
        for (const read of Object.values(readers)) read(raw)
      }),
      { numRuns: 1000 },
    )
  })

  test('trap 58: raw contains everything as received, including unknown fields', () => {
    const read = new Set<string>()
    const kept = (kind: string, raw: string | null | undefined, sent: unknown) => {
      if (raw === undefined) return
      read.add(kind)
      expect(raw).toBe(storableJsonText(JSON.stringify(sent)))
    }
    fc.assert(
      fc.property(fc.oneof(event, message, view), (sent) => {
        kept('event', readEvent(sent)?.raw, sent)
        kept('message', readMessage(sent)?.message.raw, sent)
        kept('requirements', readRequirements(sent)?.submission?.['raw'] as string | undefined, sent)
      }),
      { numRuns: 500 },
    )
    expect([...read].sort()).toEqual(['event', 'message', 'requirements'])
  })

  test('trap 72: no column contains NUL or a lone surrogate', () => {
    fc.assert(
      fc.property(fc.oneof(event, message, view), (raw) => {
        for (const record of [readEvent(raw), readMessage(raw), readRequirements(raw)]) {
          expect(columnTexts(record).filter((text) => !storable(text))).toEqual([])
        }
      }),
      { numRuns: 500 },
    )
  })

  test('nesting deeper than the stack does not throw', () => {
    const deep = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`) as unknown
    const id = '0b8f6a52-3a35-4b52-9a1e-6f2d7f1f6a01'
    const records = [
      { id, type: 't', occurred_at: '2026-01-01T00:00:00Z', market: { lines: deep } },
      { submission_id: id, lines: deep, rail: { lanes: deep } },
      { kind: 'api_client', brokerage: { name: deep } },
    ]
    for (const read of Object.values(readers)) for (const record of records) read(record)
  })
})
