import { CronExpressionParser } from 'cron-parser'
import { type TimeText, timeFromMs } from '../model/time.ts'

/** When runs are due: five fields as cron writes them, in a time zone. */
export interface Timetable {
  readonly cron: string
  readonly timeZone: string
}

/** The last time of the timetable that has come. */
export function lastSlot({ cron, timeZone }: Timetable, nowMs: number): TimeText {
  // A time is its own predecessor only from the next moment on.
  const parsed = CronExpressionParser.parse(cron, { currentDate: new Date(nowMs + 1), tz: timeZone })
  return timeFromMs(parsed.prev().getTime())
}
