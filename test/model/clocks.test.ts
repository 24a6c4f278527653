import { expect, it } from 'vitest'
import { type ClockSightings, differenceText, judgeClocks } from '../../src/model/clocks.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const now = Date.UTC(2026, 5, 15)

function judged(over: Partial<ClockSightings>) {
  const recorded = [{ what: 'the newest change', atMs: now - 5 * MINUTE }]
  return judgeClocks({ nowMs: now, databaseMs: null, services: [], recorded, recordedBeforeMs: now - HOUR, steppedMs: 0, ...over })
}

const service = (aheadMs: number) => [{ account: 'acme', aheadMs }]

it('agreeing clocks are trusted, and small differences are reported', () => {
  expect(judged({})).toEqual({ apart: [], isTrusted: true, isConfirmed: false, doubt: null })
  expect(judged({ services: service(2_000), databaseMs: now + 1_000 })).toMatchObject({ apart: [], isTrusted: true, isConfirmed: true })
  const some = judged({ services: service(90_000), databaseMs: now + 10 * MINUTE })
  expect(some).toMatchObject({ isTrusted: true, isConfirmed: true })
  expect(some.apart.map(differenceText)).toEqual([
    'the clock of this machine is 10 min behind the database server',
    'the clock of this machine is 90 s behind the service of account acme',
  ])
})

it.each([2 * HOUR, 500 * DAY, 20_000 * DAY])(
  'a clock that is %s ms ahead of, or behind, the service or the database is not trusted',
  (ms) => {
    for (const apart of [ms, -ms]) {
      expect(judged({ services: service(apart) })).toMatchObject({ isTrusted: false, isConfirmed: false })
      expect(judged({ databaseMs: now + apart })).toMatchObject({ isTrusted: false })
      expect(judged({ databaseMs: now + apart, services: service(0) }).isTrusted, 'whose leases would it be?').toBe(false)
      expect(judged({ steppedMs: apart }).isTrusted).toBe(false)
      expect(judged({ steppedMs: apart, services: service(0) }).isTrusted).toBe(true)
    }
  },
)

it('a record from the future makes the clock doubtful until a service confirms it', () => {
  const recorded = [{ what: 'the last run of retention', atMs: now + 500 * DAY }]
  expect(judged({ recorded })).toMatchObject({
    isTrusted: false,
    doubt: 'the clock of this machine is 500 days behind the last run of retention',
  })
  expect(judged({ recorded, services: service(0) })).toMatchObject({ isTrusted: true, apart: [{ clock: 'the last run of retention' }] })
})

it('a long gap is trusted once the service confirms the time; one wrong service stops nothing', () => {
  expect(judged({ recordedBeforeMs: now - 60 * DAY }).isTrusted).toBe(false)
  expect(judged({ recordedBeforeMs: now - 60 * DAY, services: service(500) }).isTrusted).toBe(true)
  expect(judged({ recordedBeforeMs: now - DAY }).isTrusted).toBe(true)
  expect(judged({ recordedBeforeMs: null }).isTrusted).toBe(true)
  expect(judged({ services: [...service(0), { account: 'staging', aheadMs: 5 * HOUR }] }).isTrusted).toBe(true)
})
