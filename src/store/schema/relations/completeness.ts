import { submissions } from '../../../model/entities/submissions.ts'
import { copied, type Relation } from './relation.ts'

export const arrivalCounts: Relation = {
  name: 'arrival_counts',
  type: 'table',
  holds:
    'How many events and messages became known in each hour, by the way in which they came first. Counted once a minute, ' +
    'from the change log.',
  key: ['account', 'hour', 'entity'],
  columns: {
    account: { kind: 'text', class: 'none', source: 'settings', meaning: 'whose they are' },
    hour: { kind: 'time', class: 'none', source: 'program', meaning: 'the beginning of the hour in which they were stored here' },
    entity: { kind: 'text', class: 'none', source: 'program', meaning: '`market_events` or `thread_messages`' },
    webhook: { kind: 'int', class: 'none', source: 'program', meaning: 'a webhook told of them first' },
    poll: { kind: 'int', class: 'none', source: 'program', meaning: 'a feed showed them first: in a poll, a replay, or a `sync`' },
    backfill: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning: 'history that the first reading of a feed found: older than the tracking by more than an hour',
    },
    reconcile: { kind: 'int', class: 'none', source: 'program', meaning: 'a reconcile run found them' },
    lost: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning:
        'of `poll` and `reconcile`: those of which no webhook told within 15 minutes, but for what the first reading of a feed ' +
        "shows of before the tracking. Events are not counted as long as the account's event deliveries cannot be read",
    },
  },
}

export const arrivals: Relation = {
  name: 'arrivals',
  type: 'view',
  holds:
    'When and how each event and each message became known, and whether a webhook for it ever came: one row for each row of ' +
    '`market_events` and `thread_messages`.',
  key: [],
  columns: {
    account: { kind: 'text', class: 'none', source: 'both tables', meaning: 'whose it is' },
    submission_id: { kind: 'text', class: 'none', source: 'both tables', meaning: 'its submission' },
    entity: { kind: 'text', class: 'none', source: 'program', meaning: '`market_events` or `thread_messages`' },
    record_id: { kind: 'text', class: 'none', source: 'both tables', meaning: '`event_id` or `message_id`' },
    occurred_at: { kind: 'time', class: 'none', source: 'both tables', meaning: "when it happened, by the service's clock" },
    known_at: { kind: 'time', class: 'none', source: '`first_seen_at`', meaning: 'when it was first stored here' },
    known_via: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        'the way it came first: `webhook`; `poll`; `replay` (a later reading of the feed from its beginning found it); ' +
        '`backfill`; `reconcile`',
    },
    delay_seconds: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning: "from `occurred_at` to `known_at`. Negative when the service's clock is ahead",
    },
    webhook_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when a webhook told of it; null: none has' },
    webhook: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        '`first`: it became known by its webhook; `later`: one came after a feed had shown it; `none`: none has come; `not ' +
        'expected`: it was history when its submission became known',
    },
  },
  notes: [
    "Ask for an account and a submission, or be patient. `none` says nothing of events as long as the account's event " +
      'deliveries cannot be read (`account_completeness.events_unreadable_at`).',
  ],
}

export const completeness: Relation = {
  name: 'completeness',
  type: 'view',
  holds: 'What is known of each submission, and how surely: one row for each row of `submissions`.',
  key: [],
  columns: {
    ...copied(submissions, 'account', 'submission_id'),
    tracked_at: { kind: 'time', class: 'none', source: '`submissions`', meaning: 'since when it is known' },
    tracked_via: { kind: 'text', class: 'none', source: '`submissions`', meaning: 'how it became known' },
    unreachable_since: { kind: 'time', class: 'none', source: '`submissions`', meaning: 'since when the service answers "not found"' },
    events_read_at: {
      kind: 'time',
      class: 'none',
      source: '`freshness`',
      meaning: 'when its events were last read to their end; null: never yet',
    },
    thread_read_at: { kind: 'time', class: 'none', source: '`freshness`', meaning: 'the same of its thread' },
    state_read_at: { kind: 'time', class: 'none', source: '`freshness`', meaning: 'when its requirements view was last read' },
    events_replayed_at: {
      kind: 'time',
      class: 'none',
      source: '`freshness`',
      meaning: 'when its events were last read whole, from the beginning',
    },
    thread_replayed_at: { kind: 'time', class: 'none', source: '`freshness`', meaning: 'the same of its thread' },
    lag_seconds: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning: 'how long the most overdue of its three reads has been due; 0 when none is',
    },
    failing_reads: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning: 'of its three reads those that did not succeed the last time',
    },
    proved_at: {
      kind: 'time',
      class: 'none',
      source: 'program',
      meaning:
        'when a reconcile run that was no dry run last found it, or made it, equal to what the service shows, its state too, ' +
        'with nothing left or unreadable; null: never yet',
    },
    proved_by: { kind: 'text', class: 'none', source: 'program', meaning: 'the run that did; see `reconcile_runs`' },
    event_count: { kind: 'int', class: 'none', source: '`market_events`', meaning: 'what is gone too' },
    message_count: { kind: 'int', class: 'none', source: '`thread_messages`', meaning: 'what is gone too' },
    lost_webhooks: {
      kind: 'int',
      class: 'none',
      source: 'program',
      meaning:
        'its events and messages that a feed showed as news (nothing of before the tracking) more than 15 minutes ago, and of ' +
        'which no webhook has told',
    },
  },
  notes: [
    'It is about submissions that are known. The service describes no list of them: one that no delivery, no operator and ' +
      'no probed path has named is not here, and that there is such a one cannot be excluded.',
  ],
}

export const accountCompleteness: Relation = {
  name: 'account_completeness',
  type: 'view',
  holds: 'The same as `completeness` for each account as a whole.',
  key: [],
  columns: {
    account: { kind: 'text', class: 'none', source: 'settings', meaning: 'whose it is' },
    state: { kind: 'text', class: 'none', source: 'program', meaning: '`active`, `parked`, `paused`' },
    submissions: { kind: 'int', class: 'none', source: '`submissions`', meaning: 'known ones' },
    unreachable: { kind: 'int', class: 'none', source: '`submissions`', meaning: 'of these, those that the service does not find' },
    never_read: { kind: 'int', class: 'none', source: 'program', meaning: 'those of which one of the three reads never came to its end' },
    oldest_events_read_at: {
      kind: 'time',
      class: 'none',
      source: '`freshness`',
      meaning: 'when the submission was read whose events were not read for the longest time; those never read left aside',
    },
    oldest_thread_read_at: { kind: 'time', class: 'none', source: '`freshness`', meaning: 'the same of the threads' },
    oldest_state_read_at: { kind: 'time', class: 'none', source: '`freshness`', meaning: 'the same of the requirements views' },
    lag_seconds: { kind: 'int', class: 'none', source: 'program', meaning: 'how long the most overdue read of all has been due' },
    proven: { kind: 'int', class: 'none', source: 'program', meaning: 'submissions that a reconcile run has proven' },
    oldest_proof_at: {
      kind: 'time',
      class: 'none',
      source: 'program',
      meaning: 'when the submission was proven whose proof is the oldest',
    },
    known_by_webhook: {
      kind: 'int',
      class: 'none',
      source: '`arrival_counts`',
      meaning: 'events and messages that a webhook told of first, up to about a minute ago',
    },
    known_by_poll: { kind: 'int', class: 'none', source: '`arrival_counts`', meaning: 'that a poll or a replay found first' },
    known_by_backfill: {
      kind: 'int',
      class: 'none',
      source: '`arrival_counts`',
      meaning: 'that were history when their submission became known',
    },
    known_by_reconcile: { kind: 'int', class: 'none', source: '`arrival_counts`', meaning: 'that a reconcile run found' },
    lost_webhooks: { kind: 'int', class: 'none', source: '`arrival_counts`', meaning: 'of which no webhook told within 15 minutes' },
    webhook_loss_ratio: {
      kind: 'real',
      class: 'none',
      source: 'program',
      meaning:
        '`lost_webhooks` to all of which a webhook had to tell (backfill is none of them); null: there were none. Events are ' +
        'left out as long as their deliveries cannot be read',
    },
    webhook_loss_ratio_day: { kind: 'real', class: 'none', source: 'program', meaning: 'the same of the last 24 hours' },
    events_unreadable_at: {
      kind: 'time',
      class: 'none',
      source: 'program',
      meaning: 'when an event delivery last came that could not be read; null: none ever did',
    },
  },
}
