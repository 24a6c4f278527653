import { submissions } from '../../model/entities/submissions.ts'
import { copied, int, internal, orNull, relation, text, time } from './table.ts'

/** Each submission as a whole, and what is counted and searched for it. */

export const submissionOverview = relation({
  name: 'submission_overview',
  type: 'view',
  holds: 'One row for each submission, with counts.',
  key: [],
  columns: {
    ...copied(
      submissions,
      'account',
      'submission_id',
      'insured_name',
      'lines',
      'effective_date',
      'state',
      'marketing_status',
      'marketing_hint',
      'form_fill_active',
      'last_event_at',
      'last_message_at',
      'last_activity_at',
      'unreachable_since',
    ),
    ...copied(submissions, 'state_read_at', 'rail_read_at', 'quote_history_read_at', 'assessment_read_at'),
    lane_count: int('lanes that are not gone', { source: '`lanes`' }),
    bound_lane_count: int('of these, the bound ones', { source: '`lanes`' }),
    quote_count: int('quotes that are not gone', { source: '`quotes`' }),
    lowest_quote_cents: orNull(
      int('the lowest of all quotes that are shown, those that a revision may have superseded too', {
        source: '`quotes`',
        class: 'business',
        cents: true,
      }),
    ),
    lowest_current_quote_cents: orNull(
      int('the lowest total of its current quotes, those whose `may_be_superseded` in `quote_board` is not true; null when there is none', {
        source: '`quotes`',
        class: 'business',
        cents: true,
      }),
    ),
    lowest_current_market: orNull(text('the market of that quote', { source: '`lanes`', class: 'business' })),
    bound_market_name: orNull(
      text('the market that is bound, by its lane or by a bind request; null when none is, or several are', {
        source: '`lanes`',
        class: 'business',
      }),
    ),
    bound_premium_cents: orNull(
      int('the total of the bound quote; null when there is none, several, or it cannot be told which of several it is', {
        source: '`quotes`',
        class: 'business',
        cents: true,
      }),
    ),
    event_count: int('all that ever happened, what is gone too', { source: '`market_events`' }),
    message_count: int('the same of its messages', { source: '`thread_messages`' }),
    outstanding_count: int('what the broker must still supply', { source: '`outstanding_items`' }),
    ...copied(submissions, 'outstanding_answerable_count', 'outstanding_markets_total'),
    bind_status: orNull(
      text('the status of the newest bind request; null when none is known', { source: '`bind_requests`', class: 'business' }),
    ),
    policy_count: int('its policies that are known', { source: '`policies`' }),
    policy_id: orNull(
      text('its policy, as in `policies`; null when none is known, or several are', { source: '`bind_requests`, `policies`' }),
    ),
    ...copied(submissions, 'insured_id'),
    document_count: int('its documents, held or missing', { source: '`documents`' }),
    documents_held: int('its documents whose file is stored', { source: '`documents`' }),
    documents_missing: int('documents that the service shows and that are not stored', { source: '`documents`' }),
    document_failed_count: int('of the missing ones those whose last attempt failed; `document_index` says why', { source: '`documents`' }),
  },
})

export const activityTimeline = relation({
  name: 'activity_timeline',
  type: 'view',
  holds: 'Events and messages of a submission in one list, those that are gone too. Order it by `occurred_at`, `record_id`.',
  key: [],
  columns: {
    account: text('whose it is', { source: 'both tables' }),
    submission_id: text('its submission', { source: 'both tables' }),
    occurred_at: time('when it happened', { source: 'both tables' }),
    entity: text('the table it comes from: `market_events` or `thread_messages`'),
    record_id: text('`event_id` or `message_id`', { source: 'both tables' }),
    kind: text('the type of the event, the kind of the message', { source: '`type`, `kind`', class: 'business' }),
    party: orNull(text('the market, or who wrote', { source: '`market_name`, `from_address`', class: 'personal' })),
    summary: orNull(text('the label of the state, the subject', { source: '`status_label`, `subject`', class: 'free' })),
    text: orNull(text('the detail of the event, the body of the message', { source: '`detail`, `body_text`', class: 'free' })),
    first_seen_at: time('when it was first stored here', { source: 'both tables' }),
    first_seen_via: text('the way it first came, as in `market_events`', { source: 'both tables' }),
    gone_at: orNull(time('since when the service no longer shows it', { source: 'both tables' })),
  },
  notes: [
    'Name the submissions with `(account, submission_id) in (select …)`, as `queries.md` does: joined with another table, ' +
      'the view is read whole by SQLite.',
  ],
})

export const syncSearchWords = internal({
  name: 'sync_search_words',
  key: ['account', 'submission_id', 'word'],
  holds: "the words of insureds' names, in lower case and without accents: what the list of submissions is searched by",
  columns: {
    account: text(),
    submission_id: text(),
    word: text(),
  },
})

export const syncRecordCounts = internal({
  name: 'sync_record_counts',
  holds: 'for each submission how many events and messages it has; `submission_overview` and `completeness` show it',
  columns: {
    account: text(),
    submission_id: text(),
    events: int(),
    messages: int(),
  },
})
