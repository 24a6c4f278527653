import { expect, it } from 'vitest'
import { BadSignatures } from '../../src/receive/bad-signatures.ts'

const MINUTE_MS = 60_000

/** So many at one moment. @returns which of them were too many. */
function noteMany(bad: BadSignatures, count: number, now: number): boolean[] {
  return Array.from({ length: count }, () => bad.note('192.0.2.1', now))
}

it('limits an address by what it has sent in the last minute, whatever came before', () => {
  const bad = new BadSignatures()
  for (const now of [0, 2 * MINUTE_MS, 4 * MINUTE_MS]) {
    expect(bad.isLimited('192.0.2.1', now)).toBe(false)
    expect(noteMany(bad, 22, now)).toEqual([...Array(20).fill(false), true, true])
    expect(bad.isLimited('192.0.2.1', now + MINUTE_MS - 1)).toBe(true)
  }
  expect(bad.isLimited('192.0.2.2', 4 * MINUTE_MS)).toBe(false)
})
