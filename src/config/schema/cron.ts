import cron from 'node-cron'
import { bad, good, type Parsed } from './values.ts'

/** Parses a schedule of five cron fields; `off` is null. What node-cron reads beyond that (seconds, `@daily`, `L`, `#`) is refused. */
export function cronOrOff(text: string): Parsed<string | null> {
  const fields = text.trim().toLowerCase().split(/\s+/)
  const written = fields.join(' ')
  if (written === 'off') return good(null)
  const { fields: values } = cron.validateDetailed(written)
  const days = [...(values?.dayOfMonth ?? []), ...(values?.dayOfWeek ?? [])]
  if (values !== undefined && fields.length === 5 && days.every((day) => typeof day === 'number')) return good(written)
  return bad(
    'must be five fields as cron has them (minute, hour, day of the month, month, day of the week) and name a day that exists, such as 0 3 * * * for each day at three, or off',
  )
}
