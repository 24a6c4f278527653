import { earlierTime, msFromTime, timeFromMs } from '../../model/time.ts'
import type { AlarmRow } from '../../store/operators/alarms.ts'
import type { Problem } from '../health/problem.ts'
import { type AlarmName, alarms, SETTLE_MS } from '../health/problems.ts'

/** What to do with the stored row of an alarm: replace the row, delete it (`forget`), or don't change it (null). */
export type Transition = AlarmRow | 'forget' | null

/**
 * Computes the next state of an alarm from one evaluation of its condition.
 * - No row, or `resolved` for `SETTLE_MS` or longer: if the condition is on, the alarm becomes `pending`.
 * - `pending`: if the condition is off, the row is deleted. If the condition has been on for the alarm's `forMs`, the
 *   alarm becomes `firing`. If the last evaluation is more than `SETTLE_MS` old, `forMs` starts again.
 * - `firing`: if the condition is off, the alarm becomes `resolved`.
 * - `resolved` for less than `SETTLE_MS`: if the condition is on, the alarm becomes `firing` again with its old start.
 *
 * Level `between` counts as on for a firing alarm, and as off for any other alarm.
 * If the condition began at least `forMs` ago, the alarm becomes `firing` without being `pending` first.
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
    // Level `between` keeps the text of the last evaluation with level `on`.
    ...(level === 'between' && row !== null && { text: row.text }),
    resolved_at: row?.resolved_at ?? null,
    notified_at: row?.notified_at ?? null,
  }
}

/** @returns true if the alarm resolved less than `SETTLE_MS` ago. */
export function isUnsettled({ state, resolved_at }: Pick<AlarmRow, 'state' | 'resolved_at'>, nowMs: number): boolean {
  return state === 'resolved' && resolved_at !== null && nowMs - msFromTime(resolved_at) < SETTLE_MS
}
