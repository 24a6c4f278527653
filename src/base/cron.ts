const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

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
 * The values that each field of a timetable names, as cron writes it: minutes, hours, days of the month, months, days of the week (0 is
 * Sunday). A value stands there as often as it is named in different parts of its field.
 * @returns null when the text, in lower case, is no timetable.
 */
export function cronValues(text: string): readonly (readonly number[])[] | null {
  const fields = text.trim().split(/\s+/)
  const values = FIELDS.map((field, place) => valuesOf(fields[place] ?? '', field))
  return fields.length === FIELDS.length && values.every((named) => named !== null) ? values : null
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
