import { submissions } from '../../model/entities/submissions.ts'
import type { ReadKind } from '../../model/reads.ts'
import { copied, int, internal, orNull, real, relation, type TableOf, text, time } from './table.ts'

/** The ledger of completeness, and evidence. */

export const arrivalCounts = relation({
  name: 'arrival_counts',
  type: 'table',
  holds:
    'How many events and messages became known in each hour, by the way in which they came first. Counted once a minute, ' +
    'from the change log.',
  key: ['account', 'hour', 'entity'],
  columns: {
    account: text('whose they are', { source: 'settings' }),
    hour: time('the beginning of the hour in which they were stored here'),
    entity: text('`market_events` or `thread_messages`'),
    webhook: int('a webhook told of them first'),
    poll: int('a feed showed them first: in a poll, a replay, or a `sync`'),
    backfill: int('history that the first reading of a feed found: older than the tracking by more than an hour'),
    reconcile: int('a reconcile run found them'),
    lost: int(
      'of `poll` and `reconcile`: those of which no webhook told within `WEBHOOK_LOST_AFTER`, but for what the first reading of a feed ' +
        "shows of before the tracking. Events are not counted as long as the account's event deliveries cannot be read",
    ),
  },
})

export type ArrivalCountsTable = TableOf<typeof arrivalCounts>

export const arrivals = relation({
  name: 'arrivals',
  type: 'view',
  holds:
    'When and how each event and each message became known, and whether a webhook for it ever came: one row for each row of ' +
    '`market_events` and `thread_messages`.',
  key: [],
  columns: {
    account: text('whose it is', { source: 'both tables' }),
    submission_id: text('its submission', { source: 'both tables' }),
    entity: text<'market_events' | 'thread_messages'>('`market_events` or `thread_messages`'),
    record_id: text('`event_id` or `message_id`', { source: 'both tables' }),
    occurred_at: time("when it happened, by the service's clock", { source: 'both tables' }),
    known_at: time('when it was first stored here', { source: '`first_seen_at`' }),
    known_via: text(
      'the way it came first: `webhook`; `poll`; `replay` (a later reading of the feed from its beginning found it); ' +
        '`backfill`; `reconcile`',
    ),
    delay_seconds: int("from `occurred_at` to `known_at`. Negative when the service's clock is ahead"),
    webhook_at: orNull(time('when a webhook told of it; null: none has')),
    webhook: text<'first' | 'later' | 'none' | 'not expected'>(
      '`first`: it became known by its webhook; `later`: one came after a feed had shown it; `none`: none has come; `not ' +
        'expected`: it was history when its submission became known',
    ),
  },
  notes: [
    "Ask for an account and a submission, or be patient. `none` says nothing of events as long as the account's event " +
      'deliveries cannot be read (`account_completeness.events_unreadable_at`).',
  ],
})

export type ArrivalsView = TableOf<typeof arrivals>

export const completeness = relation({
  name: 'completeness',
  type: 'view',
  holds: 'What is known of each submission, and how surely: one row for each row of `submissions`.',
  key: [],
  columns: {
    ...copied(submissions, 'account', 'submission_id'),
    tracked_at: time('since when it is known', { source: '`submissions`' }),
    tracked_via: text('how it became known', { source: '`submissions`' }),
    unreachable_since: orNull(time('since when the service answers "not found"', { source: '`submissions`' })),
    events_read_at: orNull(time('when its events were last read to their end; null: never yet', { source: '`freshness`' })),
    thread_read_at: orNull(time('the same of its thread', { source: '`freshness`' })),
    state_read_at: orNull(time('when its requirements view was last read', { source: '`freshness`' })),
    events_replayed_at: orNull(time('when its events were last read whole, from the beginning', { source: '`freshness`' })),
    thread_replayed_at: orNull(time('the same of its thread', { source: '`freshness`' })),
    lag_seconds: int('how long the most overdue of its three reads has been due; 0 when none is'),
    failing_reads: int('of its three reads those that did not succeed the last time'),
    proved_at: orNull(
      time(
        'when a reconcile run that was no dry run last found it, or made it, equal to what the service shows, its state too, ' +
          'with nothing left or unreadable; null: never yet',
      ),
    ),
    proved_by: orNull(text('the run that did; see `reconcile_runs`')),
    unconfirmed: orNull(
      text(
        'parts of the requirements view that the service left out then, so that nothing confirms their rows: `rail`, `quote_history`, ' +
          '`assessment`, separated by commas; null: none',
      ),
    ),
    event_count: int('what is gone too', { source: '`market_events`' }),
    message_count: int('what is gone too', { source: '`thread_messages`' }),
    lost_webhooks: int(
      'its events and messages that a feed showed as news (nothing of before the tracking) more than `WEBHOOK_LOST_AFTER` ago, and of ' +
        'which no webhook has told',
    ),
  },
  notes: [
    'It is about submissions that are known. The service describes no list of them: one that no delivery, no operator and ' +
      'no probed path has named is not here, and that there is such a one cannot be excluded.',
  ],
})

export type CompletenessView = TableOf<typeof completeness>

export const accountCompleteness = relation({
  name: 'account_completeness',
  type: 'view',
  holds: 'The same as `completeness` for each account as a whole.',
  key: [],
  columns: {
    account: text('whose it is', { source: 'settings' }),
    state: text('`active`, `suspended`, `paused`'),
    submissions: int('known ones', { source: '`submissions`' }),
    unreachable: int('of these, those that the service does not find', { source: '`submissions`' }),
    never_read: int('those of which one of the three reads never came to its end'),
    oldest_events_read_at: orNull(
      time('when the submission was read whose events were not read for the longest time; those never read left aside', {
        source: '`freshness`',
      }),
    ),
    oldest_thread_read_at: orNull(time('the same of the threads', { source: '`freshness`' })),
    oldest_state_read_at: orNull(time('the same of the requirements views', { source: '`freshness`' })),
    lag_seconds: int('how long the most overdue read of all has been due'),
    proven: int('submissions that a reconcile run has proven'),
    oldest_proof_at: orNull(time('when the submission was proven whose proof is the oldest')),
    known_by_webhook: int('events and messages that a webhook told of first, up to about a minute ago', { source: '`arrival_counts`' }),
    known_by_poll: int('that a poll or a replay found first', { source: '`arrival_counts`' }),
    known_by_backfill: int('that were history when their submission became known', { source: '`arrival_counts`' }),
    known_by_reconcile: int('that a reconcile run found', { source: '`arrival_counts`' }),
    lost_webhooks: int('of which no webhook told within `WEBHOOK_LOST_AFTER`', { source: '`arrival_counts`' }),
    webhook_loss_ratio: orNull(
      real(
        '`lost_webhooks` to all of which a webhook had to tell (backfill is none of them); null: there were none. Events are ' +
          'left out as long as their deliveries cannot be read',
      ),
    ),
    webhook_loss_ratio_day: orNull(real('the same of the last 24 hours')),
    events_unreadable_at: orNull(
      time('when an event delivery came that could not be read; null: none did, or one could be read a day later'),
    ),
  },
})

export type AccountCompletenessView = TableOf<typeof accountCompleteness>

export const syncArrivals = internal({
  name: 'sync_arrivals',
  key: ['account', 'entity', 'submission_id', 'record_id', 'way'],
  holds:
    'what a feed showed first, as news, whether it was a replay that did, and what a webhook told of only later: what tells ' +
    'a lost webhook. `arrivals` shows it',
  columns: {
    account: text(),
    entity: text(),
    submission_id: text(),
    record_id: text(),
    way: text(),
    first_at: time(),
  },
})

export const syncConflicts = internal({
  name: 'sync_conflicts',
  key: ['account', 'entity', 'submission_id', 'record_id', 'evidence_key'],
  holds: 'records that contradicted what was kept of them, with both versions; of one record some 100 at most',
  columns: {
    account: text(),
    entity: text(),
    submission_id: text(),
    record_id: text(),
    evidence_key: text(),
    fields: text(),
    kept: text(),
    refused: text(),
    via: text(),
    seen_at: time(),
  },
})

export const syncUnreadable = internal({
  name: 'sync_unreadable',
  key: ['account', 'submission_id', 'read', 'evidence_key'],
  holds:
    'items of an answer that could not be understood: without an id, or with the id of another item in the same list; at most 1,000 for each read of a submission',
  columns: {
    account: text(),
    submission_id: text(),
    read: text<ReadKind>(),
    evidence_key: text(),
    raw: text(),
    seen_at: time(),
  },
})
