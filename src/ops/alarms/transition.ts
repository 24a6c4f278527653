import { earlierTime, msFromTime, timeFromMs } from '../../model/time.ts'
import type { AlarmRow } from '../../store/operators/alarms.ts'
import type { Problem } from '../health/problem.ts'
import { type AlarmName, alarms, SETTLE_MS } from '../health/problems.ts'

/** New row of an alarm. `forget` deletes the row; null keeps it. */
export type Transition = AlarmRow | 'forget' | null

/**
 * The state machine of an alarm, for one evaluation.
 * - none or `resolved` → `pending` if the condition is on; → `firing` if it has been on for the rule's `forMs`.
 * - `pending` → forgotten if the condition is off. It restarts after a gap between evaluations longer than `SETTLE_MS`.
 * - `firing` → `resolved` if the condition is off. `between` keeps it firing.
 * - `resolved` → `firing` again, with its old start, if the condition returns within `SETTLE_MS`.
 */
export function transition(row: AlarmRow | null, problem: Problem, nowMs: number): Transition {
  const { name, account, destination, text, level } = problem
  const now = timeFromMs(nowMs)
  const { severity, forMs } = alarms[name as AlarmName]
  const firing = row?.state === 'firing'
  const on = level === 'on' || (level === 'between' && firing)
  if (!on) {
    if (row === null || row.state === 'resolved') return null
    return row.state === 'pending' ? 'forget' : { ...row, state: 'resolved', resolved_at: now }
  }
  const continues = firing || (row !== null && isUnsettled(row, nowMs))
  const begun = continues || (row?.state === 'pending' && nowMs - msFromTime(row.last_at) <= SETTLE_MS)
  const since = begun && row ? row.since : (earlierTime(problem.since, now) ?? now)
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
    ...(level === 'between' && row !== null && { text: row.text }),
    resolved_at: row?.resolved_at ?? null,
    notified_at: row?.notified_at ?? null,
  }
}

/** Whether the alarm resolved less than `SETTLE_MS` ago. */
export function isUnsettled({ state, resolved_at }: Pick<AlarmRow, 'state' | 'resolved_at'>, nowMs: number): boolean {
  return state === 'resolved' && resolved_at !== null && nowMs - msFromTime(resolved_at) < SETTLE_MS
}
