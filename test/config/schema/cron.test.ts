import fc from 'fast-check'
import cron from 'node-cron'
import { expect, it } from 'vitest'
import { cronOrOff } from '../../../src/config/schema/cron.ts'
import { lastSlot } from '../../../src/reconcile/run/schedule.ts'

it.each([
  ['0 3 * * *', '0 3 * * *'],
  ['  */15 0-6,22  1,15 jan-mar MON-fri ', '*/15 0-6,22 1,15 jan-mar mon-fri'],
  ['0 3 * * 5-7', '0 3 * * 5-7'],
  ['0 22-2 * * *', '0 22-2 * * *'],
  ['0 3 * * 0,7', '0 3 * * 0,7'],
  ['0 3 30,31 2,4 *', '0 3 30,31 2,4 *'],
  ['off', null],
])('%j is a schedule', (text, value) => {
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
  '*/0 * * * *',
  '5/10 * * * *',
  '0 3 * * * *',
  'daily',
  '@daily',
  '0 3 l * *',
  '0 3 * * 5#2',
])('%j is not a schedule', (text) => {
  expect(cronOrOff(text)).toEqual({ problems: [expect.stringContaining('five cron fields')] })
})

it.each(['0 3 30 2 *', '0 3 31 4,6 *', '0 3 31 feb mon'])('%j names a day that does not exist', (text) => {
  expect(cronOrOff(text)).toEqual({ problems: [expect.stringContaining('with a day that exists')] })
})

it('the last time of a schedule matches in node-cron, and no later one does', () => {
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
  const days = fc.oneof(fc.tuple(field(1, 31), fc.constant('*')), fc.tuple(fc.constant('*'), field(0, 7, ['sun', 'mon', 'sat'])))
  const fields = fc.tuple(field(0, 59), field(0, 23), field(1, 12, ['jan', 'feb', 'dec']), days)
  const minute = 60_000
  const minutesOfYear = fc.integer({ min: 0, max: 400 * 1440 })
  fc.assert(
    fc.property(fields, minutesOfYear, fc.array(fc.nat(), { minLength: 20, maxLength: 20 }), ([m, h, month, [day, weekday]], at, picks) => {
      const parsed = cronOrOff([m, h, day, month, weekday].join(' '))
      fc.pre('value' in parsed && parsed.value !== null)
      const expression = 'value' in parsed ? (parsed.value ?? '') : ''
      const now = Date.UTC(2026, 5, 15) + at * minute
      const slot = Date.parse(lastSlot({ cron: expression, timeZone: 'UTC' }, now))
      const task = cron.createTask(expression, () => undefined, { timezone: 'UTC' })
      const later = (now - slot) / minute
      const passed = later === 0 ? [] : [1, later, ...picks.map((pick) => 1 + (pick % later))]
      const matching = [0, ...passed].filter((minutes) => task.match(new Date(slot + minutes * minute)))
      void task.destroy()
      expect(matching).toEqual([0])
    }),
  )
})
