import { randomUUID } from 'node:crypto'
import type { OperatorConfig } from '../../config/config.ts'
import { msFromTime, timeFromMs } from '../../model/time.ts'
import type { AlarmKey, AlarmPlan, AlarmRow, NewNotice, NoticeRow } from '../../store/operators/alarms.ts'
import type { NoticeKind } from '../../store/schema/operators.ts'
import { alarmNames, isAlarm } from '../health/rules.ts'
import { type Condition, isUnsettled, keyOf, transition } from './condition.ts'
import { messageOf } from './message.ts'

/** The outcome of one evaluation. */
export interface Evaluation {
  readonly conditions: readonly Condition[]
  /** The alarms that could be evaluated; all others stay as they are. */
  readonly names: ReadonlySet<string>
}

/**
 * What one evaluation changes: alarms by `transition`, and for each operator the notices about them.
 *
 * An operator has at most one notice per alarm: a newer one replaces one that was not sent. A firing alarm is told once, and again
 * `repeatMs` after that notice was sent or given up. Its end is told when its beginning was, or was to be, and the alarm hasn't returned
 * within `SETTLE_MS`. So an operator who is added later hears of what fires, and nothing that happens between two evaluations is lost.
 */
export function planOf(
  evaluation: Evaluation,
  stored: readonly AlarmRow[],
  notices: readonly NoticeRow[],
  operators: readonly OperatorConfig[],
  nowMs: number,
): AlarmPlan {
  const rows = new Map(stored.map((row) => [keyOf(row), row]))
  const changed: AlarmRow[] = []
  const forgotten: AlarmKey[] = []
  for (const condition of [...evaluation.conditions, ...vanished(evaluation, stored)]) {
    const key = keyOf(condition)
    const next = transition(rows.get(key) ?? null, condition, nowMs)
    if (next === 'forget') {
      forgotten.push(condition)
      rows.delete(key)
    } else if (next !== null) {
      changed.push(next)
      rows.set(key, next)
    }
  }
  // Alarms of an older or newer release: nothing evaluates them here.
  for (const row of stored.filter(({ name }) => !isAlarm(name))) {
    forgotten.push(row)
    rows.delete(keyOf(row))
  }
  const whole = alarmNames.every((name) => evaluation.names.has(name))
  return { at: timeFromMs(nowMs), whole, alarms: changed, forgotten, ...noticesOf(rows, notices, operators, nowMs) }
}

/** Alarms about something that no longer exists, such as an account removed from the settings: they are off. */
function vanished({ conditions, names }: Evaluation, stored: readonly AlarmRow[]): Condition[] {
  const seen = new Set(conditions.map(keyOf))
  return stored
    .filter((row) => names.has(row.name) && !seen.has(keyOf(row)))
    .map(({ name, account, destination, text }) => ({ name: name as Condition['name'], account, destination, level: 'off', text }))
}

function noticesOf(
  rows: ReadonlyMap<string, AlarmRow>,
  notices: readonly NoticeRow[],
  operators: readonly OperatorConfig[],
  nowMs: number,
): Pick<AlarmPlan, 'notices' | 'forgottenNotices'> {
  const queued: NewNotice[] = []
  const latest = new Map(notices.map((notice) => [`${notice.operator} ${keyOf(notice)}`, notice]))
  const forgotten = notices.filter((notice) => isOver(notice, rows.get(keyOf(notice)), operators, nowMs))
  for (const operator of operators) {
    for (const [alarm, row] of rows) {
      const kind = kindOf(row, latest.get(`${operator.name} ${alarm}`) ?? null, operator, nowMs)
      if (kind === null) continue
      const { name, account, destination } = row
      const now = timeFromMs(nowMs)
      const body = JSON.stringify(messageOf(row, kind, now))
      const key = { operator: operator.name, name, account, destination }
      queued.push({ ...key, notice_id: randomUUID(), kind, body, queued_at: now, sent: false })
    }
  }
  return { notices: queued, forgottenNotices: forgotten }
}

/** @param latest the operator's latest notice about this alarm. @returns the notice to send now; null for none. */
function kindOf(row: AlarmRow, latest: NoticeRow | null, operator: OperatorConfig, nowMs: number): NoticeKind | null {
  if (row.state === 'firing') {
    if (latest === null || latest.kind === 'resolved') return 'firing'
    if (latest.settled_at === null || nowMs - msFromTime(latest.settled_at) < operator.repeatMs) return null
    return 'repeated'
  }
  if (row.state !== 'resolved' || isUnsettled(row, nowMs)) return null
  return operator.resolved && latest !== null && latest.kind !== 'resolved' ? 'resolved' : null
}

/** Whether a notice is no longer needed. */
function isOver(notice: NoticeRow, row: AlarmRow | undefined, operators: readonly OperatorConfig[], nowMs: number): boolean {
  const operator = operators.find(({ name }) => name === notice.operator)
  if (operator === undefined) return true
  if (row?.state === 'firing' || (row !== undefined && isUnsettled(row, nowMs))) return false
  if (notice.kind === 'resolved') return notice.settled_at !== null
  // The notice of the beginning is needed only until the end is told.
  return !operator.resolved || row === undefined
}
