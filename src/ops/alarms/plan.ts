import { randomUUID } from 'node:crypto'
import type { OperatorConfig } from '../../config/config.ts'
import { msFromTime, timeFromMs } from '../../model/time.ts'
import type { AlarmKey, AlarmPlan, AlarmRow, NewNotice, NoticeRow } from '../../store/operators/alarms.ts'
import type { NoticeKind } from '../../store/schema/operators.ts'
import { keyOf, type Problem, problemOf } from '../health/problem.ts'
import { alarmNames, isAlarm } from '../health/problems.ts'
import { messageOf } from './message.ts'
import { isUnsettled, transition } from './transition.ts'

export interface Evaluation {
  readonly problems: readonly Problem[]
  /** Names of the evaluated alarms. All other alarms keep their states. */
  readonly names: ReadonlySet<string>
}

/**
 * Computes the changes after one evaluation: alarm states (see `transition`), and notices for each recipient.
 * - Each recipient has at most one stored notice per alarm. A newer notice replaces the older notice, even if unsent.
 * - A firing alarm queues a notice, and the next notice `repeatMs` after the previous notice was sent or skipped.
 * - If an alarm stays resolved for `SETTLE_MS`, each recipient that was notified of the alarm gets a `resolved` notice.
 *   Recipients whose settings exclude `resolved` notices get none.
 * - A recipient that is added later also gets notices of alarms that already fire.
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
  for (const problem of [...evaluation.problems, ...vanished(evaluation, stored)]) {
    const key = keyOf(problem)
    const next = transition(rows.get(key) ?? null, problem, nowMs)
    if (next === 'forget') {
      forgotten.push(problem)
      rows.delete(key)
    } else if (next !== null) {
      changed.push(next)
      rows.set(key, next)
    }
  }
  // Delete alarms that only another release of the program knows. This release can't evaluate them.
  for (const row of stored.filter(({ name }) => !isAlarm(name))) {
    forgotten.push(row)
    rows.delete(keyOf(row))
  }
  const whole = alarmNames.every((name) => evaluation.names.has(name))
  return { at: timeFromMs(nowMs), whole, alarms: changed, forgotten, ...noticesOf(rows, notices, operators, nowMs) }
}

/**
 * @returns a problem of level `off` for each evaluated alarm that is stored but has no problem in this evaluation.
 * Such an alarm may be about an account or destination that was removed from the settings.
 */
function vanished({ problems, names }: Evaluation, stored: readonly AlarmRow[]): Problem[] {
  const seen = new Set(problems.map(keyOf))
  return stored.filter((row) => names.has(row.name) && !seen.has(keyOf(row))).map((row) => ({ ...problemOf(row), level: 'off' }))
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

/**
 * @param latest the recipient's latest notice about this alarm; null if there is none.
 * @returns the kind of notice to queue now; null for none.
 */
function kindOf(row: AlarmRow, latest: NoticeRow | null, operator: OperatorConfig, nowMs: number): NoticeKind | null {
  if (row.state === 'firing') {
    if (latest === null || latest.kind === 'resolved') return 'firing'
    if (latest.settled_at === null || nowMs - msFromTime(latest.settled_at) < operator.repeatMs) return null
    return 'repeated'
  }
  if (row.state !== 'resolved' || isUnsettled(row, nowMs)) return null
  return operator.resolved && latest !== null && latest.kind !== 'resolved' ? 'resolved' : null
}

function isOver(notice: NoticeRow, row: AlarmRow | undefined, operators: readonly OperatorConfig[], nowMs: number): boolean {
  const operator = operators.find(({ name }) => name === notice.operator)
  if (operator === undefined) return true
  if (row?.state === 'firing' || (row !== undefined && isUnsettled(row, nowMs))) return false
  if (notice.kind === 'resolved') return notice.settled_at !== null
  // If the recipient gets `resolved` notices, keep a `firing` or `repeated` notice until a `resolved` notice follows.
  return !operator.resolved || row === undefined
}
