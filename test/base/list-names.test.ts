import { expect, test } from 'vitest'
import { listNames } from '../../src/base/list-names.ts'

test('lists one name and several', () => {
  expect(listNames([])).toBe('there is none')
  expect(listNames([], 'none yet')).toBe('there is none yet')
  expect(listNames(['acme'], 'none yet')).toBe('there is acme')
  expect(listNames(['acme', 'beta'])).toBe('there are acme, beta')
})
