import { describe, expect, it } from 'vitest'
import { isDamaged, readableValue } from '../../../src/model/damaged.ts'
import type { ColumnKind } from '../../../src/model/entity.ts'
import { bindable, decoderOf, decoderOfColumn, encoderOf, type SqliteValue } from '../../../src/store/schema/codec.ts'

const blob = Buffer.from('zzz')
const time = '2026-01-05T12:00:00.000000Z'

/** Of each kind: what is stored of right values, and what no such column holds. */
const stored: Readonly<Record<ColumnKind, { readonly right: readonly SqliteValue[]; readonly wrong: readonly SqliteValue[] }>> = {
  text: { right: ['', 'zzz'], wrong: [blob, '\u0000zzz', '\u0000blob:00'] },
  raw: { right: ['{"a":1}', 'zzz'], wrong: [blob] },
  date: { right: ['2026-01-05'], wrong: ['zzz', '2026-1-5', blob] },
  time: { right: [time], wrong: ['zzz', '2026-01-05T12:00:00Z', blob] },
  int: { right: [0, -4711], wrong: [0.5, 2 ** 60, Number.POSITIVE_INFINITY, 'zzz', blob] },
  real: { right: [0, 0.25, -4711], wrong: ['zzz', blob] },
  bool: { right: [0, 1], wrong: [2, -1, 0.5, 'true', blob] },
  json: { right: ['[]', '{"a":[1]}', '"zzz"', '17'], wrong: ['zzz', '', '[', '"\\u0000zzz"', blob] },
}

describe.each(Object.entries(stored))('a %s column of sqlite', (kind, { right, wrong }) => {
  const decode = decoderOf(kind as ColumnKind)
  const encode = encoderOf(kind as ColumnKind)

  it('gives its values as they were stored', () => {
    for (const value of [null, ...right]) expect([isDamaged(decode(value)), encode(decode(value))]).toEqual([false, value])
  })

  it('reads what it cannot hold as damage, and writes that back as it was', () => {
    for (const value of wrong) expect([isDamaged(decode(value)), encode(decode(value))]).toEqual([true, value])
  })

  it('tells what stands there, as a value that JSON and any text column can hold', () => {
    for (const value of wrong) {
      const shown = readableValue(decode(value))
      expect(JSON.parse(JSON.stringify(shown))).toEqual(shown)
      expect(String(shown)).not.toContain('\u0000')
    }
    expect(readableValue(decode(blob))).toBe("x'7a7a7a'")
  })
})

it('reads a column outside the mirror as what stands there, be it no JSON', () => {
  expect(decoderOfColumn('changes', 'before')?.('zzz')).toBe('zzz')
  expect(decoderOfColumn('changes', 'before')?.('{}')).toEqual({})
  expect(isDamaged(decoderOfColumn('lanes', 'bound')?.(4711))).toBe(true)
  expect(decoderOfColumn('sync_inbox', 'body')).toBeNull()
})

it('binds damage that was read as what stood there', () => {
  expect([decoderOf('text')(blob), 'zzz', null, 17, true].map(bindable)).toEqual([blob, 'zzz', null, 17, 1])
})
