import { submissions } from '../../../model/entities/submissions.ts'
import { copied, type Relation } from './relation.ts'

export const freshness: Relation = {
  name: 'freshness',
  type: 'view',
  holds: "How old the mirror's knowledge is: one row for each submission and each of its reads.",
  key: [],
  columns: {
    account: { kind: 'text', class: 'none', source: 'settings', meaning: 'whose it is' },
    submission_id: { kind: 'text', class: 'none', source: 'service', meaning: 'the submission' },
    read: {
      kind: 'text',
      class: 'none',
      source: 'program',
      meaning:
        '`events`, `thread`, `requirements`, `outstanding`, `workspace`, `sessions`; of what is read by its id `bind_request`, `policy`, `insured`, ' +
        'each as old as the oldest of them',
    },
    last_read_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when it was last read to its end; null: never yet' },
    last_changed_at: { kind: 'time', class: 'none', source: 'program', meaning: 'when a read last brought something' },
    last_replay_at: {
      kind: 'time',
      class: 'none',
      source: 'program',
      meaning: 'when the feed was last read whole, from the beginning; always null for state reads',
    },
  },
}

export const submissionOverview: Relation = {
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
    state_read_at: { kind: 'time', class: 'none', source: '`freshness`', meaning: 'when the requirements view was last read' },
    lane_count: { kind: 'int', class: 'none', source: '`lanes`', meaning: 'lanes that are not gone' },
    bound_lane_count: { kind: 'int', class: 'none', source: '`lanes`', meaning: 'of these, the bound ones' },
    quote_count: { kind: 'int', class: 'none', source: '`quotes`', meaning: 'quotes that are not gone' },
    lowest_quote_cents: {
      kind: 'int',
      class: 'business',
      source: '`quotes`',
      meaning: 'the lowest of all quotes that are shown, those that a revision may have superseded too',
      cents: true,
    },
    lowest_current_quote_cents: {
      kind: 'int',
      class: 'business',
      source: '`quotes`',
      meaning:
        'the lowest total of its current quotes, those whose `may_be_superseded` in `quote_board` is not true; null when there is none',
      cents: true,
    },
    lowest_current_market: { kind: 'text', class: 'business', source: '`lanes`', meaning: 'the market of that quote' },
    bound_market_name: {
      kind: 'text',
      class: 'business',
      source: '`lanes`',
      meaning: 'the market that is bound, by its lane or by a bind request; null when none is, or several are',
    },
    bound_premium_cents: {
      kind: 'int',
      class: 'business',
      source: '`quotes`',
      meaning: 'the total of the bound quote; null when there is none, several, or it cannot be told which of several it is',
      cents: true,
    },
    event_count: { kind: 'int', class: 'none', source: '`market_events`', meaning: 'all that ever happened, what is gone too' },
    message_count: { kind: 'int', class: 'none', source: '`thread_messages`', meaning: 'the same of its messages' },
    outstanding_count: { kind: 'int', class: 'none', source: '`outstanding_items`', meaning: 'what the broker must still supply' },
    ...copied(submissions, 'outstanding_answerable_count', 'outstanding_markets_total'),
    bind_status: {
      kind: 'text',
      class: 'business',
      source: '`bind_requests`',
      meaning: 'the status of the newest bind request; null when none is known',
    },
    policy_count: { kind: 'int', class: 'none', source: '`policies`', meaning: 'its policies that are known' },
    policy_id: {
      kind: 'text',
      class: 'none',
      source: '`bind_requests`, `policies`',
      meaning: 'its policy, as in `policies`; null when none is known, or several are',
    },
    ...copied(submissions, 'insured_id'),
    document_count: { kind: 'int', class: 'none', source: '`documents`', meaning: 'its documents, held or missing' },
    documents_held: { kind: 'int', class: 'none', source: '`documents`', meaning: 'its documents whose file is stored' },
    documents_missing: {
      kind: 'int',
      class: 'none',
      source: '`documents`',
      meaning: 'documents that the service shows and that are not stored',
    },
    document_failed_count: {
      kind: 'int',
      class: 'none',
      source: '`documents`',
      meaning: 'of the missing ones those whose last attempt failed; `document_index` says why',
    },
  },
}

export const activityTimeline: Relation = {
  name: 'activity_timeline',
  type: 'view',
  holds: 'Events and messages of a submission in one list, those that are gone too. Order it by `occurred_at`, `record_id`.',
  key: [],
  columns: {
    account: { kind: 'text', class: 'none', source: 'both tables', meaning: 'whose it is' },
    submission_id: { kind: 'text', class: 'none', source: 'both tables', meaning: 'its submission' },
    occurred_at: { kind: 'time', class: 'none', source: 'both tables', meaning: 'when it happened' },
    entity: { kind: 'text', class: 'none', source: 'program', meaning: 'the table it comes from: `market_events` or `thread_messages`' },
    record_id: { kind: 'text', class: 'none', source: 'both tables', meaning: '`event_id` or `message_id`' },
    kind: { kind: 'text', class: 'business', source: '`type`, `kind`', meaning: 'the type of the event, the kind of the message' },
    party: { kind: 'text', class: 'personal', source: '`market_name`, `from_address`', meaning: 'the market, or who wrote' },
    summary: { kind: 'text', class: 'free', source: '`status_label`, `subject`', meaning: 'the label of the state, the subject' },
    text: { kind: 'text', class: 'free', source: '`detail`, `body_text`', meaning: 'the detail of the event, the body of the message' },
    first_seen_at: { kind: 'time', class: 'none', source: 'both tables', meaning: 'when it was first stored here' },
    first_seen_via: { kind: 'text', class: 'none', source: 'both tables', meaning: 'the way it first came, as in `market_events`' },
    gone_at: { kind: 'time', class: 'none', source: 'both tables', meaning: 'since when the service no longer shows it' },
  },
  notes: [
    'Name the submissions with `(account, submission_id) in (select …)`, as `queries.md` does: joined with another table, ' +
      'the view is read whole by SQLite.',
  ],
}
