import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { timeFromMs } from '../../../src/model/time.ts'
import { silentSince } from '../../../src/ops/alarms/silence.ts'

const HOUR = 3_600_000
const LAST = Date.UTC(2026, 0, 5, 12)
const AFTER = 6 * HOUR

describe('silence', () => {
  const found = (count: number) => ({ count, oldestAt: timeFromMs(LAST + 2 * HOUR) })

  it('begins if no delivery came for the configured time while polls found three records', () => {
    expect(silentSince(LAST, found(3), AFTER, LAST + AFTER - 1)).toBeNull()
    expect(silentSince(LAST, found(3), AFTER, LAST + AFTER)).toBe(LAST)
  })

  it('counts from the first record found when there are fewer, or no delivery ever came', () => {
    expect(silentSince(LAST, found(1), AFTER, LAST + 2 * HOUR + AFTER - 1)).toBeNull()
    expect(silentSince(LAST, found(1), AFTER, LAST + 2 * HOUR + AFTER)).toBe(LAST)
    expect(silentSince(null, found(3), AFTER, LAST + 2 * HOUR + AFTER - 1)).toBeNull()
    expect(silentSince(null, found(3), AFTER, LAST + 2 * HOUR + AFTER)).toBe(LAST + 2 * HOUR)
  })

  it('never begins while polls find nothing, however quiet the account is', () => {
    fc.assert(
      fc.property(fc.option(fc.nat(LAST)), fc.nat(365 * 24 * HOUR), (lastAtMs, quietMs) => {
        expect(silentSince(lastAtMs, { count: 0, oldestAt: null }, AFTER, LAST + quietMs)).toBeNull()
      }),
    )
  })
})
