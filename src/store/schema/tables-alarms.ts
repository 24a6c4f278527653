import type { Generated } from 'kysely'
import type { TimeText } from '../../model/time.ts'

/** Alarms, their history, and what operators are told, for kysely. */
export interface AlarmTables {
  alarms: AlarmsTable
  alarm_history: AlarmHistoryTable
  sync_operator_notices: OperatorNoticesTable
  sync_alarm_watch: AlarmWatchTable
}

/** `pending`: true for too short a time to notify anybody. */
export type AlarmState = 'pending' | 'firing' | 'resolved'

export type AlarmSeverity = 'warning' | 'critical'

export interface AlarmsTable {
  name: string
  /** '' when it is about no account; the same with `destination`. */
  account: string
  destination: string
  state: AlarmState
  severity: AlarmSeverity
  since: TimeText
  last_at: TimeText
  resolved_at: TimeText | null
  text: string
  notified_at: TimeText | null
  /** Who took note of it while it fired, this time; null for nobody. */
  acknowledged_by: string | null
  acknowledged_at: TimeText | null
}

/** One time that an alarm fired. */
export interface AlarmHistoryTable {
  /** In the order in which they fired. */
  episode_id: Generated<number>
  name: string
  account: string
  destination: string
  severity: AlarmSeverity
  since: TimeText
  fired_at: TimeText
  /** null while it fires. */
  resolved_at: TimeText | null
  text: string
  acknowledged_by: string | null
  acknowledged_at: TimeText | null
}

export type NoticeKind = 'firing' | 'repeated' | 'resolved'

export interface OperatorNoticesTable {
  operator: string
  name: string
  account: string
  destination: string
  /** The same on every attempt; new for every new message. */
  notice_id: string
  kind: NoticeKind
  /** JSON text, as sent. */
  body: string
  queued_at: TimeText
  due_at: TimeText
  lease_token: string | null
  attempts: number
  error: string | null
  outcome: 'sent' | 'given_up' | null
  settled_at: TimeText | null
}

/** One row: which process evaluates alarms. */
export interface AlarmWatchTable {
  id: number
  lease_token: string
  lease_until: TimeText
  evaluated_at: TimeText | null
}
