import { bad, good, type Parsed } from './values.ts'

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
/** The days that a month may have. */
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

interface Field {
  readonly low: number
  readonly high: number
  /** Names of values, from the lowest on. */
  readonly names: readonly string[]
  /** Values so far apart mean the same. */
  readonly cycle: number
}

/** The fields of a timetable in their order. */
const FIELDS: readonly Field[] = [
  { low: 0, high: 59, names: [], cycle: Infinity },
  { low: 0, high: 23, names: [], cycle: Infinity },
  { low: 1, high: 31, names: [], cycle: Infinity },
  { low: 1, high: 12, names: MONTHS, cycle: Infinity },
  { low: 0, high: 7, names: DAYS, cycle: 7 },
]

/**
 * A timetable as cron writes it, five fields; `off` is null. It takes no more than the libraries that keep the timetable do: one that
 * they refuse would begin no run, ever.
 */
export function cronOrOff(text: string): Parsed<string | null> {
  const written = text.trim().toLowerCase()
  if (written === 'off') return good(null)
  const fields = written.split(/\s+/)
  const values = FIELDS.map((field, place) => valuesOf(fields[place] ?? '', field))
  if (fields.length !== FIELDS.length || !values.every((named) => named !== null))
    return bad('must be five fields as cron has them, such as 0 3 * * * for each day at three, or off')
  if (values.some((named) => new Set(named).size < named.length))
    return bad('must name each value of a field once (0 and 7 are both Sunday)')
  const [, , days = [], months = []] = values
  if (Math.min(...days) > Math.max(...months.map((month) => MONTH_DAYS[month - 1] ?? 0)))
    return bad('must name a day of the month that one of its months has')
  return good(fields.join(' '))
}

/** @returns the values that a field names, as often as it names them in different parts; null when it is none. */
function valuesOf(text: string, field: Field): number[] | null {
  const parts = text.split(',').map((part) => valuesOfPart(part, field))
  return parts.every((values) => values !== null) ? parts.flat() : null
}

function valuesOfPart(part: string, field: Field): number[] | null {
  const [, from, to, step] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d+))?$/.exec(part) ?? []
  if (from === undefined || (from === '*' && to !== undefined)) return null
  // Only of a range or of all values every second one, or third, can be meant.
  if (step !== undefined && (Number(step) < 1 || (from !== '*' && to === undefined))) return null
  const first = from === '*' ? field.low : numberOf(from, field)
  const last = from === '*' ? field.high : numberOf(to ?? from, field)
  if (first === null || last === null || first > last) return null
  const values: number[] = []
  for (let value = first; value <= last; value += Number(step ?? 1)) values.push(value % field.cycle)
  return [...new Set(values)]
}

function numberOf(text: string, { low, high, names }: Field): number | null {
  const named = names.indexOf(text)
  if (named >= 0) return low + named
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  return value >= low && value <= high ? value : null
}
