import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/base/clock.ts'
import { TransientError } from '../../src/base/errors.ts'
import { RateLimiter } from '../../src/base/limiter.ts'
import { CountingClock } from '../tools/counting-clock.ts'
import { thrownBy } from '../upstream/service.ts'

/** A limiter whose callers are counted as they are let through. */
function bench(requestsPerSecond: number, clock = new ManualClock()) {
  const limiter = new RateLimiter(clock, requestsPerSecond)
  const passed: string[] = []
  const ask = (name: string, priority?: 'live' | 'background', signal?: AbortSignal) =>
    limiter.take(priority, signal).then(() => {
      passed.push(name)
    })
  const pass = async (ms: number) => {
    clock.advance(ms)
    await turn()
  }
  return { clock, limiter, passed, ask, pass }
}

describe('rate', () => {
  test.each([
    [10, 1],
    [50, 5],
  ])('of %i a second no more passes in any second than a tenth above that, after any pause', async (rate, burst) => {
    const { passed, ask, pass } = bench(rate)
    await pass(60_000)
    for (let n = 0; n < 4 * rate; n += 1) void ask(`${n}`)
    await turn()
    expect(passed.length).toBe(burst)
    for (let second = 1; second <= 3; second += 1) {
      for (let tenth = 0; tenth < 10; tenth += 1) await pass(100)
      expect(passed.length).toBe(burst + rate * second)
    }
  })

  test('first come, first served', async () => {
    const { passed, ask, pass } = bench(1)
    for (const name of ['a', 'b', 'c']) void ask(name)
    for (let n = 0; n < 3; n += 1) await pass(1000)
    expect(passed).toEqual(['a', 'b', 'c'])
  })

  test('live work goes first, and background work is not starved', async () => {
    const { passed, ask, pass } = bench(1)
    void ask('first')
    for (let n = 0; n < 3; n += 1) void ask('background', 'background')
    for (let n = 0; n < 20; n += 1) void ask('live')
    for (let n = 0; n < 23; n += 1) await pass(1000)
    expect(passed.slice(1, 9)).toEqual(Array(8).fill('live'))
    expect(passed.slice(0, 20).filter((name) => name === 'background').length).toBe(2)
    expect(passed.length).toBe(24)
  })

  test('an aborted caller leaves the queue and uses no turn', async () => {
    const { passed, ask, pass } = bench(1)
    void ask('a')
    const gone = new AbortController()
    const waiting = ask('b', 'live', gone.signal)
    void ask('c')
    gone.abort(new Error('no more'))
    await expect(waiting).rejects.toThrow('no more')
    await pass(1000)
    expect(passed).toEqual(['a', 'c'])
    await expect(ask('d', 'live', gone.signal)).rejects.toThrow('no more')
    const alone = new AbortController()
    const last = ask('e', 'live', alone.signal)
    alone.abort(new Error('nor this'))
    await expect(last).rejects.toThrow('nor this')
    void ask('f')
    await pass(1000)
    expect(passed).toEqual(['a', 'c', 'f'])
  })

  test('aborting after being admitted or rejected affects no other caller', async () => {
    const { clock, limiter, passed, ask, pass } = bench(1)
    const [through, away] = [new AbortController(), new AbortController()]
    await ask('a', 'live', through.signal)
    const refused = thrownBy(ask('b', 'live', away.signal))
    limiter.throttled(6_000, clock.steady())
    await refused
    await pass(6_000)
    void ask('c')
    void ask('d')
    through.abort()
    away.abort()
    for (let n = 0; n < 4; n += 1) await pass(1_000)
    expect(passed).toEqual(['a', 'c', 'd'])
  })

  test('a caller that arrives when the last one aborts gets its turn', async () => {
    const { passed, ask, pass } = bench(1)
    await ask('a')
    const leaving = new AbortController()
    const gone = thrownBy(ask('b', 'live', leaving.signal))
    leaving.abort()
    void ask('c')
    await gone
    await pass(1000)
    expect(passed).toEqual(['a', 'c'])
  })

  test('no timer runs without callers, so that the process can end', async () => {
    const clock = new CountingClock()
    const { limiter, ask } = bench(1, clock)
    const waits = async (end: () => void, signal?: AbortSignal) => {
      await ask('a')
      const waiting = thrownBy(ask('b', 'live', signal))
      expect(clock.sleeping).toBe(1)
      end()
      await waiting
      await turn()
      expect(clock.sleeping).toBe(0)
      clock.advance(6_000)
    }
    const given = new AbortController()
    await waits(() => given.abort(), given.signal)
    await waits(() => limiter.throttled(6_000, clock.steady()))
    await waits(() => limiter.close())
  })

  test('processes that share an account share its rate', async () => {
    const { limiter, passed, ask, pass } = bench(100)
    limiter.shareAmong(5)
    expect(limiter.rate).toBe(20)
    await pass(60_000)
    for (let n = 0; n < 20; n += 1) void ask(`${n}`)
    await turn()
    expect(passed.length).toBe(2)
    limiter.shareAmong(1)
    expect(limiter.rate).toBe(100)
  })

  test('a closed limiter rejects every caller', async () => {
    const { limiter, ask } = bench(1)
    await ask('a')
    const waiting = ask('b')
    limiter.close()
    await expect(waiting).rejects.toThrow(TransientError)
    await expect(ask('c')).rejects.toThrow(TransientError)
  })
})

describe('throttling', () => {
  test('trap 49: the rate halves when the service throttles, down to a floor, and recovers slowly', () => {
    const { clock, limiter } = bench(8)
    limiter.throttled(0, clock.steady())
    expect(limiter.rate).toBe(4)
    clock.advance(10_000)
    expect(limiter.rate).toBeCloseTo(4.4)
    for (let n = 0; n < 20; n += 1) {
      limiter.throttled(0, clock.steady())
      clock.advance(1)
    }
    expect(limiter.rate).toBeCloseTo(0.1)
    clock.advance(600_000)
    expect(limiter.rate).toBe(8)
  })

  test('trap 49: requests that were throttled together lower the rate once', () => {
    const { clock, limiter } = bench(8)
    const sentAt = clock.steady()
    clock.advance(5)
    for (let n = 0; n < 8; n += 1) limiter.throttled(0, sentAt)
    expect(limiter.rate).toBeCloseTo(4, 1)
  })

  test('throttling removes saved turns', async () => {
    const { clock, limiter, passed, ask, pass } = bench(50)
    await pass(60_000)
    limiter.throttled(0, clock.steady())
    void ask('too soon')
    await turn()
    expect(passed).toEqual([])
    await pass(1_000)
    expect(passed).toEqual(['too soon'])
  })

  test('a requested pause lasts to its end despite later answers', () => {
    const { clock, limiter } = bench(10)
    limiter.throttled(60_000, clock.steady())
    for (const pauseMs of [0, 20_000]) limiter.throttled(pauseMs, clock.steady())
    expect(limiter.pausedMs).toBe(60_000)
  })

  test('a throttled rate stays throttled when more processes share it', () => {
    const { clock, limiter } = bench(10)
    limiter.throttled(0, clock.steady())
    limiter.shareAmong(2)
    expect(limiter.rate).toBe(2.5)
    limiter.shareAmong(1)
    expect(limiter.rate).toBe(5)
  })

  test('trap 49: callers wait in a short pause', async () => {
    const { clock, limiter, passed, ask, pass } = bench(1000)
    limiter.throttled(3000, clock.steady())
    expect(limiter.pausedMs).toBe(0)
    void ask('a')
    await pass(2999)
    expect(passed).toEqual([])
    await pass(1)
    expect(passed).toEqual(['a'])
  })

  test('setting the wall clock neither lengthens nor ends a pause', async () => {
    const { clock, limiter, passed, ask, pass } = bench(1)
    await ask('a')
    limiter.throttled(60_000, clock.steady())
    clock.put(7_200_000)
    expect(limiter.pausedMs).toBe(60_000)
    clock.put(-14_400_000)
    expect(limiter.pausedMs).toBe(60_000)
    await pass(60_000)
    await ask('b')
    expect(passed).toEqual(['a', 'b'])
  })

  test('trap 49: a long pause rejects every caller, waiting ones too, with a retry delay', async () => {
    const { clock, limiter, passed, ask, pass } = bench(1)
    await ask('a')
    const waiting = thrownBy(ask('b'))
    limiter.throttled(600_000, clock.steady())
    expect(await waiting).toMatchObject({ retryAfterMs: 600_000 })
    await pass(1000)
    expect(await thrownBy(ask('c', 'background'))).toMatchObject({ retryAfterMs: 599_000 })
    await pass(599_000)
    await ask('d')
    expect(passed).toEqual(['a', 'd'])
  })
})
