import { expect, it } from 'vitest'
import { bindable, decoderOf, decoderOfColumn, encoderOf } from '../../../src/store/schema/codec.ts'

it.each([
  ['text', 'zzz', 'zzz'],
  ['int', -4711, -4711],
  ['bool', true, 1],
  ['bool', false, 0],
  ['json', { a: [1] }, '{"a":[1]}'],
  ['json', 'zzz', '"zzz"'],
] as const)('stores a %s value on sqlite and gives it back: %j', (kind, value, stored) => {
  for (const [given, kept] of [
    [value, stored],
    [null, null],
  ] as const) {
    expect(encoderOf(kind)(given)).toEqual(kept)
    expect(decoderOf(kind)(kept)).toEqual(given)
  }
})

it('reads JSON and booleans by column name, and text that is not JSON as stored', () => {
  expect(decoderOfColumn('changes', 'before')?.('{}')).toEqual({})
  expect(decoderOfColumn('changes', 'before')?.('zzz')).toBe('zzz')
  expect(decoderOfColumn('lanes', 'bound')?.(1)).toBe(true)
  expect(decoderOfColumn('lanes', 'market_name')).toBeNull()
  expect(decoderOfColumn('sync_inbox', 'body')).toBeNull()
})

it('binds parameters in the form of SQLite', () => {
  expect(['zzz', null, undefined, 17, true, ['a']].map(bindable)).toEqual(['zzz', null, null, 17, 1, '["a"]'])
})
