import { describe, expect, it } from 'vitest'
import { diffRow } from '../../src/model/diff.ts'
import { type QuoteRow, quotes } from '../../src/model/entities/quotes.ts'

const row: QuoteRow = {
  account: 'acme',
  submission_id: 's',
  lane_id: 'l',
  quote_id: 'q',
  premium_display: '$1',
  total_cents: 100,
  lines: ['gl'],
  is_revision: false,
  first_seen_at: '2026-01-05T12:00:00.000000Z',
  gone_at: null,
  raw: '{}',
}

describe('the difference between a stored row and what it should be', () => {
  it('is an insert with every column but raw when nothing is stored', () => {
    const diff = diffRow(quotes, null, row, 'poll')
    const { raw: _, ...columns } = row
    expect(diff?.change).toMatchObject({ operation: 'insert', before: null, entity: 'quotes', entity_id: '["s","l","q"]' })
    expect(diff?.change?.after).toEqual(columns)
  })

  it('is null when nothing differs, in any key order', () => {
    expect(diffRow(quotes, row, { ...row, lines: ['gl'] }, 'poll')).toBeNull()
  })

  it('names only the changed columns, before and after', () => {
    const diff = diffRow(quotes, row, { ...row, total_cents: 200 }, 'poll')
    expect(diff).toMatchObject({
      columns: ['total_cents'],
      change: { operation: 'update', before: { total_cents: 100 }, after: { total_cents: 200 } },
    })
  })

  it('never contains raw, which is still written', () => {
    const diff = diffRow(quotes, row, { ...row, total_cents: 200, raw: '{"new":1}' }, 'poll')
    expect(diff?.columns).toEqual(['total_cents', 'raw'])
    expect([diff?.change?.before, diff?.change?.after]).toEqual([{ total_cents: 100 }, { total_cents: 200 }])
  })

  it('is written but not logged when only raw differs', () => {
    expect(diffRow(quotes, row, { ...row, raw: '{"new":1}' }, 'poll')).toEqual({ columns: ['raw'], change: null, isReported: true })
  })

  it('is `gone` when the row is marked as gone, and `update` when it comes back', () => {
    const gone = { ...row, gone_at: '2026-01-01T00:00:00.000000Z' }
    expect(diffRow(quotes, row, gone, 'poll')?.change?.operation).toBe('gone')
    expect(diffRow(quotes, gone, row, 'poll')?.change?.operation).toBe('update')
  })
})
