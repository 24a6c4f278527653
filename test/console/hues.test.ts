import { expect, it } from 'vitest'
import { huesOf } from '../../src/console/pages/overview/hues.ts'

it('each series of a chart has its own color, and answers have the color of their meaning', () => {
  expect(huesOf(['204', '401', '503'])).toEqual(['good', 'waiting', 'bad'])
  const many = huesOf(['other', 'ok', 'throttled', 'network', 'unavailable', 'rejected', 'auth'])
  expect(new Set(many).size).toBe(7)
  expect(many.slice(1, 4)).toEqual(['good', 'waiting', 'bad'])
})
