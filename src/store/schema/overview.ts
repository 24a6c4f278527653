import { submissions } from '../../model/entities/submissions.ts'
import { copied, each, int, internal, orNull, relation, text, time } from './table.ts'

const cents = { source: '`quotes`', class: 'business', cents: true } as const

export const submissionOverview = relation({
  name: 'submission_overview',
  type: 'view',
  holds: 'One row for each submission, with counts.',
  key: [],
  columns: {
    ...copied(submissions, 'account', 'submission_id', 'insured_name', 'lines', 'effective_date', 'state', 'marketing_status'),
    ...copied(submissions, 'marketing_hint', 'form_fill_active', 'last_event_at', 'last_message_at', 'last_activity_at'),
    ...copied(submissions, 'unreachable_since', 'stage', 'state_read_at', 'rail_read_at', 'quote_history_read_at', 'assessment_read_at'),
    lane_count: int('lanes that are not gone', { source: '`lanes`' }),
    bound_lane_count: int('bound lanes that are not gone', { source: '`lanes`' }),
    quote_count: int('quotes that are not gone', { source: '`quotes`' }),
    lowest_quote_cents: orNull(int('the lowest total of its quotes that are not gone, including superseded ones', cents)),
    lowest_current_quote_cents: orNull(
      int('the lowest total of its current quotes, whose `may_be_superseded` in `quote_board` is not true; null if there is none', cents),
    ),
    lowest_current_market: orNull(text('the market of that quote', { source: '`lanes`', class: 'business' })),
    bound_market_name: orNull(
      text('the bound market, by its lane or a bind request; null if none or several are bound', { source: '`lanes`', class: 'business' }),
    ),
    bound_premium_cents: orNull(int('the total of the bound quote; null if there is none, several, or it is unknown which', cents)),
    event_count: int('its events, including those that are gone', { source: '`market_events`' }),
    message_count: int('its messages, including those that are gone', { source: '`thread_messages`' }),
    outstanding_count: int('items that the broker must still supply', { source: '`outstanding_items`' }),
    ...copied(submissions, 'outstanding_answerable_count', 'outstanding_markets_total'),
    bind_status: orNull(
      text('the status of the newest bind request, which may be a draft although another one is bound; null if none is known', {
        source: '`bind_requests`',
        class: 'business',
      }),
    ),
    policy_count: int('its known policies', { source: '`policies`' }),
    policy_id: orNull(text('its policy, as in `policies`; null if none or several are known', { source: '`bind_requests`, `policies`' })),
    ...copied(submissions, 'insured_id'),
    document_count: int('its documents, stored or missing', { source: '`documents`' }),
    documents_held: int('documents whose file is stored', { source: '`documents`' }),
    documents_missing: int('documents that the service shows and that are not stored', { source: '`documents`' }),
    document_failed_count: int('missing documents whose last attempt failed; see `document_index`', { source: '`documents`' }),
  },
})

export const activityTimeline = relation({
  name: 'activity_timeline',
  type: 'view',
  holds: 'Events and messages of a submission in one list, including those that are gone. Order it by `occurred_at`, `record_id`.',
  key: [],
  columns: {
    account: text('the account', { source: 'both tables' }),
    submission_id: text('the submission', { source: 'both tables' }),
    occurred_at: time('when it happened', { source: 'both tables' }),
    entity: text('its table: `market_events` or `thread_messages`'),
    record_id: text('`event_id` or `message_id`', { source: 'both tables' }),
    kind: text('the type of the event, the kind of the message', { source: '`type`, `kind`', class: 'business' }),
    party: orNull(text('the market, or the sender', { source: '`market_name`, `from_address`', class: 'personal' })),
    summary: orNull(text('the label of the state, the subject', { source: '`status_label`, `subject`', class: 'free' })),
    text: orNull(text('the detail of the event, the body of the message', { source: '`detail`, `body_text`', class: 'free' })),
    first_seen_at: time('when it was first stored here', { source: 'both tables' }),
    first_seen_via: text('how it first arrived, as in `market_events`', { source: 'both tables' }),
    gone_at: orNull(time('since when the service no longer shows it', { source: 'both tables' })),
  },
  notes: [
    'Select the submissions with `(account, submission_id) in (select …)`, as `queries-submissions.md` does: in a join, SQLite reads the whole view.',
  ],
})

export const syncSearchWords = internal({
  name: 'sync_search_words',
  key: ['account', 'submission_id', 'word'],
  holds: "the words of insureds' names, in lower case and without accents, for searching the list of submissions",
  columns: each(text(), 'account', 'submission_id', 'word'),
})

export const syncRecordCounts = internal({
  name: 'sync_record_counts',
  holds: 'how many events and messages each submission has; `submission_overview` and `completeness` show it',
  columns: { ...each(text(), 'account', 'submission_id'), ...each(int(), 'events', 'messages') },
})
