/** A difference between clocks from which on operators are told. */
export const APART_MS = 60_000
/** A difference from which on nothing is removed or dropped by the clock. */
export const WRONG_MS = 3_600_000
/** Without the time of the service, a clock this far ahead of everything recorded before is not believed. */
const LONG_GAP_MS = 2 * 86_400_000

/** What is known of the time, in milliseconds since the epoch. */
export interface ClockSightings {
  /** The clock of this process. */
  readonly nowMs: number
  /** The clock of the database server; null on SQLite, which has ours. */
  readonly databaseMs: number | null
  /** By account, how far the clock of its service is ahead of ours. Accounts without an answer of the last hour are left out. */
  readonly services: readonly { readonly account: string; readonly aheadMs: number }[]
  /** The newest of what was recorded: each is in the past unless a clock was wrong. */
  readonly recorded: readonly { readonly what: string; readonly atMs: number }[]
  /** The newest of these when the process began; null when there was nothing. */
  readonly recordedBeforeMs: number | null
  /** How far the wall clock of this process has moved against its steady clock since it was last known to be right. */
  readonly steppedMs: number
}

/** A clock, or a time recorded by one, that does not agree with ours. */
export interface ClockDifference {
  readonly clock: string
  /** How far our clock is ahead of it; negative when it is behind. */
  readonly aheadMs: number
}

export interface ClockJudgement {
  /** All differences of a minute or more. */
  readonly apart: readonly ClockDifference[]
  /** Whether something may be removed or dropped because of its age. */
  readonly isTrusted: boolean
  /** Whether the clock of a service agrees with ours, to within an hour. */
  readonly isConfirmed: boolean
  /** Why it is not trusted: a phrase; null when it is. */
  readonly doubt: string | null
}

/**
 * Compares the clocks. A clock of a service that agrees with ours confirms it: then a record from the future was written by a clock that is
 * right by now. Without one, our clock is not trusted when something was recorded in its future, when it has stepped, or when it is days ahead
 * of all that was recorded before the process began.
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
    return `the clock of this machine was set ${steppedMs > 0 ? 'ahead' : 'back'} by ${durationText(steppedMs)}, and the service has not told its time since`
  }
  if (recordedBeforeMs !== null && nowMs - recordedBeforeMs >= LONG_GAP_MS) {
    return `the newest that was recorded before the start is ${durationText(nowMs - recordedBeforeMs)} old, and the service has not told its time yet`
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
