import fc from 'fast-check'
import { expect, it } from 'vitest'
import { bucketOf, quantile } from '../../../src/ops/status/lag-histogram.ts'

function countsOf(seconds: readonly number[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const each of seconds) counts[bucketOf(each)] = (counts[bucketOf(each)] ?? 0) + 1
  return counts
}

it('a quantile is within a bucket, 26 %, of the exact one', () => {
  const lags = fc.array(fc.double({ min: 0.002, max: 900_000, noNaN: true }), { minLength: 1, maxLength: 300 })
  fc.assert(
    fc.property(lags, fc.constantFrom(0.5, 0.99), (seconds, share) => {
      const exact = [...seconds].sort((a, b) => a - b)[Math.ceil(share * seconds.length) - 1] ?? 0
      const estimate = quantile(countsOf(seconds), share) ?? 0
      expect(estimate / exact).toBeGreaterThan(1 / 1.259)
      expect(estimate / exact).toBeLessThan(1.259)
    }),
  )
})

it('a duration of zero or above the last bucket has a bucket too; an empty histogram has no quantile', () => {
  expect(quantile(countsOf([0, 0, 0]), 0.5)).toBeLessThanOrEqual(0.001)
  expect(quantile(countsOf([1e9]), 0.99)).toBeGreaterThan(700_000)
  expect(quantile({}, 0.5)).toBeNull()
})
