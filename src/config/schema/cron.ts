import cron from 'node-cron'
import { invalid, ok, type Parsed } from './values.ts'

/**
 * Parses a cron expression with five fields; `off` becomes null. Rejects extensions of node-cron (seconds,
 * `@daily`, `L`, `#`).
 */
export function cronOrOff(text: string): Parsed<string | null> {
  const fields = text.trim().toLowerCase().split(/\s+/)
  const normalised = fields.join(' ')
  if (normalised === 'off') return ok(null)
  const { fields: values } = cron.validateDetailed(normalised)
  const days = [...(values?.dayOfMonth ?? []), ...(values?.dayOfWeek ?? [])]
  if (values !== undefined && fields.length === 5 && days.every((day) => typeof day === 'number')) return ok(normalised)
  return invalid(
    'must be five cron fields (minute, hour, day of month, month, day of week) with a day that exists, such as 0 3 * * * for 03:00 every day, or off',
  )
}
