import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { emptyRhythm, learnFrom, type Rhythm, rhythmFrom, usualPauseMs } from '../../../src/ops/alarms/rhythm.ts'
import { allowedPauseMs, silentSince } from '../../../src/ops/alarms/silence.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const START = Date.UTC(2026, 0, 5, 12)

/** The rhythm of deliveries that come every `pauseMs`. */
function every(pauseMs: number, times = 100): Rhythm {
  return learnFrom(
    emptyRhythm,
    Array.from({ length: times }, (_, n) => START + n * pauseMs),
  )
}

describe('the rhythm of deliveries', () => {
  it('knows nothing usual before it has met twenty pauses', () => {
    expect(usualPauseMs(emptyRhythm)).toBeNull()
    expect(usualPauseMs(every(MINUTE, 20))).toBeNull()
    expect(usualPauseMs(every(MINUTE, 21))).toBe(64_000)
  })

  it('takes for usual what nineteen of twenty pauses do not exceed', () => {
    const mostly = learnFrom(every(MINUTE, 100), [START + 99 * MINUTE + 10 * HOUR])
    expect(usualPauseMs(mostly)).toBe(64_000)
    const often = learnFrom(
      mostly,
      Array.from({ length: 20 }, (_, n) => START + (n + 10) * 10 * HOUR),
    )
    expect(usualPauseMs(often)).toBeGreaterThan(8 * HOUR)
  })

  it('forgets slowly, so that what is usual follows what changes', () => {
    const quieter = learnFrom(
      every(MINUTE, 1_000),
      Array.from({ length: 40 }, (_, n) => START + 1_000 * MINUTE + n * HOUR),
    )
    expect(usualPauseMs(quieter)).toBe(4_096_000)
  })

  it('meets no pause when the clock was set back, and survives its storage', () => {
    const rhythm = learnFrom(every(MINUTE, 3), [START])
    expect(rhythm).toEqual({ lastAtMs: START + 2 * MINUTE, pauses: [0, 0, 0, 0, 0, 2] })
    expect(rhythmFrom(JSON.stringify(rhythm.pauses), rhythm.lastAtMs)).toEqual(rhythm)
    expect(rhythmFrom('{}', null)).toEqual(emptyRhythm)
  })
})

describe('silence', () => {
  const lastMs = START + 99 * MINUTE
  const busy = every(MINUTE)
  const news = (count: number) => ({ count, oldestAtMs: lastMs + 20 * MINUTE })

  it('begins half an hour after the last delivery of a busy account, when polls found three records meanwhile', () => {
    expect(silentSince(busy, news(3), lastMs + 29 * MINUTE)).toBeNull()
    expect(silentSince(busy, news(3), lastMs + 30 * MINUTE)).toBe(lastMs)
    expect(silentSince(busy, news(2), lastMs + 2 * HOUR)).toBeNull()
  })

  it('begins after three usual pauses of a slower one, and after a day at most', () => {
    const slow = every(HOUR)
    const lastOfSlow = START + 99 * HOUR
    const found = { count: 5, oldestAtMs: lastOfSlow + HOUR }
    expect(allowedPauseMs(slow)).toBe(3 * 4_096_000)
    expect(silentSince(slow, found, lastOfSlow + 3 * HOUR)).toBeNull()
    expect(silentSince(slow, found, lastOfSlow + 4 * HOUR)).toBe(lastOfSlow)
    expect(allowedPauseMs(every(7 * 24 * HOUR))).toBe(24 * HOUR)
    expect(allowedPauseMs(emptyRhythm)).toBe(24 * HOUR)
  })

  it('needs but one record after a day', () => {
    expect(silentSince(busy, news(1), lastMs + 23 * HOUR)).toBeNull()
    expect(silentSince(busy, news(1), lastMs + 24 * HOUR)).toBe(lastMs)
  })

  it('of an endpoint that never sent anything begins an hour after the first record was found', () => {
    const found = { count: 3, oldestAtMs: START }
    expect(silentSince(emptyRhythm, found, START + 59 * MINUTE)).toBeNull()
    expect(silentSince(emptyRhythm, found, START + HOUR)).toBe(START)
  })

  it('never begins while polls find nothing, however quiet the account is', () => {
    const pauses = fc.array(fc.integer({ min: 1, max: 30 * 24 * HOUR }), { maxLength: 60, size: 'max' })
    fc.assert(
      fc.property(pauses, fc.nat(365 * 24 * HOUR), (gaps, quietMs) => {
        let atMs = START
        const rhythm = learnFrom(
          emptyRhythm,
          gaps.map((gap) => {
            atMs += gap
            return atMs
          }),
        )
        expect(silentSince(rhythm, { count: 0, oldestAtMs: null }, atMs + quietMs)).toBeNull()
      }),
    )
  })

  it('is never found within half an hour of a delivery', () => {
    fc.assert(
      fc.property(fc.nat(30 * MINUTE - 1), fc.nat(500), (sinceMs, count) => {
        expect(silentSince(busy, { count, oldestAtMs: lastMs }, lastMs + sinceMs)).toBeNull()
      }),
    )
  })
})
