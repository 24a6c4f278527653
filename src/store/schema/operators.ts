import { each, int, internal, json, orNull, relation, serial, type TableOf, text, time } from './table.ts'

/** `pending`: the condition of the alarm is met, but not for long enough to alert. */
export type AlarmState = 'pending' | 'firing' | 'resolved'

export type AlarmSeverity = 'warning' | 'critical'

export type NoticeKind = 'firing' | 'repeated' | 'resolved'

/** `begun`: the action is in progress, or its process died during the action. */
export type ActionOutcome = 'begun' | 'done' | 'failed'

/** Columns that identify an alarm, in `alarms` and in `alarm_history`. */
const alarmKey = {
  name: text('the alarm, such as `webhook_silence`'),
  account: text('the account that it concerns; empty if none'),
  destination: text('the destination that it concerns; empty if none'),
}

const acknowledged = {
  acknowledged_by: orNull(
    text('who acknowledged it while it fired: the name of a token, or `command`; null: nobody. It stays active', { source: 'settings' }),
  ),
  acknowledged_at: orNull(time('when it was acknowledged')),
}

export const alarms = relation({
  name: 'alarms',
  type: 'table',
  holds: 'Alarms: one row for each that ever fired, by what it concerns. The runbook (`docker/`) describes each name and what to do.',
  key: ['name', 'account', 'destination'],
  columns: {
    ...alarmKey,
    state: text<AlarmState>('`pending`: true for too short a time to send an alert; `firing`; `resolved`'),
    severity: text<AlarmSeverity>('`warning`: look into it; `critical`: act'),
    since: time('since when its condition is true, or was the last time'),
    last_at: time('when its condition was last seen to be true'),
    resolved_at: orNull(time('when it was last resolved; null: never')),
    text: text('one sentence: what happened, and what to do', { class: 'free' }),
    notified_at: orNull(time('when a message about it was last delivered; null: never')),
    ...acknowledged,
  },
})

export type AlarmsTable = TableOf<typeof alarms>

export const alarmHistory = relation({
  name: 'alarm_history',
  type: 'table',
  holds: 'When each alarm fired and was resolved: one row for each time. Resolved ones are removed after `CHANGES_RETENTION_DAYS`.',
  key: ['episode_id'],
  columns: {
    episode_id: serial('in the order in which they fired'),
    ...alarmKey,
    severity: text<AlarmSeverity>('`warning` or `critical`'),
    since: time('since when its condition was true'),
    fired_at: time('when it fired, after its condition had been true for long enough'),
    resolved_at: orNull(time('when it was resolved; null while it fires')),
    text: text('what happened, and what to do, as last reported', { class: 'free' }),
    ...acknowledged,
  },
})

export const operatorActions = relation({
  name: 'operator_actions',
  type: 'table',
  holds: 'What operators did, by commands and admin routes: one row for each action that was not rejected, kept forever.',
  key: ['action_id'],
  columns: {
    action_id: serial('in the order in which the actions began'),
    at: time('when it began; a program that reads page after page has one row per hour'),
    who: text('the name of the token (`OPS_TOKENS`); `command`; `signal` (SIGHUP); `schedule` (`serve` itself, by BACKUP_CRON)', {
      source: 'settings',
    }),
    action: text(
      'such as `account.resume`, `backup`, `backup.try`, `destination.pause`, `inbox.replay`, `inbox.skip`, `mapping.import`, `outbox.skip`, ' +
        '`reconcile.request`, `reconcile.run`, `settings.reload`, `submission.track`',
    ),
    target: orNull(text('the name of an account or a destination; null for several targets', { source: 'operator' })),
    detail: orNull(
      json('ids (the first 20 and the number), filters, reasons, and the number of changed rows. No secrets; of a submission only its id', {
        source: 'operator, program',
        class: 'free',
      }),
    ),
    outcome: text<ActionOutcome>('`done`, `failed`; `begun` while in progress, and forever if its process died'),
  },
  notes: [
    'An action of one transaction is recorded in that transaction; a longer one is recorded before it begins and again when it has ended.',
  ],
})

export const syncAlertMessages = internal({
  name: 'sync_alert_messages',
  holds: 'for each alert recipient and alarm: the last message, sent or to send, with its attempts',
  columns: {
    ...each(text(), 'operator', 'name', 'account', 'destination'),
    notice_id: text('the same on every attempt; new for every new message'),
    kind: text<NoticeKind>(),
    body: text('JSON text, as sent'),
    ...each(time(), 'queued_at', 'due_at'),
    ...each(orNull(text()), 'lease_token', 'error'),
    attempts: int(),
    outcome: orNull(text<'sent' | 'skipped'>()),
    settled_at: orNull(time()),
  },
})

export type OperatorNoticesTable = TableOf<typeof syncAlertMessages>

export const syncAlarmWatch = internal({
  name: 'sync_alarm_watch',
  holds: 'which process checks for alarms, and when they were last checked',
  columns: { id: int(), lease_token: text(), lease_until: time(), evaluated_at: orNull(time()) },
})

export const syncConsoleSessions = internal({
  name: 'sync_console_sessions',
  holds: 'sessions of the ops port, by hashes that cannot be used to sign in',
  columns: {
    ...each(text(), 'session_hash', 'who', 'token_proof'),
    token_tag: text('a part of a hash; the session ends when the token in the settings changes'),
    oidc: orNull(text('the user who signed in by OpenID Connect, as JSON text; null for a token')),
    ...each(time(), 'began_at', 'seen_at'),
  },
})
