import { msFromTime, type TimeText } from '../../model/time.ts'
import type { AlarmRow } from '../../store/operators/alarms.ts'
import type { AlarmSeverity, NoticeKind } from '../../store/schema/operators.ts'
import { alarms, isAlarm, runbookOf } from '../health/problems.ts'
import { ago, printableLine } from '../output/text.ts'

/**
 * JSON message to an alert recipient. An e-mail has the same content.
 * Never rename the keys, because receivers depend on the names.
 */
export interface AlarmMessage {
  readonly type: `alarm.${NoticeKind | 'test'}`
  /** Creation time of the message. Retries keep this time. */
  readonly timestamp: TimeText
  readonly data: {
    readonly name: string
    readonly severity: AlarmSeverity
    readonly account: string | null
    readonly destination: string | null
    readonly state: 'firing' | 'resolved'
    readonly since: TimeText
    readonly last_at: TimeText
    readonly resolved_at: TimeText | null
    /** One sentence: what happened, and what to do. */
    readonly text: string
    /** Relative link to the runbook section; null in a test message. */
    readonly runbook: string | null
  }
}

/** Maximum characters of `text`. A long name from the service must not cut off the advice at the end of the text. */
const LONGEST_TEXT = 2_000

export function messageOf(row: AlarmRow, kind: NoticeKind, now: TimeText): AlarmMessage {
  const { name, severity, since, last_at, resolved_at, text } = row
  const state = kind === 'resolved' ? 'resolved' : 'firing'
  return {
    type: `alarm.${kind}`,
    timestamp: now,
    data: {
      name,
      severity,
      account: row.account || null,
      destination: row.destination || null,
      state,
      since,
      last_at,
      resolved_at: state === 'resolved' ? resolved_at : null,
      text: printableLine(text, LONGEST_TEXT),
      runbook: isAlarm(name) ? runbookOf(name) : null,
    },
  }
}

export function testMessage(now: TimeText): AlarmMessage {
  const text = 'this is a test message from submission-mirror: alarms reach you, and nothing is wrong'
  const about = { name: 'test', account: '', destination: '', state: 'firing', severity: 'warning', text } as const
  const row: AlarmRow = { ...about, since: now, last_at: now, resolved_at: null, notified_at: null }
  return { ...messageOf(row, 'firing', now), type: 'alarm.test' }
}

export interface MailText {
  readonly subject: string
  readonly text: string
}

/** Formats a message as an e-mail. */
export function mailOf({ type, data }: AlarmMessage): MailText {
  const { name, severity, account, destination, since, resolved_at: resolvedAt } = data
  const about = account !== null ? ` (account ${account})` : destination !== null ? ` (destination ${destination})` : ''
  const what = { 'alarm.firing': severity, 'alarm.repeated': `still ${severity}`, 'alarm.resolved': 'resolved', 'alarm.test': 'test' }[type]
  const lasted =
    resolvedAt === null ? '' : `Resolved at ${utc(resolvedAt)}, after ${ago(since, msFromTime(resolvedAt))}. The alarm was:\n\n`
  const lines = [
    `${lasted}${sentence(data.text)}`,
    '',
    `Alarm: ${name}${about}, ${severity}`,
    `Since: ${utc(since)}`,
    ...(data.runbook === null ? [] : [`What to do: ${data.runbook}`]),
    '',
  ]
  const title = type === 'alarm.test' ? 'alarms reach you' : isAlarm(name) ? alarms[name].title : name
  return { subject: `[submission-mirror] ${what}: ${title}${about}`, text: lines.join('\n') }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

function utc(time: TimeText): string {
  return `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`
}
