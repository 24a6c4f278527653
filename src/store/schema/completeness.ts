import { submissions } from '../../model/entities/submissions.ts'
import type { ReadKind } from '../../model/reads.ts'
import { copied, each, int, internal, orNull, real, relation, type TableOf, text, time } from './table.ts'

export const arrivalCounts = relation({
  name: 'arrival_counts',
  type: 'table',
  holds: 'Events and messages that became known in each hour, by how they arrived first. Counted once a minute from the change log.',
  key: ['account', 'hour', 'entity'],
  columns: {
    account: text('the account', { source: 'settings' }),
    hour: time('the beginning of the hour in which they were stored here'),
    entity: text('`market_events` or `thread_messages`'),
    webhook: int('first announced by a webhook'),
    poll: int('first seen in a feed: by a poll, a full re-read, or a `sync`'),
    backfill: int('history from the first read of a feed: more than an hour older than the tracking'),
    reconcile: int('found by a reconcile run'),
    lost: int(
      'of `poll` and `reconcile`: not announced by a webhook within `WEBHOOK_LOST_AFTER`, except history from before the tracking. Events are ' +
        "not counted while the account's event deliveries are unreadable",
    ),
  },
})

export type ArrivalCountsTable = TableOf<typeof arrivalCounts>

export const arrivals = relation({
  name: 'arrivals',
  type: 'view',
  holds: 'When and how each event and message became known, and whether a webhook announced it: one row for each of them.',
  key: [],
  columns: {
    account: text('the account', { source: 'both tables' }),
    submission_id: text('the submission', { source: 'both tables' }),
    entity: text<'market_events' | 'thread_messages'>('`market_events` or `thread_messages`'),
    record_id: text('`event_id` or `message_id`', { source: 'both tables' }),
    occurred_at: time("when it happened, by the service's clock", { source: 'both tables' }),
    known_at: time('when it was first stored here', { source: '`first_seen_at`' }),
    known_via: text('how it arrived first: `webhook`; `poll`; `full_read` (a full re-read of the feed found it); `backfill`; `reconcile`'),
    delay_seconds: int("from `occurred_at` to `known_at`; negative if the service's clock is ahead"),
    webhook_at: orNull(time('when a webhook announced it; null: none has')),
    webhook: text<'first' | 'later' | 'none' | 'not expected'>(
      '`first`: a webhook announced it first; `later`: a webhook came after a feed showed it; `none`: no webhook came; `not expected`: it ' +
        'was history when its submission became known',
    ),
  },
  notes: [
    "Filter by account and submission; otherwise the view is slow. For events, `none` means nothing while the account's event deliveries are " +
      'unreadable (`account_completeness.events_unreadable_at`).',
  ],
})

export type ArrivalsView = TableOf<typeof arrivals>

export const completeness = relation({
  name: 'completeness',
  type: 'view',
  holds: 'How completely each submission is known: one row for each row of `submissions`.',
  key: [],
  columns: {
    ...copied(submissions, 'account', 'submission_id'),
    tracked_at: time('since when it is known', { source: '`submissions`' }),
    tracked_via: text('how it became known', { source: '`submissions`' }),
    unreachable_since: orNull(time('since when the service answers "not found"', { source: '`submissions`' })),
    events_read_at: orNull(time('when its events were last read to the end; null: never', { source: '`freshness`' })),
    thread_read_at: orNull(time('when its thread was last read to the end; null: never', { source: '`freshness`' })),
    state_read_at: orNull(time('when its requirements view was last read; null: never', { source: '`freshness`' })),
    events_fully_read_at: orNull(time('when its events were last re-read from the beginning', { source: '`freshness`' })),
    thread_fully_read_at: orNull(time('when its thread was last re-read from the beginning', { source: '`freshness`' })),
    lag_seconds: int('how long its most overdue of the three reads has been due; 0 if none is due'),
    failing_reads: int('how many of its three reads failed the last time'),
    reconciled_at: orNull(
      time(
        'when a reconcile run (not a dry run) last found or made its records and its state (all reads in `freshness`) equal to the service, with ' +
          'nothing left or unreadable; ' +
          'null: never',
      ),
    ),
    reconciled_by: orNull(text('that run; see `reconcile_runs`')),
    unconfirmed: orNull(
      text(
        'parts of the requirements view that the service left out then, so that their rows are unconfirmed: `rail`, `quote_history`, ' +
          '`assessment`, separated by commas; null: none',
      ),
    ),
    event_count: int('its events, including those that are gone', { source: '`market_events`' }),
    message_count: int('its messages, including those that are gone', { source: '`thread_messages`' }),
    lost_webhooks: int(
      'its events and messages that a feed showed more than `WEBHOOK_LOST_AFTER` ago, except history, and no webhook announced',
    ),
  },
  notes: [
    'Only known submissions have rows. The service describes no list of submissions, so one that no delivery, operator or probed path has ' +
      'named may exist.',
  ],
})

export type CompletenessView = TableOf<typeof completeness>

export const accountCompleteness = relation({
  name: 'account_completeness',
  type: 'view',
  holds: '`completeness` summed up for each account.',
  key: [],
  columns: {
    account: text('the account', { source: 'settings' }),
    state: text('`active`, `suspended`, `paused`'),
    submissions: int('known submissions', { source: '`submissions`' }),
    unreachable: int('submissions that the service does not find', { source: '`submissions`' }),
    never_read: int('submissions with an unfinished first read'),
    oldest_events_read_at: orNull(time('the oldest `events_read_at` of a submission', { source: '`freshness`' })),
    oldest_thread_read_at: orNull(time('the oldest `thread_read_at` of a submission', { source: '`freshness`' })),
    oldest_state_read_at: orNull(time('the oldest `state_read_at` of a submission', { source: '`freshness`' })),
    lag_seconds: int('how long the most overdue read has been due'),
    reconciled: int('reconciled submissions'),
    oldest_reconciled_at: orNull(time('the oldest `reconciled_at` of a submission')),
    known_by_webhook: int('events and messages first announced by a webhook, up to about a minute ago', { source: '`arrival_counts`' }),
    known_by_poll: int('first found by a poll or a full re-read', { source: '`arrival_counts`' }),
    known_by_backfill: int('history when their submission became known', { source: '`arrival_counts`' }),
    known_by_reconcile: int('found by a reconcile run', { source: '`arrival_counts`' }),
    lost_webhooks: int('not announced by a webhook within `WEBHOOK_LOST_AFTER`', { source: '`arrival_counts`' }),
    webhook_loss_ratio: orNull(
      real('share of `lost_webhooks` in all that webhooks had to announce (no backfill, no unreadable events); null: nothing to announce'),
    ),
    webhook_loss_ratio_day: orNull(real('`webhook_loss_ratio` of the last 24 hours')),
    events_unreadable_at: orNull(time('when an unreadable event delivery came; null: none, or one was readable a day later')),
  },
})

export type AccountCompletenessView = TableOf<typeof accountCompleteness>

export const syncArrivals = internal({
  name: 'sync_arrivals',
  key: ['account', 'entity', 'submission_id', 'record_id', 'way'],
  holds:
    'what a feed or a full re-read showed first, as news, and what a webhook announced later, to detect lost webhooks; `arrivals` shows it',
  columns: { ...each(text(), 'account', 'entity', 'submission_id', 'record_id', 'way'), first_at: time() },
})

export const syncConflicts = internal({
  name: 'sync_conflicts',
  key: ['account', 'entity', 'submission_id', 'record_id', 'conflict_key'],
  holds: 'records that conflicted with the stored ones, with both versions; at most about 100 for each record',
  columns: {
    ...each(text(), 'account', 'entity', 'submission_id', 'record_id', 'conflict_key', 'fields', 'kept', 'refused', 'via'),
    seen_at: time(),
  },
})

export const syncUnreadable = internal({
  name: 'sync_unreadable',
  key: ['account', 'submission_id', 'read', 'conflict_key'],
  holds:
    'unreadable items of answers: without an id, or with the id of another item in the list; at most 1,000 for each read of a submission',
  columns: { ...each(text(), 'account', 'submission_id', 'conflict_key', 'raw'), read: text<ReadKind>(), seen_at: time() },
})
