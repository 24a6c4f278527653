/** A time in UTC as `YYYY-MM-DDTHH:MM:SS.ffffffZ`. The length is always 27 characters, so text order is time order. */
export type TimeText = string

const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,12})\d*)?)?\s*(?:([Zz])|([+-])(\d{2})(?::?([0-5]\d))?)?$/
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/

/**
 * Converts a date-time of the service. The fraction is kept as text, because a Date has no microseconds.
 * @param wire RFC 3339 text with any offset (default: UTC). Digits after the sixth fractional digit are cut off.
 * @returns null if `wire` isn't a valid date-time.
 */
export function parseTime(wire: unknown): TimeText | null {
  if (typeof wire !== 'string') return null
  const m = DATE_TIME.exec(wire.trim())
  if (!m) return null
  const [year, month, day, hour, minute, second] = [m[1], m[2], m[3], m[4], m[5], m[6] ?? '0'].map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (!isDay(year, month, day) || minute > 59 || second > 60) return null
  // In ISO 8601, 24:00:00 is the end of a day. Date converts it to the start of the next day.
  if (hour > 23 && (hour > 24 || minute + second + Number(m[7] ?? 0) > 0)) return null
  const offset = (m[9] === '-' ? -1 : 1) * (Number(m[10] ?? 0) * 60 + Number(m[11] ?? 0))
  if (Math.abs(offset) >= 24 * 60) return null
  // A Date converts the offset and leap seconds, in whole seconds. The fraction stays text.
  const seconds = new Date(0)
  seconds.setUTCFullYear(year, month - 1, day)
  seconds.setUTCHours(hour, minute - offset, second)
  if (seconds.getUTCFullYear() < 1 || seconds.getUTCFullYear() > 9999) return null
  return `${seconds.toISOString().slice(0, 19)}.${(m[7] ?? '').padEnd(6, '0').slice(0, 6)}Z`
}

/** @param wire a date or date-time. @returns the date as `YYYY-MM-DD`; null if `wire` is invalid. */
export function parseDate(wire: unknown): string | null {
  if (typeof wire !== 'string') return null
  const text = parseTime(wire) ? wire.trim().slice(0, 10) : wire.trim()
  const m = DATE.exec(text)
  return m && isDay(Number(m[1]), Number(m[2]), Number(m[3])) ? text : null
}

/** @param ms milliseconds since the epoch. @throws RangeError for an invalid time. */
export function timeFromMs(ms: number): TimeText {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`
}

/** @returns milliseconds since the epoch. Microseconds are cut off. */
export function msFromTime(time: TimeText): number {
  return Date.parse(`${time.slice(0, 23)}Z`)
}

const TIME_TEXT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/

export function isTimeText(text: string): text is TimeText {
  return TIME_TEXT.test(text)
}

/**
 * True if two times may mean the same moment: they differ by less than one unit of the last digit of the less precise
 * time. Trailing zeros count as missing digits.
 */
export function isSameMoment(a: TimeText, b: TimeText): boolean {
  const digits = Math.min(...[a, b].map((time) => time.slice(20, 26).replace(/0+$/, '').length))
  const microseconds = (msFromTime(a) - msFromTime(b)) * 1_000 + Number(a.slice(23, 26)) - Number(b.slice(23, 26))
  return Math.abs(microseconds) < 10 ** (6 - digits)
}

/** @returns the earlier time; null only if both are null. */
export function earlierTime(a: TimeText | null, b: TimeText | null): TimeText | null {
  if (a === null || b === null) return a ?? b
  return a <= b ? a : b
}

/** @returns the later time; null only if both are null. */
export function laterTime(a: TimeText | null, b: TimeText | null): TimeText | null {
  if (a === null || b === null) return a ?? b
  return a >= b ? a : b
}

function isDay(year: number, month: number, day: number): boolean {
  // Postgres rejects the year 0.
  return year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
}
