import { expect, test } from 'vitest'
import { thereIs } from '../../src/base/list-known.ts'

test('says what there is, of one and of several', () => {
  expect(thereIs([])).toBe('there is none')
  expect(thereIs([], 'none yet')).toBe('there is none yet')
  expect(thereIs(['acme'], 'none yet')).toBe('there is acme')
  expect(thereIs(['acme', 'beta'])).toBe('there are acme, beta')
})
