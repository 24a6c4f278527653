import { describe, expect, it } from 'vitest'
import type { Json } from '../../../src/model/json.ts'
import { dropping, Protection, type ProtectMode } from '../../../src/model/protection/protection.ts'
import type { RecordFields } from '../../../src/model/record-fields.ts'
import { readById } from '../../../src/upstream/wire/binding.ts'
import { recordColumns } from '../../../src/upstream/wire/record-fields.ts'
import { defaultRecordFields } from '../../tools/record-fields.ts'

const columns = { text: { kind: 'text' }, date: { kind: 'date' }, money: { kind: 'int', cents: true } } as const

/** The column's value for a record with only `key`. */
function read(column: keyof typeof columns, json: string, key = 'value') {
  const paths = { text: [], date: [], money: [], [column]: [`at.${key}`] }
  return recordColumns(`{"at":{"${key}":${json}}}`, columns, paths)[column]
}

describe('columns of records with unspecified fields', () => {
  it('text is trimmed and storable, and an integer is text', () => {
    expect(read('text', '"  POL-1 \\u0000x "')).toBe('POL-1 \uFFFDx')
    expect(read('text', '4711')).toBe('4711')
    for (const none of ['12345678901234567890', '1.5', 'true', '{"a":"b"}', '["POL-1"]', 'null', '"  "'])
      expect(read('text', none), none).toBeNull()
  })

  it('a date is a date, or that of a time; in UTC only at midnight', () => {
    for (const given of [
      '2026-03-01',
      ' 2026-03-01 ',
      '2026-03-01T00:01:00-05:00',
      '2026-03-01T23:59:59',
      '2026-03-01 00:00:00Z',
      '2026-03-01T00:00:00.000+00:00',
      '2026-03-01T12:00:00+02:00',
    ])
      expect(read('date', JSON.stringify(given)), given).toBe('2026-03-01')
    for (const none of [
      '2026-03-01T05:00:00Z',
      '2026-03-01T05:00:00+00:00',
      '2026-03-01T24:00:00Z',
      '03/01/2026',
      '2026-02-30',
      '20260301',
      '2026-03',
    ])
      expect(read('date', JSON.stringify(none)), none).toBeNull()
    expect(read('date', '1772323200')).toBeNull()
  })

  it('an amount is integer cents by its key, else dollars with at most two decimals', () => {
    for (const [json, cents] of [
      ...([
        ['1250', 125_000],
        ['1250.5', 125_050],
        ['"1250.50"', 125_050],
        ['"  7 "', 700],
        ['-12.3', -1_230],
        ['"-0.00"', 0],
      ] as const),
      ...([
        ['0.1', 10],
        ['1.15', 115],
        ['1e3', 100_000],
        ['"90071992547409.91"', 9_007_199_254_740_991],
      ] as const),
    ])
      expect(read('money', json), json).toBe(cents)
    for (const none of [
      '12.345',
      '"12.345"',
      '"$12.50"',
      '"1,250"',
      '"12."',
      '".5"',
      '"1e3"',
      '"+5"',
      'true',
      '{"amount":5}',
      '[5]',
      '"90071992547409.92"',
      '1.0000000000000001',
      '12345678901234567890',
      '1e400',
      '""',
    ])
      expect(read('money', none), none).toBeNull()
    for (const key of ['total_cents', 'cents', 'totalCents']) {
      expect(read('money', '125000', key)).toBe(125_000)
      for (const none of ['125000.5', '"125000"', '9007199254740993', '"1250.00"']) expect(read('money', none, key), none).toBeNull()
    }
  })

  it("the first path with a value decides, even if its column can't hold it", () => {
    const record = '{"a":null,"b":" ","c":{"d":"12.345"},"e":"1.00","list":[{"e":"2.00"}],"own":{"toString":"3.00"}}'
    const money = (...paths: string[]) => recordColumns(record, columns, { text: [], date: [], money: paths }).money
    expect(money('a', 'b', 'missing', 'c.missing', 'a.x', 'e.x', 'e')).toBe(100)
    expect(money('c.d', 'e')).toBeNull()
    expect(money('list.0.e', 'list.e', 'e')).toBe(100)
    expect(money('c.toString', '__proto__.constructor', 'own.toString')).toBe(300)
    expect(money()).toBeNull()
  })

  it('a record that nests deeper than the stack has no values', () => {
    const deep = `${'{"a":'.repeat(200_000)}12345678901234567890${'}'.repeat(200_000)}`
    expect(recordColumns(deep, columns, { text: ['a'], date: ['a'], money: ['a'] })).toEqual({ text: null, date: null, money: null })
  })
})

describe('policies and insureds', () => {
  const rowOf = (read: 'policy' | 'insured', record: Json, recordFields = defaultRecordFields, protection = dropping) =>
    readById(read, 'the id', record, { recordFields, protection })?.lists[0]?.rows[0]

  it('trap 57: have columns from configured paths, null if missing, and everything in raw', () => {
    const record = {
      policy_number: 'POL-1',
      carrier: { name: 'Alder' },
      term: { effective_date: '2026-03-01' },
      coverage_lines: ['gl', { slug: 'wc' }],
      underwriting_paper: { naic_code: '12345', admitted: false },
      premium: { net_cents: 100, fees_cents: 0 },
      commission: { rate: 0.125, amount_cents: 5 },
      payment_terms: { plan: 'annual', installments: 1.0 },
    }
    const none = { expiration_date: null, total_billed_cents: null, taxes_cents: null }
    const found = {
      policy_number: 'POL-1',
      carrier_name: 'Alder',
      effective_date: '2026-03-01',
      commission_cents: 5,
      commission_rate: 0.125,
    }
    const shown = { lines: record.coverage_lines, ...record.underwriting_paper, payment_terms: record.payment_terms }
    const amounts = { net_premium_cents: 100, fees_cents: 0 }
    expect(rowOf('policy', record)).toEqual({ policy_id: 'the id', ...found, ...shown, ...amounts, ...none, raw: JSON.stringify(record) })
    const identity = { entity_type: 'llc', naics: '238160', sic: '1761', mailing_address: { city: 'Austin' }, contacts: [{ phone: '+1' }] }
    expect(rowOf('insured', identity)).toMatchObject(identity)
    const fields: RecordFields = {
      ...defaultRecordFields,
      insureds: { ...defaultRecordFields.insureds, legal_name: ['who.is'], dba_name: [] },
    }
    expect(rowOf('insured', { name: 'Acme', who: { is: 'Acme LLC' } }, fields)).toMatchObject({ legal_name: 'Acme LLC', dba_name: null })
    expect(rowOf('policy', ['POL-1'])).toBeUndefined()
  })

  it.each(['drop', 'encrypt', 'keep'] as const)(
    'a path that leads to a tax id gives its replacement, with PROTECT=%s',
    (mode: ProtectMode) => {
      const keys = [{ id: 'k1', key: Buffer.alloc(32, 1) }]
      const protection = new Protection({ mode, keys, taxIdFields: ['steuer_nummer'] })
      const record = {
        fein: '12-3456789',
        ids: { owner_ssn: { value: '123456789' }, steuer_nummer: 5 },
        fact: { key: 'fein', value: '987654321' },
      }
      for (const [path, shown] of [
        ['fein', '[protected]'],
        ['ids.owner_ssn', '[protected]'],
        ['ids.owner_ssn.value', null],
        ['ids.steuer_nummer', '[protected]'],
        ['fact.value', '[protected]'],
      ] as const) {
        const policies = { ...defaultRecordFields.policies, policy_number: [path], total_billed_cents: [path] }
        expect(rowOf('policy', record, { ...defaultRecordFields, policies }, protection), path).toMatchObject({
          policy_number: shown,
          total_billed_cents: null,
        })
      }
    },
  )
})
