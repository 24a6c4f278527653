import { int, internal, json, orNull, relation, serial, type TableOf, text, time } from './table.ts'

/** Alarms, what operators are told, what they did, and who is signed in. */

/** `pending`: true for too short a time to notify anybody. */
export type AlarmState = 'pending' | 'firing' | 'resolved'

export type AlarmSeverity = 'warning' | 'critical'

export type NoticeKind = 'firing' | 'repeated' | 'resolved'

/** `begun`: in progress, or its process died before it ended. */
export type ActionOutcome = 'begun' | 'done' | 'failed'

/** What an alarm is about: the same in both tables. */
const alarmKey = {
  name: text('which alarm it is, such as `webhook_silence`'),
  account: text('the account that it is about; empty when it is about none'),
  destination: text('the destination that it is about; empty when it is about none'),
}

const acknowledged = {
  acknowledged_by: orNull(
    text('the name of the token of whoever took note of it while it fired, or `command`; null for nobody. It goes on to fire', {
      source: 'settings',
    }),
  ),
  acknowledged_at: orNull(time('when that was')),
}

export const alarms = relation({
  name: 'alarms',
  type: 'table',
  holds:
    'What operators should know of: one row for each alarm that ever fired, by what it is about. The runbook (`docker/`) ' +
    'tells each name and what to do.',
  key: ['name', 'account', 'destination'],
  columns: {
    ...alarmKey,
    state: text<AlarmState>('`pending`: so for too short a time to tell anybody; `firing`; `resolved`: it is over'),
    severity: text<AlarmSeverity>('`warning`: look into it; `critical`: act'),
    since: time('since when it is so, or was this last time'),
    last_at: time('when it was seen to be so last'),
    resolved_at: orNull(time('when it was over last; null when it never was')),
    text: text('one sentence: what happened, and what to do', { class: 'free' }),
    notified_at: orNull(time('when an operator took a message about it last; null when none did')),
    ...acknowledged,
  },
})

export type AlarmsTable = TableOf<typeof alarms>

export const alarmHistory = relation({
  name: 'alarm_history',
  type: 'table',
  holds: 'When each alarm fired and ended: one row for each time. What is over is removed after `CHANGES_RETENTION_DAYS`.',
  key: ['episode_id'],
  columns: {
    episode_id: serial('in the order in which they fired'),
    ...alarmKey,
    severity: text<AlarmSeverity>('`warning` or `critical`'),
    since: time('since when it was so'),
    fired_at: time('when it had been so for long enough to tell somebody'),
    resolved_at: orNull(time('when it was over; null while it fires')),
    text: text('what happened, and what to do, as it was told last', { class: 'free' }),
    ...acknowledged,
  },
})

export type AlarmHistoryTable = TableOf<typeof alarmHistory>

export const operatorActions = relation({
  name: 'operator_actions',
  type: 'table',
  holds: 'What operators did, by commands and by the admin routes: one row for each action that was not refused, kept for ever.',
  key: ['action_id'],
  columns: {
    action_id: serial('in the order in which the actions began'),
    at: time('when it began; a program that is shown page after page has one row for an hour'),
    who: text(
      'the name of the token (`OPS_TOKENS`); `command`: whoever could run commands; `signal`: whoever could send SIGHUP; `schedule`: `serve` itself, by BACKUP_CRON',
      {
        source: 'settings',
      },
    ),
    action: text(
      'such as `account.resume`, `backup`, `backup.try`, `destination.pause`, `inbox.replay`, `inbox.skip`, `mapping.import`, `outbox.skip`, ' +
        '`reconcile.request`, `reconcile.run`, `settings.reload`, `submission.track`',
    ),
    target: orNull(
      text('what it was done to: the name of an account or a destination; null when it was several things', { source: 'operator' }),
    ),
    detail: orNull(
      json(
        'ids (the first 20 and how many), filters, reasons, and how many rows it changed. Never a secret, and nothing of a ' +
          'submission but its id',
        { source: 'operator, program', class: 'free' },
      ),
    ),
    outcome: text<ActionOutcome>('`done`, `failed`; `begun` while it is under way, and for ever when its process died meanwhile'),
  },
  notes: [
    'The row of an action of one transaction is written in that very transaction; a longer one is noted before it begins ' +
      'and again when it has ended.',
  ],
})

export const syncOperatorNotices = internal({
  name: 'sync_operator_notices',
  holds: 'for each operator and alarm: what was told last, or is to be told, with its tries',
  columns: {
    operator: text(),
    name: text(),
    account: text(),
    destination: text(),
    notice_id: text('the same on every attempt; new for every new message'),
    kind: text<NoticeKind>(),
    body: text('JSON text, as sent'),
    queued_at: time(),
    due_at: time(),
    lease_token: orNull(text()),
    attempts: int(),
    error: orNull(text()),
    outcome: orNull(text<'sent' | 'given_up'>()),
    settled_at: orNull(time()),
  },
})

export type OperatorNoticesTable = TableOf<typeof syncOperatorNotices>

export const syncAlarmWatch = internal({
  name: 'sync_alarm_watch',
  holds: 'which process looks for alarms, and when one did last',
  columns: {
    id: int(),
    lease_token: text(),
    lease_until: time(),
    evaluated_at: orNull(time()),
  },
})

export const syncConsoleSessions = internal({
  name: 'sync_console_sessions',
  holds: 'who is signed in to the ops port, by hashes from which nobody can sign in',
  columns: {
    session_hash: text(),
    who: text(),
    token_proof: text(),
    token_tag: text('a part of a hash, by which a change of the token in the settings ends the session'),
    oidc: orNull(text('who signed in by OpenID Connect, as JSON text; null for a token')),
    began_at: time(),
    seen_at: time(),
  },
})
