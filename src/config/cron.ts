import { bad, good, type Parsed } from './values.ts'

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

/** The fields of a timetable in their order: lowest and highest value, and names of values from the lowest on. */
const FIELDS: readonly { readonly low: number; readonly high: number; readonly names: readonly string[] }[] = [
  { low: 0, high: 59, names: [] },
  { low: 0, high: 23, names: [] },
  { low: 1, high: 31, names: [] },
  { low: 1, high: 12, names: MONTHS },
  { low: 0, high: 7, names: DAYS },
]

/** A timetable as cron writes it, five fields; `off` is null. */
export function cronOrOff(text: string): Parsed<string | null> {
  if (text.trim().toLowerCase() === 'off') return good(null)
  const fields = text.trim().toLowerCase().split(/\s+/)
  const isValid = fields.length === FIELDS.length && fields.every((field, place) => isField(field, place))
  return isValid ? good(fields.join(' ')) : bad('must be five fields as cron has them, such as 0 3 * * * for each day at three, or off')
}

function isField(field: string, place: number): boolean {
  return field.split(',').every((part) => {
    const [, from, to, step] = /^(\*|\w+)(?:-(\w+))?(?:\/(\d+))?$/.exec(part) ?? []
    if (from === undefined || (step !== undefined && Number(step) < 1)) return false
    if (from === '*') return to === undefined
    const first = numberOf(from, place)
    const last = to === undefined ? first : numberOf(to, place)
    return first !== null && last !== null && first <= last
  })
}

function numberOf(text: string, place: number): number | null {
  const field = FIELDS[place]
  if (!field) return null
  const named = field.names.indexOf(text)
  if (named >= 0) return field.low + named
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  return value >= field.low && value <= field.high ? value : null
}
