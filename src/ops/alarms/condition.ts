import { msFromTime, timeFromMs } from '../../model/time.ts'
import type { AlarmKey, AlarmRow } from '../../store/operators/alarms.ts'
import type { Matter } from '../health/matters.ts'
import { type AlarmName, rules, SETTLE_MS } from '../health/rules.ts'
import { needOf } from '../health/verdict-text.ts'

/** The present state of one thing that an alarm watches. */
export interface Condition {
  readonly name: AlarmName
  /** '' for none; `destination` likewise. */
  readonly account: string
  readonly destination: string
  /** `between`: not bad enough to begin an alarm, not good enough to end one. */
  readonly level: 'on' | 'between' | 'off'
  /** For `on`: when it began, if that is known. Otherwise it begins with this evaluation. */
  readonly sinceMs?: number
  /** One sentence: what happened, to what, what to do. */
  readonly text: string
  /** What `text` is told of; the watch adds what mends it. */
  readonly matter?: Matter
  /** Of how many things it is so; 1 when left out. */
  readonly count?: number
}

/** Whether a condition is on; true and false are `on` and `off`. */
type On = Condition['level'] | boolean

function condition(name: AlarmName, about: Partial<Condition>, on: On, text: string, sinceMs?: number): Condition {
  const level = typeof on === 'string' ? on : on ? 'on' : 'off'
  return { name, account: '', destination: '', ...about, level, text, ...(sinceMs !== undefined && { sinceMs }) }
}

/** A condition of the installation. */
export function ofInstallation(name: AlarmName, on: On, text: string, sinceMs?: number): Condition {
  return condition(name, {}, on, text, sinceMs)
}

/** A condition of an account. */
export function ofAccount(account: string, name: AlarmName, on: On, text: string, sinceMs?: number): Condition {
  return condition(name, { account }, on, text, sinceMs)
}

/** A condition of a destination. */
export function ofDestination(destination: string, name: AlarmName, on: On, text: string, sinceMs?: number): Condition {
  return condition(name, { destination }, on, text, sinceMs)
}

/** A condition that is on while there is a matter. @param level of the matter, where it may be too early for an alarm. */
export function ofMatter(
  name: AlarmName,
  about: { readonly account?: string; readonly destination?: string },
  [matter]: readonly Matter[],
  level: Condition['level'] = 'on',
): Condition {
  const key = { name, account: about.account ?? '', destination: about.destination ?? '' }
  if (matter === undefined) return { ...key, level: level === 'on' ? 'off' : level, text: '' }
  return { ...key, level, text: needOf(matter).what, matter, ...(matter.since !== null && { sinceMs: msFromTime(matter.since) }) }
}

/** @returns `on` for at least `high`, `off` for at most `low`, else `between`. */
export function levelOf(value: number, low: number, high: number): Condition['level'] {
  if (value >= high) return 'on'
  return value <= low ? 'off' : 'between'
}

/** @returns an alarm's key as one text. */
export function keyOf({ name, account, destination }: AlarmKey): string {
  return `${name} ${account} ${destination}`
}

/** The new row of an alarm; `forget` deletes it, null leaves it unchanged. */
export type Transition = AlarmRow | 'forget' | null

/**
 * The state machine of an alarm, for one evaluation.
 * - none or `resolved` → `pending` when the condition is on; → `firing` when it has been on for the rule's `forMs`.
 * - `pending` → forgotten when the condition is no longer on. It begins again after a gap between evaluations longer than `SETTLE_MS`.
 * - `firing` → `resolved` when the condition is off. `between` keeps it firing.
 * - `resolved` → `firing` again, with its old beginning, when the condition returns within `SETTLE_MS`.
 */
export function transition(row: AlarmRow | null, condition: Condition, nowMs: number): Transition {
  const { name, account, destination, text } = condition
  const now = timeFromMs(nowMs)
  const { severity, forMs } = rules[name]
  const firing = row?.state === 'firing'
  const on = condition.level === 'on' || (condition.level === 'between' && firing)
  if (!on) {
    if (row === null || row.state === 'resolved') return null
    return row.state === 'pending' ? 'forget' : { ...row, state: 'resolved', resolved_at: now }
  }
  const continues = firing || (row !== null && isUnsettled(row, nowMs))
  const begun = continues || (row?.state === 'pending' && nowMs - msFromTime(row.last_at) <= SETTLE_MS)
  const since = begun && row ? row.since : timeFromMs(Math.min(nowMs, condition.sinceMs ?? nowMs))
  const state = continues || nowMs - msFromTime(since) >= forMs ? 'firing' : 'pending'
  return {
    name,
    account,
    destination,
    severity,
    state,
    since,
    last_at: now,
    text,
    // `between` keeps the text of the last `on`.
    ...(condition.level === 'between' && row !== null && { text: row.text }),
    resolved_at: row?.resolved_at ?? null,
    notified_at: row?.notified_at ?? null,
  }
}

/** Whether an alarm resolved so recently that it may still return. */
export function isUnsettled({ state, resolved_at }: Pick<AlarmRow, 'state' | 'resolved_at'>, nowMs: number): boolean {
  return state === 'resolved' && resolved_at !== null && nowMs - msFromTime(resolved_at) < SETTLE_MS
}
