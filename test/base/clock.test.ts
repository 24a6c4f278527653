import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { backoffMs, ManualClock, systemClock } from '../../src/base/clock.ts'

/** Lets everything that is already due run. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('the real clock', () => {
  test('returns the time and random numbers', () => {
    const before = Date.now()
    expect(systemClock.now()).toBeGreaterThanOrEqual(before)
    const chance = systemClock.random()
    expect(chance >= 0 && chance < 1).toBe(true)
  })

  test('ends a sleep immediately when its signal aborts, and never rejects', async () => {
    const stop = new AbortController()
    const sleeping = systemClock.sleep(3_600_000, stop.signal)
    stop.abort(new Error('stop'))
    await expect(sleeping).resolves.toBeUndefined()
    await expect(systemClock.sleep(3_600_000, stop.signal)).resolves.toBeUndefined()
  })

  test('yields during a sleep of 0 ms', async () => {
    let ran = false
    setImmediate(() => {
      ran = true
    })
    while (!ran) await systemClock.sleep(0)
    await systemClock.sleep(-5)
  })
})

describe('a long sleep of the real clock', () => {
  test('has its full length, in steps that a timer supports', async () => {
    const asked: number[] = []
    // The timer is the one thing that cannot be waited for here: a month.
    vi.stubGlobal('setTimeout', (wake: () => void, ms: number) => {
      asked.push(ms)
      queueMicrotask(wake)
    })
    await systemClock.sleep(30 * 86_400_000 + 5).finally(() => vi.unstubAllGlobals())
    expect(asked.reduce((a, b) => a + b, 0)).toBe(30 * 86_400_000 + 5)
    expect(Math.max(...asked)).toBeLessThan(2 ** 31)
  })
})

describe('the manual clock', () => {
  test('keeps sleepers on time when the wall clock is set back', async () => {
    const clock = new ManualClock(10_000)
    let woken = false
    void clock.sleep(30).then(() => {
      woken = true
    })
    const before = clock.steady()
    clock.put(-5_000)
    expect([clock.now(), clock.steady() - before]).toEqual([5_000, 0])
    clock.advance(30)
    await settle()
    expect([clock.now(), clock.steady() - before, woken]).toEqual([5_030, 30, true])
  })

  test('moves only by `advance`, and wakes sleepers in order of time', async () => {
    const clock = new ManualClock(1000)
    const woken: string[] = []
    const sleeper = (name: string, ms: number) => clock.sleep(ms).then(() => woken.push(name))
    void sleeper('late', 30)
    void sleeper('soon', 10)
    void sleeper('sooner', 5)
    await settle()
    expect([clock.now(), woken]).toEqual([1000, []])
    clock.advance(29)
    await settle()
    expect([clock.now(), woken]).toEqual([1029, ['sooner', 'soon']])
    clock.advance(1)
    await settle()
    expect(woken).toEqual(['sooner', 'soon', 'late'])
  })

  test('ends a sleep of 0 ms and an aborted one immediately', async () => {
    const clock = new ManualClock()
    const stop = new AbortController()
    await clock.sleep(0)
    const sleeping = clock.sleep(10, stop.signal)
    stop.abort()
    await sleeping
    await clock.sleep(10, stop.signal)
    clock.advance(100)
  })

  test('removes its listener from the signal after a full sleep', async () => {
    const clock = new ManualClock()
    const { signal } = new AbortController()
    const listeners = new Set<unknown>()
    vi.spyOn(signal, 'addEventListener').mockImplementation((_, listener) => void listeners.add(listener))
    vi.spyOn(signal, 'removeEventListener').mockImplementation((_, listener) => void listeners.delete(listener))
    const sleeping = clock.sleep(10, signal)
    expect(listeners.size).toBe(1)
    clock.advance(10)
    await sleeping
    expect(listeners.size).toBe(0)
  })

  test('takes random numbers from the test', () => {
    expect(new ManualClock().random()).toBe(0.5)
    expect(new ManualClock(0, () => 0.25).random()).toBe(0.25)
  })
})

test('backoff is between half and all of the doubled base, and never above its cap', () => {
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
  fc.assert(
    fc.property(
      chance,
      fc.nat(10_000),
      fc.integer({ min: 1, max: 10_000 }),
      fc.integer({ min: 1, max: 1e9 }),
      (random, attempt, base, cap) => {
        const ms = backoffMs(new ManualClock(0, () => random), attempt, base, cap)
        const most = Math.min(cap, base * 2 ** Math.min(attempt, 40))
        expect(ms >= most / 2 && ms <= most).toBe(true)
      },
    ),
  )
})
