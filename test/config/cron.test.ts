import { expect, it } from 'vitest'
import { cronOrOff } from '../../src/config/cron.ts'

it.each([
  ['0 3 * * *', '0 3 * * *'],
  ['  */15 0-6,22  1,15 jan-mar MON-fri ', '*/15 0-6,22 1,15 jan-mar mon-fri'],
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
  '0 3 * * * *',
  'daily',
])('%j is none', (text) => {
  expect(cronOrOff(text)).toEqual({ problems: [expect.stringContaining('five fields')] })
})
