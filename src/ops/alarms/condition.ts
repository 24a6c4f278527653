import { msFromTime, timeFromMs } from '../../model/time.ts'
import type { AlarmKey, AlarmRow } from '../../store/operators/alarms.ts'
import { type AlarmName, CLEAR_AFTER_MS, rules } from './rules.ts'

/** How something that an alarm is about stands now. */
export interface Condition {
  readonly name: AlarmName
  /** '' when it is about none; the same with `destination`. */
  readonly account: string
  readonly destination: string
  /** `between`: not bad enough to begin an alarm, not good enough to end one. */
  readonly level: 'on' | 'between' | 'off'
  /** When it is on: since when it has been so, where that is known better than by looking. */
  readonly sinceMs?: number
  /** One sentence: what happened, and what to do. */
  readonly text: string
}

/** An alarm's condition that is about nothing but the installation itself. */
export function ofInstallation(name: AlarmName, level: Condition['level'], text: string): Condition {
  return { name, account: '', destination: '', level, text }
}

/** The same about an account. */
export function ofAccount(account: string, name: AlarmName, level: Condition['level'], text: string, sinceMs?: number): Condition {
  return { name, account, destination: '', level, text, ...(sinceMs !== undefined && { sinceMs }) }
}

/** The same about a destination. */
export function ofDestination(destination: string, name: AlarmName, level: Condition['level'], text: string, sinceMs?: number): Condition {
  return { name, account: '', destination, level, text, ...(sinceMs !== undefined && { sinceMs }) }
}

/** @returns `on` from `high` on, `off` up to `low`, `between` in between. */
export function levelOf(value: number, low: number, high: number): Condition['level'] {
  if (value >= high) return 'on'
  return value <= low ? 'off' : 'between'
}

/** @returns the key of an alarm as one text. */
export function keyOf({ name, account, destination }: AlarmKey): string {
  return `${name} ${account} ${destination}`
}

/** What becomes of an alarm's row: it is written anew, or dropped; null leaves it alone. */
export type Transition = AlarmRow | 'forget' | null

/**
 * What an alarm becomes by one look.
 * - nothing, or `resolved` → `pending` as soon as it is on; `firing` when it has been so for the rule's `forMs`.
 * - `pending` is forgotten when it is not on any more, and begins anew when nobody has looked for longer than `CLEAR_AFTER_MS`.
 * - `firing` → `resolved` when it has been off for `CLEAR_AFTER_MS`. What lies between on and off keeps a firing one up.
 */
export function transition(row: AlarmRow | null, condition: Condition, nowMs: number): Transition {
  const { name, account, destination, text } = condition
  const now = timeFromMs(nowMs)
  const { severity, forMs } = rules[name]
  const firing = row?.state === 'firing'
  const on = condition.level === 'on' || (condition.level === 'between' && firing)
  if (!on) {
    if (row === null || row.state === 'resolved') return null
    if (row.state === 'pending') return 'forget'
    return nowMs - msFromTime(row.last_at) < CLEAR_AFTER_MS ? null : { ...row, state: 'resolved', resolved_at: now }
  }
  const begun = firing || (row?.state === 'pending' && nowMs - msFromTime(row.last_at) <= CLEAR_AFTER_MS)
  const since = begun && row ? row.since : timeFromMs(Math.min(nowMs, condition.sinceMs ?? nowMs))
  const state = firing || nowMs - msFromTime(since) >= forMs ? 'firing' : 'pending'
  return {
    ...{ name, account, destination, severity, state, since, last_at: now, text },
    // Between on and off the last clear word stands.
    ...(condition.level === 'between' && row !== null && { text: row.text }),
    resolved_at: row?.resolved_at ?? null,
    notified_at: row?.notified_at ?? null,
  }
}
