import { cronValues } from '../../base/cron.ts'
import { bad, good, type Parsed } from './values.ts'

/** The days that a month may have. */
const MONTH_DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** A timetable as cron writes it, five fields; `off` is null. */
export function cronOrOff(text: string): Parsed<string | null> {
  const written = text.trim().toLowerCase()
  if (written === 'off') return good(null)
  const values = cronValues(written)
  if (values === null) return bad('must be five fields as cron has them, such as 0 3 * * * for each day at three, or off')
  if (values.some((named) => new Set(named).size < named.length))
    return bad('must name each value of a field once (0 and 7 are both Sunday)')
  const [, , days = [], months = []] = values
  if (Math.min(...days) > Math.max(...months.map((month) => MONTH_DAYS[month - 1] ?? 0)))
    return bad('must name a day of the month that one of its months has')
  return good(written.split(/\s+/).join(' '))
}
