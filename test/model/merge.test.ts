import { describe, expect, it } from 'vitest'
import { marketEvents } from '../../src/model/entities/market-events.ts'
import { identityOf, type Row } from '../../src/model/entity.ts'
import { mergeByOrigin, mergeRecord, sameJsonText } from '../../src/model/merge.ts'

const eventIdentity = identityOf(marketEvents)

const stored: Row = {
  event_id: 'e',
  type: 'declined',
  status: 'declined',
  status_label: 'Declined',
  detail: null,
  lane_id: null,
  raw: '{"a":1,"b":2}',
}

describe('a record that is received again', () => {
  it('fills empty columns from any source', () => {
    for (const fromFeed of [true, false]) {
      const merge = mergeRecord(stored, { ...stored, detail: 'Loss history', lane_id: 'l' }, eventIdentity, fromFeed)
      expect(merge).toMatchObject({ conflict: null, row: { detail: 'Loss history', lane_id: 'l' } })
    }
  })

  it('treats an empty list as a value: it fills, and is not filled', () => {
    const [none, empty, some] = [
      { ...stored, market_lines: null },
      { ...stored, market_lines: [] },
      { ...stored, market_lines: ['auto'] },
    ]
    const merge = (first: Row, second: Row) => mergeRecord(first, second, eventIdentity, true)
    expect(merge(none, empty)).toMatchObject({ conflict: null, row: { market_lines: [] } })
    expect(merge(empty, none)).toMatchObject({ conflict: null, row: { market_lines: [] } })
    for (const [first, second] of [
      [empty, some],
      [some, empty],
    ] as const)
      expect(merge(first, second)).toEqual({ conflict: ['market_lines'] })
  })

  it('never empties a value', () => {
    const merge = mergeRecord({ ...stored, detail: 'Loss history' }, { ...stored, status_label: null }, eventIdentity, true)
    expect(merge).toMatchObject({ conflict: null, row: { detail: 'Loss history', status_label: 'Declined' } })
  })

  it('is rejected entirely when an identity column differs, and names the columns', () => {
    const merge = mergeRecord(stored, { ...stored, type: 'bound', status: 'bound', detail: 'x' }, eventIdentity, true)
    expect(merge).toEqual({ conflict: ['type', 'status'] })
  })

  it.each([
    ['occurred_at', '2026-01-05T12:00:00.123456Z', '2026-01-05T12:00:00.123000Z', true],
    ['occurred_at', '2026-01-05T12:00:00.999600Z', '2026-01-05T12:00:01.000000Z', true],
    ['occurred_at', '2026-01-05T12:00:00.123456Z', '2026-01-05T12:00:00.123457Z', false],
    ['occurred_at', '2026-01-05T12:00:00.123456Z', '2026-01-05T12:00:00.124000Z', true],
    ['occurred_at', '2026-01-05T12:00:00.123456Z', '2026-01-05T12:00:00.125000Z', false],
    ['market_lines', ['gl', 'auto'], ['auto', 'gl'], true],
    ['market_lines', ['gl'], ['gl', 'gl'], false],
    ['market_name', 'Alder Point', 'Alder Pt.', true],
  ])('compares %s by what it means: %j and %j', (column, one, other, isSame) => {
    const merge = mergeRecord({ ...stored, [column]: one }, { ...stored, [column]: other }, eventIdentity, true)
    expect(merge).toMatchObject(isSame ? { conflict: null, row: { [column]: other } } : { conflict: [column] })
  })

  it('takes other columns from the feed, not from a delivery', () => {
    const worded = { ...stored, status_label: 'Not offered', raw: '{"a":1,"b":3}' }
    expect(mergeRecord(stored, worded, eventIdentity, true)).toMatchObject({ row: { status_label: 'Not offered', raw: '{"a":1,"b":3}' } })
    expect(mergeRecord(stored, worded, eventIdentity, false)).toMatchObject({ row: stored })
  })

  it('keeps the stored text when only the order of its keys differs', () => {
    const merge = mergeRecord(stored, { ...stored, raw: '{"b":2,"a":1}' }, eventIdentity, true)
    expect(merge).toMatchObject({ row: { raw: '{"a":1,"b":2}' } })
    const byReconcile = { via: 'reconcile', cause: 'reconcile', isFullRead: true, firstFeedRead: false } as const
    expect(mergeByOrigin(stored, { ...stored, raw: '{"b":2,"a":1}' }, eventIdentity, byReconcile)).toEqual({ conflict: null, row: stored })
  })

  it('counts as different when its texts nest too deep to compare', () => {
    const deep = (n: number) => `{"odd":${'['.repeat(100_000)}${n}${']'.repeat(100_000)}}`
    expect(sameJsonText(deep(1), deep(1))).toBe(true)
    expect(sameJsonText(deep(1), deep(2))).toBe(false)
    expect(mergeRecord({ ...stored, raw: deep(1) }, { ...stored, raw: deep(2) }, eventIdentity, true)).toMatchObject({
      row: { raw: deep(2) },
    })
  })
})
