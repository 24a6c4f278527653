import { CronExpressionParser } from 'cron-parser'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cronOrOff } from '../../../src/config/schema/cron.ts'
import { lastSlot } from '../../../src/reconcile/run/timetable.ts'

it.each([
  ['0 3 * * *', '0 3 * * *'],
  ['  */15 0-6,22  1,15 jan-mar MON-fri ', '*/15 0-6,22 1,15 jan-mar mon-fri'],
  ['0 3 * * 5-7', '0 3 * * 5-7'],
  ['0 3 30,31 2,4 *', '0 3 30,31 2,4 *'],
  ['off', null],
])('%j is a timetable', (text, value) => {
  expect(cronOrOff(text)).toEqual({ value })
})

it.each([
  '',
  '* * * *',
  '60 3 * * *',
  '0 24 * * *',
  '0 3 0 * *',
  '0 3 * 13 *',
  '0 3 * * 8',
  '0 5-3 * * *',
  '*/0 * * * *',
  '5/10 * * * *',
  '0 3 * * * *',
  'daily',
])('%j is none', (text) => {
  expect(cronOrOff(text)).toEqual({ problems: [expect.stringContaining('five fields')] })
})

it.each(['0 3,3 * * *', '1,1-5 * * * *', '* * * * 1,mon', '0 3 * * 0,7', '*,5 * * * *'])('%j names a value twice', (text) => {
  expect(cronOrOff(text)).toEqual({ problems: [expect.stringContaining('once')] })
})

it.each(['0 3 30 2 *', '0 3 31 4,6 *', '0 3 31 feb mon'])('%j names a day that there never is', (text) => {
  expect(cronOrOff(text)).toEqual({ problems: [expect.stringContaining('day of the month')] })
})

it('a timetable means what cron means by it', () => {
  const value = (from: number, to: number, names: readonly string[] = []) =>
    fc.oneof(fc.integer({ min: from, max: to }).map(String), ...(names.length > 0 ? [fc.constantFrom(...names)] : []))
  const field = (from: number, to: number, names?: readonly string[]) => {
    const one = value(from, to, names)
    const range = fc.oneof(
      fc.constant('*'),
      one,
      fc.tuple(one, one).map((ends) => ends.join('-')),
    )
    const part = fc.tuple(range, fc.option(fc.integer({ min: 1, max: 99 }))).map(([of, step]) => (step === null ? of : `${of}/${step}`))
    return fc.oneof(
      { weight: 2, arbitrary: fc.constant('*') },
      fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(',')),
    )
  }
  const fields = fc.tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12, ['jan', 'feb', 'dec']), field(0, 7, ['sun', 'mon', 'sat']))
  fc.assert(
    fc.property(fields, fc.integer({ min: 0, max: 400 * 1440 }), (texts, minutes) => {
      const parsed = cronOrOff(texts.join(' '))
      fc.pre('value' in parsed && parsed.value !== null)
      const cron = 'value' in parsed ? (parsed.value ?? '') : ''
      const now = Date.UTC(2026, 5, 15) + minutes * 60_000
      const expected = CronExpressionParser.parse(cron, { currentDate: new Date(now + 1), tz: 'UTC' }).prev()
      expect(Date.parse(lastSlot({ cron, timeZone: 'UTC' }, now))).toBe(expected.getTime())
    }),
  )
})
