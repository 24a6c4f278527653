import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { earlierTime, laterTime, msFromTime, parseDate, parseTime, timeFromMs } from '../../src/model/time.ts'

/** Milliseconds of the years 2 to 9998, so that no offset leaves those that exist. */
const moment = fc.integer({ min: Date.parse('0002-01-01T00:00:00Z'), max: Date.parse('9998-12-31T23:59:59.999Z') })
const micros = fc.integer({ min: 0, max: 999 })
const offsetMinutes = fc.integer({ min: -23 * 60 - 59, max: 23 * 60 + 59 })
const two = (n: number) => String(n).padStart(2, '0')

/** The moment as a clock shows it that is `minutes` ahead of UTC. */
function written(ms: number, fraction: string, minutes: number): string {
  const [sign, size] = [minutes < 0 ? '-' : '+', Math.abs(minutes)]
  const offset = `${sign}${two(Math.floor(size / 60))}:${two(size % 60)}`
  return `${new Date(ms + minutes * 60_000).toISOString().slice(0, 19)}${fraction === '' ? '' : `.${fraction}`}${offset}`
}

describe('a date-time', () => {
  test('becomes UTC text of 27 characters from any offset, to the microsecond', () => {
    fc.assert(
      fc.property(moment, micros, offsetMinutes, fc.stringMatching(/^\d{0,9}$/), (ms, us, minutes, more) => {
        const fraction = `${String(((ms % 1000) + 1000) % 1000).padStart(3, '0')}${String(us).padStart(3, '0')}`
        const time = parseTime(written(ms, fraction + more, minutes))
        expect(time).toHaveLength(27)
        expect(time).toBe(`${new Date(ms).toISOString().slice(0, 19)}.${fraction}Z`)
      }),
    )
  })

  test('agrees with Date to the millisecond', () => {
    fc.assert(
      // Of more than nine digits after a zero Date itself makes something else.
      fc.property(moment, offsetMinutes, fc.stringMatching(/^\d{0,9}$/), (ms, minutes, fraction) => {
        const text = written(ms, fraction, minutes)
        const time = parseTime(text)
        expect(time && msFromTime(time)).toBe(Date.parse(text))
      }),
    )
  })

  test('text order is time order', () => {
    const time = fc.tuple(moment, fc.stringMatching(/^\d{1,6}$/), offsetMinutes).map(([ms, fraction, minutes]) => {
      const whole = Math.floor(ms / 1000)
      return { text: parseTime(written(ms, fraction, minutes)) ?? '', order: BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, '0')) }
    })
    fc.assert(
      fc.property(time, time, (a, b) => {
        expect(Math.sign(a.text < b.text ? -1 : a.text > b.text ? 1 : 0)).toBe(a.order < b.order ? -1 : a.order > b.order ? 1 : 0)
        expect(laterTime(a.text, b.text)).toBe(a.order >= b.order ? a.text : b.text)
      }),
    )
  })

  test('is unchanged when parsed again', () => {
    fc.assert(
      fc.property(moment, fc.stringMatching(/^\d{0,6}$/), offsetMinutes, (ms, fraction, minutes) => {
        const time = parseTime(written(ms, fraction, minutes))
        expect(parseTime(time)).toBe(time)
        expect(timeFromMs(ms)).toHaveLength(27)
        expect(msFromTime(timeFromMs(ms))).toBe(ms)
        expect(parseTime(timeFromMs(ms))).toBe(timeFromMs(ms))
      }),
    )
  })

  test('a moment is formatted equally between any others', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(0, -0, 1, 999, 1000, 1_700_000_000_000), { minLength: 1 }), (moments) => {
        for (const ms of moments) expect(msFromTime(timeFromMs(ms))).toBe(ms + 0)
        expect(() => timeFromMs(Number.NaN)).toThrow(RangeError)
      }),
    )
  })

  test.each([
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000000Z'],
    ['2026-01-02T03:04:05.123456789Z', '2026-01-02T03:04:05.123456Z'],
    ['2026-01-02T03:04:05.999999999+02:00', '2026-01-02T01:04:05.999999Z'],
    ['2026-01-02T03:04:05.00050000000000Z', '2026-01-02T03:04:05.000500Z'],
    ['2026-01-02t03:04:05z', '2026-01-02T03:04:05.000000Z'],
    ['2026-01-02 03:04:05+00', '2026-01-02T03:04:05.000000Z'],
    ['2026-01-02T03:04:05-0530', '2026-01-02T08:34:05.000000Z'],
    ['2026-01-02T03:04', '2026-01-02T03:04:00.000000Z'],
    ['2026-01-02T03:04:05', '2026-01-02T03:04:05.000000Z'],
    [' 2026-01-02T03:04:05,5Z ', '2026-01-02T03:04:05.500000Z'],
    ['2026-12-31T23:59:60Z', '2027-01-01T00:00:00.000000Z'],
    ['2026-12-31T24:00:00Z', '2027-01-01T00:00:00.000000Z'],
    ['2024-02-28T24:00:00.000-01:00', '2024-02-29T01:00:00.000000Z'],
    ['2026-01-02T24:00', '2026-01-03T00:00:00.000000Z'],
    ['2024-02-29T23:00:00-01:00', '2024-03-01T00:00:00.000000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000000Z'],
    ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
  ])('%s is %s', (wire, time) => {
    expect(parseTime(wire)).toBe(time)
  })

  test.each([
    '',
    'now',
    '2026-01-02',
    '2026-01-02T',
    '20260102T030405Z',
    '2026-1-2T03:04:05Z',
    '2026-01-02T03:04:05.Z',
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-32T00:00:00Z',
    '2100-02-29T00:00:00Z',
    '2026-01-02T24:00:01Z',
    '2026-01-02T24:01:00Z',
    '2026-01-02T24:00:00.001Z',
    '2026-01-02T25:00:00Z',
    '9999-12-31T24:00:00Z',
    '2026-01-02T23:60:00Z',
    '2026-01-02T23:59:61Z',
    '2026-01-02T03:04:05+24:00',
    '2026-01-02T03:04:05+05:60',
    '2026-01-02T03:04:05+5',
    '2026-01-02T03:04:05+02:',
    '2026-01-02T03:04:05ZZ',
    '2026-01-02T03:04:05\u0000Z',
    '٢٠٢٦-01-02T03:04:05Z',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '+010000-01-01T00:00:00Z',
    '-0001-01-01T00:00:00Z',
  ])('%j is none', (wire) => {
    expect(parseTime(wire)).toBeNull()
  })

  test('any input gives a time or null', () => {
    const nearly = fc.stringMatching(/^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-6]\d(:[0-6]\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?$/)
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.string(), nearly), (wire) => {
        const time = parseTime(wire)
        if (time === null) return
        expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
        expect(new Date(msFromTime(time)).toISOString().slice(0, 23)).toBe(time.slice(0, 23))
      }),
    )
  })
})

describe('a date', () => {
  test('is itself, or the written date part of a date-time', () => {
    expect(parseDate('2026-01-02')).toBe('2026-01-02')
    expect(parseDate(' 2024-02-29 ')).toBe('2024-02-29')
    expect(parseDate('2026-01-02T23:30:00-05:00')).toBe('2026-01-02')
    expect(parseDate('2026-01-02T24:00:00Z')).toBe('2026-01-02')
  })

  test('must exist', () => {
    const none = [
      '2026-02-30',
      '2026-00-01',
      '2026-13-01',
      '2026-01-00',
      '0000-01-01',
      '2026-1-2',
      '01/02/2026',
      '2026-01-02T25:00:00Z',
      '',
      null,
    ]
    for (const wire of [...none, 20260102, {}]) expect(parseDate(wire)).toBeNull()
  })

  test('agrees with Date', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 9999 }), fc.nat(13), fc.nat(32), (year, month, day) => {
        const text = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
        const date = new Date(`${text}T00:00:00Z`)
        const exists = !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === text
        expect(parseDate(text)).toBe(exists ? text : null)
      }),
    )
  })
})

test('the earlier and later of two times ignore null', () => {
  const [early, late] = ['2026-01-01T00:00:00.000000Z', '2026-01-01T00:00:00.000001Z']
  expect([laterTime(early, late), laterTime(late, early), laterTime(null, early), laterTime(early, null), laterTime(null, null)]).toEqual([
    late,
    late,
    early,
    early,
    null,
  ])
  const earlier = [earlierTime(early, late), earlierTime(late, early), earlierTime(null, late), earlierTime(late, null)]
  expect([...earlier, earlierTime(null, null)]).toEqual([early, early, late, late, null])
})
