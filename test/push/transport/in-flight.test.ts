import { getEventListeners } from 'node:events'
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Cancellable, InFlight } from '../../../src/push/transport/in-flight.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Something under way, which tells when it was given up. */
function something(inFlight: InFlight, signal: AbortSignal, timeoutMs: number) {
  const begun = performance.now()
  const said: string[] = []
  const what: Cancellable = {
    giveUp(why) {
      said.push(`${why} after ${Math.round(performance.now() - begun)}`)
      inFlight.end(what, signal)
    },
  }
  inFlight.begin(what, signal, timeoutMs)
  return { said, end: () => inFlight.end(what, signal) }
}

test('each is given up when its own time is over, whichever began first', () => {
  const inFlight = new InFlight()
  const { signal } = new AbortController()
  const slow = something(inFlight, signal, 20_000)
  const quick = something(inFlight, signal, 50)
  vi.advanceTimersByTime(40)
  const late = something(inFlight, signal, 50)
  vi.advanceTimersByTime(30_000)
  expect([slow.said, quick.said, late.said]).toEqual([['late after 20000'], ['late after 50'], ['late after 50']])
})

test('all of one signal are given up when it aborts, and nothing of another one', () => {
  const inFlight = new InFlight()
  const stopping = new AbortController()
  const first = something(inFlight, stopping.signal, 1_000)
  const second = something(inFlight, stopping.signal, 1_000)
  const other = something(inFlight, new AbortController().signal, 1_000)
  vi.advanceTimersByTime(10)
  stopping.abort()
  expect([first.said, second.said, other.said]).toEqual([['stopped after 10'], ['stopped after 10'], []])
})

test('what ended is never given up, and neither a timer nor a listener is left', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ ms: fc.integer({ min: 1, max: 500 }), endsAfter: fc.integer({ min: 0, max: 499 }) })), (all) => {
      const inFlight = new InFlight()
      const { signal } = new AbortController()
      const begun = all.map(({ ms, endsAfter }) => {
        const { said, end } = something(inFlight, signal, ms)
        setTimeout(end, endsAfter)
        return { said, expected: endsAfter < ms ? [] : [`late after ${ms}`], isClose: endsAfter === ms }
      })
      vi.advanceTimersByTime(600)
      for (const { said, expected, isClose } of begun) if (!isClose) expect(said).toEqual(expected)
      expect(vi.getTimerCount()).toBe(0)
      expect(getEventListeners(signal, 'abort')).toEqual([])
    }),
  )
})
