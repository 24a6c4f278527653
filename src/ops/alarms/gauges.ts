import { msFromTime } from '../../model/time.ts'
import type { Query } from '../../store/engine/db.ts'
import { type AlarmKey, evaluatedAt, listAlarms } from '../../store/operators/alarms.ts'
import { countUnsent } from '../../store/operators/notices.ts'
import type { AlarmSeverity } from '../../store/schema/operators.ts'
import { alarmNames, alarms } from '../health/problems.ts'

export const alarmGauges = {
  alarm: ['1 while the alarm fires, else 0; every name has a value.', ['name', 'severity', 'account', 'destination']],
  alarms_age_seconds: ['Time since all alarms were last evaluated, by any process.', []],
  alert_messages_waiting: ['Queued messages to alert recipients.', ['operator']],
} as const satisfies Record<string, readonly [help: string, labels: readonly string[]]>

type Value = readonly [name: keyof typeof alarmGauges, labels: Record<string, string>, value: number]

export async function alarmValues(q: Query): Promise<Value[]> {
  const rows = await listAlarms(q)
  const values: Value[] = rows.map((row) => ['alarm', labelsOf(row, row.severity), row.state === 'firing' ? 1 : 0])
  const named = new Set(rows.map(({ name }) => name))
  for (const name of alarmNames) {
    if (!named.has(name)) values.push(['alarm', labelsOf({ name, account: '', destination: '' }, alarms[name].severity), 0])
  }
  const at = await evaluatedAt(q)
  if (at !== null) values.push(['alarms_age_seconds', {}, Math.max(0, (q.clock.now() - msFromTime(at)) / 1000)])
  for (const [operator, waiting] of await countUnsent(q)) values.push(['alert_messages_waiting', { operator }, waiting])
  return values
}

/** Value of `store_unavailable` while the database is down. No other alarm can be evaluated then. */
export const storeUnavailableValue: Value = [
  'alarm',
  labelsOf({ name: 'store_unavailable', account: '', destination: '' }, alarms.store_unavailable.severity),
  1,
]

function labelsOf({ name, account, destination }: AlarmKey, severity: AlarmSeverity): Record<string, string> {
  return { name, severity, account, destination }
}
