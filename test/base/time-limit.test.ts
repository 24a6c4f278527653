import { expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { earlier, firstOf, timeLimit } from '../../src/base/time-limit.ts'

const YEAR = 365 * 86_400_000

it.each([-YEAR, -3_600_000, -60_000])('a limit ends on time although the clock is set by %s ms', (stepMs) => {
  const clock = new ManualClock()
  const limit = timeLimit(clock, 30_000)
  clock.put(stepMs)
  clock.advance(29_000)
  expect(limit.leftMs()).toBe(1_000)
  expect(earlier(limit, 5_000).leftMs()).toBe(-4_000)
  clock.advance(1_000)
  expect(limit.leftMs()).toBe(0)
})

it('a limit is over when the wall clock is past it, because others may hold the work by then', () => {
  const clock = new ManualClock()
  const limit = timeLimit(clock, 30_000)
  clock.put(31_000)
  expect(limit.leftMs()).toBe(-1_000)
})

it('the earlier of two limits counts', () => {
  const clock = new ManualClock()
  const first = timeLimit(clock, 30_000)
  clock.put(-60_000)
  clock.advance(1_000)
  const both = firstOf(firstOf(null, first), timeLimit(clock, 10_000))
  expect(both.leftMs()).toBe(10_000)
  clock.advance(10_000)
  expect(both.leftMs()).toBe(0)
})
