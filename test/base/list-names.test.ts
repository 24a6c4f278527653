import { expect, test } from 'vitest'
import { listNames } from '../../src/base/list-names.ts'

test('lists one name and several', () => {
  expect(listNames([])).toBe('known: none')
  expect(listNames([], 'none yet')).toBe('known: none yet')
  expect(listNames(['acme'], 'none yet')).toBe('known: acme')
  expect(listNames(['acme', 'beta'])).toBe('known: acme, beta')
})
