import { describe, expect, it } from 'vitest'
import { table } from '../../../src/ops/output/table.ts'
import { ago, pluralize, printableLine, shortTime } from '../../../src/ops/output/text.ts'

describe('text for a terminal', () => {
  it('keeps no line break in a line', () => {
    expect(printableLine(' one\n\ttwo ')).toBe('one two')
    expect(printableLine('abcdef', 4)).toBe('abc…')
  })

  it('says how long ago in one unit', () => {
    const now = Date.UTC(2026, 0, 10)
    expect(ago('2026-01-09T23:59:18.000000Z', now)).toBe('42 s')
    expect(ago('2026-01-09T23:00:00.000000Z', now)).toBe('60 min')
    expect(ago('2026-01-09T00:00:00.000000Z', now)).toBe('24 h')
    expect(ago('2026-01-01T00:00:00.000000Z', now)).toBe('9 d')
    expect(ago('2026-01-11T00:00:00.000000Z', now)).toBe('0 s')
    expect(ago(null, now)).toBe('-')
    expect(shortTime('2026-01-09T23:59:18.123456Z')).toBe('2026-01-09 23:59:18')
    expect([pluralize(1, 'read'), pluralize(2, 'delivery', 'deliveries')]).toEqual(['1 read', '2 deliveries'])
  })
})

describe('a table', () => {
  it('aligns its columns, numbers to the right, and shows what is missing as a dash', () => {
    const rows = [
      ['default', 12, null],
      ['a', 3, 'two\nlines'],
    ]
    expect(table(['account', 'n', 'why'], rows)).toBe('account   n  why\ndefault  12  -\na         3  two lines\n')
  })

  it('shows the sentences of the program and the key of a row whole, and cuts what is longer', () => {
    const id = '3f2b8c1e-0000-4000-8000-000000000000'
    const key = `source_offers ["${id}","${id}","${id}"]`
    const reason = `the credentials belong to brokerage ${id}, but this account holds the data of ${id}; give them an account of their own`
    expect(table(['what', 'reason'], [[key, reason]])).toContain(`${key}  ${reason}\n`)
    expect(table(['what'], [['a'.repeat(5_000)]]).length).toBeLessThan(300)
  })

  it('shows its headings when there is nothing to show', () => {
    expect(table(['account', 'state'], [])).toBe('account  state\n')
  })
})
