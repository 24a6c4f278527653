import cron from 'node-cron'
import { type TimeText, timeFromMs } from '../../model/time.ts'

/** A cron expression with five fields, and an IANA time zone. */
export interface CronSchedule {
  readonly cron: string
  readonly timeZone: string
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
/** Maximum time by which a time zone sets its clocks back. */
const MAX_SET_BACK_MS = 3 * HOUR_MS
/** Eight years, the longest time between two February 29ths. */
const MAX_DAYS = 8 * 366

/**
 * @returns the last time at which a schedule was due. node-cron provides only the next time.
 * If clocks are set back and a local time occurs twice, only its first occurrence counts. If clocks are set forward
 * over a local time, the schedule is due at the moment of the change.
 * @throws Error if the schedule had no time in the last eight years.
 */
export function lastSlot({ cron: expression, timeZone }: CronSchedule, nowMs: number): TimeText {
  const offset = offsetsOf(timeZone)
  // The latest local time that clocks have shown so far. If clocks were just set back, this time is later than the
  // current local time.
  const shown = nowMs + Math.max(offset(nowMs), offset(nowMs - MAX_SET_BACK_MS))
  for (const time of timesBefore(expression, shown)) {
    const at = firstShown(time, offset)
    if (at <= nowMs) return timeFromMs(at)
  }
  throw new Error(`the schedule ${expression} has no time`)
}

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

/** Yields the local times of a schedule up to `latest`, latest first. The times are encoded as if they were UTC. */
function* timesBefore(expression: string, latest: number): Generator<number> {
  const { minute, hour, dayOfMonth: days, month: months, dayOfWeek: weekdays } = cron.parse(expression)
  const [minutes, hours] = [minute, hour].map((values) => values.toSorted((a, b) => b - a)) as [number[], number[]]
  const [, , ofMonth, , ofWeek] = expression.split(' ')
  const today = Math.floor(latest / DAY_MS) * DAY_MS
  for (let day = today; day > today - MAX_DAYS * DAY_MS; day -= DAY_MS) {
    const date = new Date(day)
    const [named, namedOfWeek] = [days.includes(date.getUTCDate()), weekdays.includes(date.getUTCDay())]
    // If both day fields are restricted, cron requires only one of them to match.
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

/** @returns the moment at which clocks first show `time` or a later time. */
function firstShown(time: number, offset: Offset): number {
  // Offsets from UTC are shorter than one day. So `before` is the offset before the local time, and `after` is the
  // offset after it.
  const before = offset(time - DAY_MS)
  const after = offset(time + DAY_MS)
  if (offset(time - before) === before) return time - before
  if (offset(time - after) === after) return time - after
  // Clocks skip `time`. The loop searches for the moment at which the offset changes.
  let [from, to] = [time - after, time - before]
  while (to - from > 1) {
    const middle = Math.floor((from + to) / 2)
    if (offset(middle) === after) to = middle
    else from = middle
  }
  return to
}
