import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../src/clock.ts'
import { PermanentError, TransientError } from '../../src/errors.ts'
import { retryTransient } from '../../src/upstream/retry.ts'
import { thrownBy } from './service.ts'

const never = new AbortController().signal

/** Fails so many times, then succeeds; counts its calls. */
function failing(times: number, error: Error) {
  const work = { calls: 0, run: async () => (++work.calls <= times ? Promise.reject(error) : 'done') }
  return work
}

describe('retryTransient', () => {
  test('tries again after transient failures, with a wait in between', async () => {
    const clock = new ManualClock()
    const work = failing(2, new TransientError('busy'))
    const result = retryTransient(clock, never, { attempts: 3, withinMs: 20_000 }, work.run)
    await turn()
    expect(work.calls).toBe(1)
    for (let n = 0; n < 2; n += 1) {
      clock.advance(10_000)
      await turn()
    }
    expect(await result).toBe('done')
    expect(work.calls).toBe(3)
  })

  test('gives up after the last attempt, and at once on what is not transient', async () => {
    const clock = new ManualClock(0, () => 0)
    const busy = failing(9, new TransientError('busy'))
    await expect(retryTransient(clock, never, { attempts: 3, withinMs: 20_000 }, busy.run)).rejects.toThrow('busy')
    expect(busy.calls).toBe(3)
    const gone = failing(9, new PermanentError('gone'))
    await expect(retryTransient(clock, never, { attempts: 3, withinMs: 20_000 }, gone.run)).rejects.toThrow('gone')
    expect(gone.calls).toBe(1)
  })

  test('does not wait for a time that lies outside its limit', async () => {
    const asked = failing(9, new TransientError('later', { retryAfterMs: 30_000 }))
    await expect(retryTransient(new ManualClock(), never, { attempts: 3, withinMs: 20_000 }, asked.run)).rejects.toThrow('later')
    expect(asked.calls).toBe(1)
  })

  test('an abort ends the wait', async () => {
    const stop = new AbortController()
    const work = failing(9, new TransientError('busy'))
    const result = thrownBy(retryTransient(new ManualClock(), stop.signal, { attempts: 3, withinMs: 20_000 }, work.run))
    await turn()
    stop.abort(new Error('stopped'))
    expect(await result).toMatchObject({ message: 'stopped' })
    expect(work.calls).toBe(1)
  })
})
