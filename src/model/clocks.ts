/** Smallest clock difference that is reported. */
const APART_MS = 60_000
/** From this clock difference on, our clock isn't trusted. No data is then removed because of its age. */
const WRONG_MS = 3_600_000
/**
 * Our clock isn't trusted if it is this far ahead of the newest record from before this process started. Applies only
 * if no service reports its time.
 */
const LONG_GAP_MS = 2 * 86_400_000

/** All known times, in milliseconds since the epoch, and clock differences in milliseconds. */
export interface ClockSightings {
  /** Time of this process's clock. */
  readonly nowMs: number
  /** Time of the database server's clock; null on SQLite. */
  readonly databaseMs: number | null
  /** How far each service's clock is ahead of ours. Only for accounts whose service answered in the last hour. */
  readonly services: readonly { readonly account: string; readonly aheadMs: number }[]
  /** The newest times in the database; `what` names each. A time in the future means that a clock is or was wrong. */
  readonly recorded: readonly { readonly what: string; readonly atMs: number }[]
  /** The newest time that was recorded before this process started; null if there is none. */
  readonly recordedBeforeMs: number | null
  /**
   * How far this machine's wall clock was set ahead since it was last confirmed. Negative if the clock was set back.
   * Measured by the steady clock.
   */
  readonly steppedMs: number
}

export interface ClockDifference {
  readonly clock: string
  /** How far our clock is ahead of `clock`; negative if our clock is behind. */
  readonly aheadMs: number
}

export interface ClockJudgement {
  readonly apart: readonly ClockDifference[]
  /** True if data may be removed because of its age. */
  readonly isTrusted: boolean
  /** True if a service's clock differs from ours by less than an hour. */
  readonly isConfirmed: boolean
  /** Why our clock isn't trusted, as a phrase; null if it is trusted. */
  readonly doubt: string | null
}

/**
 * Compares the clocks. Our clock isn't trusted if it differs from the database server's clock by an hour or more.
 * Otherwise, our clock is trusted if a service's clock differs from ours by less than an hour. Records with future
 * times then don't count, because an earlier wrong clock wrote them.
 * If no service's clock is that close, our clock isn't trusted in these cases:
 * - it differs from a service's clock by an hour or more
 * - a record is an hour or more in the future
 * - no service reported its time, and our clock was set ahead or back by an hour or more
 * - no service reported its time, and the newest record from before this process started is at least 2 days old
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
