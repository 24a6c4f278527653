import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { searchWords } from '../../src/model/search-words.ts'

describe('the words of a name', () => {
  it.each([
    ["O'Brien & Söhne GmbH", ['o', 'brien', 'sohne', 'gmbh']],
    ['Castan\u0303eda, CASTAÑEDA', ['castaneda']],
    ['Tab\tand “quotes” — dash\u00a0end', ['tab', 'and', 'quotes', 'dash', 'end']],
    ['Straße Øst Łódź Ægir', ['strasse', 'ost', 'lodz', 'aegir']],
    ['🦀 A-1 =cmd|"/C calc"!A0', ['🦀', 'a', '1', 'cmd', 'c', 'calc', 'a0']],
    ['شركة البناء', ['شركة', 'البناء']],
    [' %_ ', []],
  ])('%s', (name, words) => {
    expect(searchWords(name)).toEqual(words)
  })

  it('ignore case and accents', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (name) => {
        expect(searchWords(name.normalize('NFD'))).toEqual(searchWords(name.normalize('NFC')))
      }),
    )
  })

  it('are few and short for any name', () => {
    const words = searchWords(`${'x'.repeat(300)} ${Array.from({ length: 2_000 }, (_, n) => `w${n}`).join(' ')}`)
    expect(Math.max(...words.map((word) => word.length))).toBe(64)
    expect(words.length).toBeLessThan(300)
  })
})
