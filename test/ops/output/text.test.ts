import { describe, expect, it } from 'vitest'
import { table } from '../../../src/ops/output/table.ts'
import { ago, pluralize, printableLine, shortTime, when, wrapped } from '../../../src/ops/output/text.ts'
import { wordOf } from '../../../src/ops/output/words.ts'

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
    expect([when(null, now), when('2026-01-10T00:10:00.000000Z', now), when('2026-01-01T00:00:00.000000Z', now)]).toEqual([
      '-',
      'in 10 min',
      '9 d ago',
    ])
    expect(shortTime('2026-01-09T23:59:18.123456Z')).toBe('2026-01-09 23:59:18')
    expect([pluralize(1, 'read'), pluralize(2, 'delivery', 'deliveries')]).toEqual(['1 read', '2 deliveries'])
  })
})

it('keeps a name with a dot, such as the type of a webhook, as it is', () => {
  expect([wordOf('submission_mirror.self_delivery'), wordOf('quote_received')]).toEqual([
    'submission_mirror.self_delivery',
    'quote received',
  ])
})

describe('a text', () => {
  it('is broken between words, but not in a command', () => {
    expect(wrapped('one two three', 8)).toBe('one two\nthree\n')
    expect(wrapped('see `a long command`, then go', 12, '', '  ')).toBe('see\n  `a long command`,\n  then go\n')
    expect(wrapped('', 8)).toBe('\n')
  })
})

describe('a table', () => {
  it('aligns its columns, numbers to the right, and shows a missing value as a dash', () => {
    const rows = [
      ['default', 12, null],
      ['a', 3, 'two\nlines'],
    ]
    expect(table({ title: 'Some', headings: ['account', 'n', 'why'], rows })).toBe(
      'Some\naccount   n  why\ndefault  12  -\na         3  two lines\n',
    )
  })

  it('shows the sentences of the program and the key of a row whole, and cuts longer texts', () => {
    const id = '3f2b8c1e-0000-4000-8000-000000000000'
    const key = `source_offers ["${id}","${id}","${id}"]`
    const reason = `the credentials belong to brokerage ${id}, but this account holds the data of ${id}; give them an account of their own`
    expect(table({ headings: ['what', 'reason'], rows: [[key, reason]], width: 500 })).toContain(`${key}  ${reason}\n`)
    expect(table({ headings: ['what'], rows: [['a'.repeat(5_000)]], width: 500 }).length).toBeLessThan(300)
  })

  it('is not there when there is nothing to show', () => {
    expect(table({ title: 'Accounts', headings: ['account', 'state'], rows: [] })).toBe('')
  })

  it('aligns ages and shares like numbers, and omits an empty column', () => {
    const rows = [
      ['a', '4 min', null, '0.5 %'],
      ['b', '-', '', '100 %'],
    ]
    expect(table({ headings: ['account', 'age', 'why', 'used'], rows })).toBe(
      'account    age   used\na        4 min  0.5 %\nb            -  100 %\n',
    )
  })

  it('fits the terminal: prints equal values once, shortens ids in the middle, then words, and puts long texts below', () => {
    const id = '3f2b8c1e-0000-4000-8000-00000000000'
    const headings = [
      'number',
      'account',
      'submission',
      'kind',
      { heading: 'run', fit: 'whole' },
      { heading: 'error', fit: 'below' },
    ] as const
    const rows = [1, 2].map((n) => [
      n,
      'default',
      `${id}${n}`,
      `submission.${n === 1 ? 'events' : 'message'}`,
      'run-1',
      n === 1 ? 'the column is not there '.repeat(4) : null,
    ])
    expect(table({ title: 'Deliveries', headings, rows, width: 60 })).toBe(
      [
        'Deliveries (account default)',
        'number  submission                 kind                run',
        '     1  3f2b8c1e-000…000000000001  submission.events   run-1',
        '    error: the column is not there the column is not there',
        '    the column is not there the column is not there',
        '     2  3f2b8c1e-000…000000000002  submission.message  run-1',
        '',
      ].join('\n'),
    )
    const narrow = table({ headings: headings.slice(0, 5), rows: rows.slice(0, 1), width: 48 })
    expect(narrow).toBe('number  account  submission  kind          run\n     1  default  3f2b8…0001  submis…vents  run-1\n')
  })
})
