import cron from 'node-cron'
import { type TimeText, timeFromMs } from '../../model/time.ts'

/** When runs are due: five fields as cron writes them, in a time zone. */
export interface Timetable {
  readonly cron: string
  readonly timeZone: string
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** No clocks are put back by more. */
const MOST_BACK_MS = 3 * HOUR_MS
/** From one 29 February to the next there may be eight years. */
const MOST_DAYS = 8 * 366

/**
 * The last time of the timetable that has come. It comes when the clocks of its zone first show it, or are put ahead over it: once, also
 * when they are put back and show it again.
 * @throws Error when the timetable is none.
 */
export function lastSlot({ cron: expression, timeZone }: Timetable, nowMs: number): TimeText {
  const offset = offsetsOf(timeZone)
  // The clocks have shown nothing later yet, also when they were put back a moment ago.
  const shown = nowMs + Math.max(offset(nowMs), offset(nowMs - MOST_BACK_MS))
  for (const time of timesBefore(expression, shown)) {
    const at = firstShown(time, offset)
    if (at <= nowMs) return timeFromMs(at)
  }
  throw new Error(`the timetable ${expression} has no time`)
}

/** How far the clocks of a zone are ahead of UTC at a moment, in ms. */
type Offset = (atMs: number) => number

function offsetsOf(timeZone: string): Offset {
  const date = { year: 'numeric', month: 'numeric', day: 'numeric' } as const
  const time = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const
  const format = new Intl.DateTimeFormat('en-US', { timeZone, ...date, ...time })
  return (atMs) => {
    const shown = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]))
    const part = (type: Intl.DateTimeFormatPartTypes) => shown.get(type) ?? 0
    const clock = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
    return clock - Math.floor(atMs / 1000) * 1000
  }
}

/** The times of a timetable up to `latest`, the last first; as the clocks show them, so that no zone has a part in it. */
function* timesBefore(expression: string, latest: number): Generator<number> {
  const { minute, hour, dayOfMonth: days, month: months, dayOfWeek: weekdays } = cron.parse(expression)
  const [minutes, hours] = [minute, hour].map((values) => values.toSorted((a, b) => b - a)) as [number[], number[]]
  const [, , ofMonth, , ofWeek] = expression.split(' ')
  const today = Math.floor(latest / DAY_MS) * DAY_MS
  for (let day = today; day > today - MOST_DAYS * DAY_MS; day -= DAY_MS) {
    const date = new Date(day)
    const [named, namedOfWeek] = [days.includes(date.getUTCDate()), weekdays.includes(date.getUTCDay())]
    // When both fields name days, one of them is enough.
    const either = ofMonth !== '*' && ofWeek !== '*'
    if (!months.includes(date.getUTCMonth() + 1) || !(either ? named || namedOfWeek : named && namedOfWeek)) continue
    for (const hour of hours) {
      for (const minute of minutes) {
        const time = day + hour * HOUR_MS + minute * MINUTE_MS
        if (time <= latest) yield time
      }
    }
  }
}

/** When the clocks first show a time, or one behind it. */
function firstShown(time: number, offset: Offset): number {
  // No zone is as much as a day from UTC, so the moment lies between these.
  const before = offset(time - DAY_MS)
  const after = offset(time + DAY_MS)
  if (offset(time - before) === before) return time - before
  if (offset(time - after) === after) return time - after
  // They are put ahead over it in between.
  let [from, to] = [time - after, time - before]
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2)
    if (offset(middle) === after) to = middle
    else from = middle
  }
  return to
}
