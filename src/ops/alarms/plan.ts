import { randomUUID } from 'node:crypto'
import type { OperatorConfig } from '../../config/config.ts'
import { msFromTime, timeFromMs } from '../../model/time.ts'
import type { AlarmKey, AlarmPlan, AlarmRow, NewNotice, NoticeRow } from '../../store/operators/alarms.ts'
import type { NoticeKind } from '../../store/schema/tables-alarms.ts'
import { type Condition, keyOf, transition } from './condition.ts'
import { messageOf } from './message.ts'
import { alarmNames } from './rules.ts'

/** What a look found: the conditions, and which alarms it looked after. */
export interface Evaluation {
  readonly conditions: readonly Condition[]
  /** Alarms of other names are left as they are: what they are about could not be looked at. */
  readonly names: ReadonlySet<string>
}

/**
 * What one look changes: alarms by `step`, and for each operator what is to be told of them.
 *
 * An operator has at most one notice of each alarm: a newer one takes the place of one that was not sent. A firing alarm is told once,
 * and again when `repeatMs` have passed since it was told (or given up), unless it is off at the moment; its end is told when its
 * beginning was, or was to be. So an operator who is added later hears of what is firing, and nothing that happens between two looks is
 * forgotten.
 */
export function planOf(
  look: Evaluation,
  stored: readonly AlarmRow[],
  notices: readonly NoticeRow[],
  operators: readonly OperatorConfig[],
  nowMs: number,
): AlarmPlan {
  const rows = new Map(stored.map((row) => [keyOf(row), row]))
  const changed: AlarmRow[] = []
  const forgotten: AlarmKey[] = []
  const off = new Set<string>()
  for (const condition of [...look.conditions, ...vanished(look, stored)]) {
    const key = keyOf(condition)
    const next = transition(rows.get(key) ?? null, condition, nowMs)
    if (next === null) off.add(key)
    else if (next === 'forget') {
      forgotten.push(condition)
      rows.delete(key)
    } else {
      changed.push(next)
      rows.set(key, next)
    }
  }
  // An alarm of another release, or of one to come, is nobody's any more.
  for (const row of stored.filter(({ name }) => !(alarmNames as readonly string[]).includes(name))) {
    forgotten.push(row)
    rows.delete(keyOf(row))
  }
  const whole = alarmNames.every((name) => look.names.has(name))
  return { whole, alarms: changed, forgotten, ...noticesOf(rows, off, notices, operators, nowMs) }
}

/** Alarms about what is not there any more, an account that was taken out of the settings, say: they are over. */
function vanished({ conditions, names }: Evaluation, stored: readonly AlarmRow[]): Condition[] {
  const seen = new Set(conditions.map(keyOf))
  return stored
    .filter((row) => names.has(row.name) && !seen.has(keyOf(row)))
    .map(({ name, account, destination, text }) => ({ name: name as Condition['name'], account, destination, level: 'off', text }))
}

/** @param off what is not so at the moment, though it may not be over yet: it is not told again. */
function noticesOf(
  rows: ReadonlyMap<string, AlarmRow>,
  off: ReadonlySet<string>,
  notices: readonly NoticeRow[],
  operators: readonly OperatorConfig[],
  nowMs: number,
): Pick<AlarmPlan, 'notices' | 'forgottenNotices'> {
  const queued: NewNotice[] = []
  const told = new Map(notices.map((notice) => [`${notice.operator} ${keyOf(notice)}`, notice]))
  const forgotten = notices.filter((notice) => isOver(notice, rows.get(keyOf(notice)), operators))
  for (const operator of operators) {
    for (const [alarm, row] of rows) {
      const kind = kindOf(row, told.get(`${operator.name} ${alarm}`) ?? null, operator, nowMs)
      if (kind === null || (kind === 'repeated' && off.has(alarm))) continue
      const { name, account, destination } = row
      const now = timeFromMs(nowMs)
      const body = JSON.stringify(messageOf(row, kind, now))
      const key = { operator: operator.name, name, account, destination }
      queued.push({ ...key, notice_id: randomUUID(), kind, body, queued_at: now, sent: false })
    }
  }
  return { notices: queued, forgottenNotices: forgotten }
}

/** @returns what is to be told now; null for nothing. */
function kindOf(row: AlarmRow, told: NoticeRow | null, operator: OperatorConfig, nowMs: number): NoticeKind | null {
  if (row.state === 'firing') {
    if (told === null || told.kind === 'resolved') return 'firing'
    if (told.settled_at === null || nowMs - msFromTime(told.settled_at) < operator.repeatMs) return null
    return 'repeated'
  }
  return row.state === 'resolved' && operator.resolved && told !== null && told.kind !== 'resolved' ? 'resolved' : null
}

/** Whether nothing follows from a notice any more. */
function isOver(notice: NoticeRow, row: AlarmRow | undefined, operators: readonly OperatorConfig[]): boolean {
  const operator = operators.find(({ name }) => name === notice.operator)
  if (operator === undefined) return true
  if (row?.state === 'firing') return false
  if (notice.kind === 'resolved') return notice.settled_at !== null
  // Its beginning was told or was to be told, and its end is not wanted, or cannot be told any more.
  return !operator.resolved || row === undefined
}
