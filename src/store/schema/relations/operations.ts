import type { DescribedColumn } from '../../../model/entity.ts'
import type { Relation } from './relation.ts'

export const operatorActions: Relation = {
  name: 'operator_actions',
  type: 'table',
  holds: 'What operators did, by commands and by the admin routes: one row for each action that was not refused, kept for ever.',
  key: ['action_id'],
  columns: {
    action_id: { kind: 'int', class: 'none', source: 'program', meaning: 'in the order in which the actions began' },
    at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it began' },
    who: {
      kind: 'text',
      class: 'none',
      source: 'settings',
      meaning: 'the name of the token (`OPS_TOKENS`); `command`: whoever could run commands; `signal`: whoever could send SIGHUP',
    },
    action: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        'such as `account.resume`, `destination.pause`, `inbox.replay`, `inbox.skip`, `mapping.import`, `outbox.skip`, ' +
        '`reconcile.request`, `reconcile.run`, `settings.reload`, `submission.track`',
    },
    target: {
      kind: 'text',
      class: 'none',
      source: 'operator',
      meaning: 'what it was done to: the name of an account or a destination; null when it was several things',
    },
    detail: {
      kind: 'json',
      class: 'free',
      source: 'operator, program',
      meaning:
        'ids (the first 20 and how many), filters, reasons, and how many rows it changed. Never a secret, and nothing of a ' +
        'submission but its id',
    },
    outcome: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: '`done`, `failed`; `begun` while it is under way, and for ever when its process died meanwhile',
    },
  },
  notes: [
    'The row of an action of one transaction is written in that very transaction; a longer one is noted before it begins ' +
      'and again when it has ended.',
  ],
}

/** What an alarm is about: the same in both tables. */
const alarmKey: Readonly<Record<string, DescribedColumn>> = {
  name: { kind: 'text', class: 'none', source: 'program', meaning: 'which alarm it is, such as `webhook_silence`' },
  account: { kind: 'text', class: 'none', source: 'program', meaning: 'the account that it is about; empty when it is about none' },
  destination: { kind: 'text', class: 'none', source: 'program', meaning: 'the destination that it is about; empty when it is about none' },
}

const acknowledged: Readonly<Record<string, DescribedColumn>> = {
  acknowledged_by: {
    kind: 'text',
    class: 'none',
    source: 'settings',
    meaning: 'the name of the token of whoever took note of it while it fired, or `command`; null for nobody. It goes on to fire',
  },
  acknowledged_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when that was' },
}

export const alarms: Relation = {
  name: 'alarms',
  type: 'table',
  holds:
    'What operators should know of: one row for each alarm that ever fired, by what it is about. The runbook (`docker/`) ' +
    'tells each name and what to do.',
  key: ['name', 'account', 'destination'],
  columns: {
    ...alarmKey,
    state: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning: '`pending`: so for too short a time to tell anybody; `firing`; `resolved`: it is over',
    },
    severity: { kind: 'text', class: 'none', source: 'program', meaning: '`warning`: look into it; `critical`: act' },
    since: { kind: 'time', class: 'none', source: 'program', meaning: 'since when it is so, or was this last time' },
    last_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it was seen to be so last' },
    resolved_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it was over last; null when it never was' },
    text: { kind: 'text', class: 'free', source: 'program', meaning: 'one sentence: what happened, and what to do' },
    notified_at: {
      kind: 'time',
      class: 'none',
      source: 'program',
      meaning: 'when an operator took a message about it last; null when none did',
    },
    ...acknowledged,
  },
}

export const alarmHistory: Relation = {
  name: 'alarm_history',
  type: 'table',
  holds: 'When each alarm fired and ended: one row for each time. What is over is removed after `CHANGES_RETENTION_DAYS`.',
  key: ['episode_id'],
  columns: {
    episode_id: { kind: 'int', class: 'none', source: 'program', meaning: 'in the order in which they fired' },
    ...alarmKey,
    severity: { kind: 'text', class: 'none', source: 'program', meaning: '`warning` or `critical`' },
    since: { kind: 'time', class: 'none', source: 'program', meaning: 'since when it was so' },
    fired_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it had been so for long enough to tell somebody' },
    resolved_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it was over; null while it fires' },
    text: { kind: 'text', class: 'free', source: 'program', meaning: 'what happened, and what to do, as it was told last' },
    ...acknowledged,
  },
}
