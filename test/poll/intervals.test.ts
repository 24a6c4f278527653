import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { fullReadIntervalMs, type PollPolicy, pollIntervalMs } from '../../src/poll/intervals.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const policy: PollPolicy = {
  poll: { activeMs: MINUTE, quietMs: 15 * MINUTE, maxMs: 6 * HOUR, dormantMs: 7 * DAY },
  replay: { activeMs: DAY, quietMs: 7 * DAY, dormantMs: 30 * DAY },
}
const steady = new ManualClock(0, () => 0)

describe('the next poll', () => {
  it('starts at POLL_ACTIVE and grows to POLL_QUIET within an hour, then to POLL_MAX', () => {
    expect(pollIntervalMs(policy, 0, steady)).toBe(MINUTE)
    expect(pollIntervalMs(policy, 8 * MINUTE, steady)).toBe(2 * MINUTE)
    expect(pollIntervalMs(policy, HOUR, steady)).toBe(15 * MINUTE)
    expect(pollIntervalMs(policy, 24 * HOUR, steady)).toBe(6 * HOUR)
    expect(pollIntervalMs(policy, 89 * DAY, steady)).toBe(6 * HOUR)
  })

  it('is POLL_DORMANT after 90 quiet days', () => {
    expect(pollIntervalMs(policy, 90 * DAY, steady)).toBe(7 * DAY)
  })

  it('never shrinks without changes, and never exceeds the settings', () => {
    fc.assert(
      fc.property(fc.nat(200 * DAY), fc.nat(DAY), (quiet, more) => {
        const now = pollIntervalMs(policy, quiet, steady)
        expect(pollIntervalMs(policy, quiet + more, steady)).toBeGreaterThanOrEqual(now)
        expect(now).toBeGreaterThanOrEqual(MINUTE)
        expect(now).toBeLessThanOrEqual(quiet < 90 * DAY ? 6 * HOUR : 7 * DAY)
      }),
    )
  })
})

describe('the next full re-read', () => {
  it('follows REPLAY_ACTIVE, REPLAY_QUIET and REPLAY_DORMANT, and jitter only shortens it', () => {
    const late = new ManualClock(0, () => 0.999)
    expect(fullReadIntervalMs(policy, DAY, steady)).toBe(DAY)
    expect(fullReadIntervalMs(policy, 8 * DAY, steady)).toBe(7 * DAY)
    expect(fullReadIntervalMs(policy, 91 * DAY, steady)).toBe(30 * DAY)
    expect(fullReadIntervalMs(policy, DAY, late)).toBeLessThan(DAY)
  })
})
