/** Smallest clock difference to report. */
const APART_MS = 60_000
/** At this difference, no data is removed because of its age. */
const WRONG_MS = 3_600_000
/** Without the service's time, a clock this far ahead of the newest record is not trusted. */
const LONG_GAP_MS = 2 * 86_400_000

/** All known times, in milliseconds since the epoch. */
export interface ClockSightings {
  /** The clock of this process. */
  readonly nowMs: number
  /** The database server's clock; null on SQLite, which has none. */
  readonly databaseMs: number | null
  /** How far each service's clock is ahead of ours, for accounts with an answer in the last hour. */
  readonly services: readonly { readonly account: string; readonly aheadMs: number }[]
  /** The newest recorded times. Each is in the past unless a clock was wrong. */
  readonly recorded: readonly { readonly what: string; readonly atMs: number }[]
  /** The newest recorded time at process start; null if none. */
  readonly recordedBeforeMs: number | null
  /** How far this process's wall clock moved against its steady clock since it was last known to be right. */
  readonly steppedMs: number
}

export interface ClockDifference {
  readonly clock: string
  /** Our clock's lead over `clock`; negative if behind. */
  readonly aheadMs: number
}

export interface ClockJudgement {
  readonly apart: readonly ClockDifference[]
  /** Whether data may be removed because of its age. */
  readonly isTrusted: boolean
  /** Whether a service's clock agrees with ours to within an hour. */
  readonly isConfirmed: boolean
  /** Reason for distrust, as a phrase; null if trusted. */
  readonly doubt: string | null
}

/**
 * Compares the clocks. If a service's clock confirms ours, records from the future are blamed on an earlier wrong clock.
 * Otherwise, our clock isn't trusted in three cases: a record is in its future, it was set, or it is days ahead of every record from before
 * the start.
 */
export function judgeClocks(s: ClockSightings): ClockJudgement {
  const database = s.databaseMs === null ? [] : [{ clock: 'the database server', aheadMs: s.nowMs - s.databaseMs }]
  const services = s.services.map(({ account, aheadMs }) => ({ clock: `the service of account ${account}`, aheadMs: -aheadMs }))
  const recorded = s.recorded.map(({ what, atMs }) => ({ clock: what, aheadMs: s.nowMs - atMs })).filter(({ aheadMs }) => aheadMs < 0)
  const apart = [...database, ...services, ...recorded].filter(({ aheadMs }) => Math.abs(aheadMs) >= APART_MS)
  const isConfirmed = services.some(({ aheadMs }) => Math.abs(aheadMs) < WRONG_MS)
  const wrong = (isConfirmed ? database : [...database, ...services, ...recorded]).filter(({ aheadMs }) => Math.abs(aheadMs) >= WRONG_MS)
  const doubt = wrong.length > 0 ? wrong.map(differenceText).join(', ') : isConfirmed || services.length > 0 ? null : unconfirmedDoubt(s)
  return { apart, isTrusted: doubt === null, isConfirmed, doubt }
}

function unconfirmedDoubt({ nowMs, recordedBeforeMs, steppedMs }: ClockSightings): string | null {
  if (Math.abs(steppedMs) >= WRONG_MS) {
    return `the clock of this machine was set ${steppedMs > 0 ? 'ahead' : 'back'} by ${durationText(steppedMs)}, and the service has not reported its time since`
  }
  if (recordedBeforeMs !== null && nowMs - recordedBeforeMs >= LONG_GAP_MS) {
    return `the newest record from before the start is ${durationText(nowMs - recordedBeforeMs)} old, and the service has not reported its time yet`
  }
  return null
}

/** @returns the difference as a phrase: `the clock of this machine is 3 h ahead of the database server`. */
export function differenceText({ clock, aheadMs }: ClockDifference): string {
  return `the clock of this machine is ${durationText(aheadMs)} ${aheadMs > 0 ? 'ahead of' : 'behind'} ${clock}`
}

const UNITS = [
  ['days', 2 * 86_400_000, 86_400_000],
  ['h', 2 * 3_600_000, 3_600_000],
  ['min', 2 * 60_000, 60_000],
] as const

function durationText(ms: number): string {
  const size = Math.abs(ms)
  const unit = UNITS.find(([, from]) => size >= from)
  return unit === undefined ? `${Math.round(size / 1_000)} s` : `${Math.round(size / unit[2])} ${unit[0]}`
}
