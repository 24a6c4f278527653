import { expect, it } from 'vitest'
import { meantOrListed, nearNames } from '../../src/base/near-names.ts'

it.each([
  ['lsit', ['list', 'show'], ['list']],
  ['asm', ['ams', 'mapped'], ['ams']],
  ['acmee', ['acme', 'acme2', 'beta'], ['acme', 'acme2']],
  ['list', ['list', 'lists'], ['list']],
  ['zz', ['default'], []],
  ['', ['a'], []],
])('what may be meant by %j', (word, names, near) => {
  expect(nearNames(word, names)).toEqual(near)
})

it('lists all names when none is near', () => {
  expect(meantOrListed('zz', ['acme', 'beta'])).toBe('known: acme, beta')
  expect(meantOrListed('zz', [], 'none yet')).toBe('known: none yet')
  expect(meantOrListed('acmee', ['acme', 'beta'])).toBe('did you mean acme?')
})
