import { bindRequests } from '../../../model/entities/bind-requests.ts'
import { lanes } from '../../../model/entities/lanes.ts'
import { quotes } from '../../../model/entities/quotes.ts'
import { submissions } from '../../../model/entities/submissions.ts'
import type { DescribedColumn } from '../../../model/entity.ts'
import { copied, type Relation } from './relation.ts'

const ofEvents = (meaning: string): DescribedColumn => ({ kind: 'time', class: 'none', source: '`market_events`', meaning })

export const laneBoard: Relation = {
  name: 'lane_board',
  type: 'view',
  holds:
    'One row for each market of a submission that is not gone: where it is, and since when. Events that name no lane count nowhere here.',
  key: [],
  columns: {
    ...copied(lanes, 'account', 'submission_id'),
    ...copied(submissions, 'insured_name'),
    ...copied(lanes, 'lane_id', 'market_name', 'program', 'program_category', 'lines', 'status', 'status_label', 'chip', 'bound'),
    ...copied(lanes, 'next_step', 'unmet_labels'),
    quote_count: { kind: 'int', class: 'none', source: '`quotes`', meaning: 'its quotes that are not gone' },
    lowest_current_quote_cents: {
      kind: 'int',
      class: 'business',
      source: '`quotes`',
      meaning: 'the lowest total of its current quotes, as in `submission_overview`',
      cents: true,
    },
    first_event_at: ofEvents('`occurred_at` of its first event that is not gone; null when there is none'),
    attached_at: ofEvents('of its first `market_attached`'),
    first_quote_at: ofEvents('of its first `quote_received`'),
    ended_at: ofEvents('of its newest event when that is `declined`, `withdrawn`, `blocked` or `bound`, else null'),
    last_event_at: ofEvents('of its newest event'),
    hours_to_quote: {
      kind: 'real',
      class: 'none',
      source: '`market_events`',
      meaning: 'from `attached_at` to `first_quote_at`; negative when the quote came first, null without one of the two',
    },
  },
}

export const laneLines: Relation = {
  name: 'lane_lines',
  type: 'view',
  holds: 'One row for each market of a submission that is not gone and each of its lines of business, for counting by line.',
  key: [],
  columns: {
    ...copied(lanes, 'account', 'submission_id', 'lane_id', 'market_name'),
    line: {
      kind: 'text',
      class: 'business',
      source: '`lanes`',
      meaning: 'one of its `lines`; null in the one row of a lane without lines',
    },
    ...copied(lanes, 'chip', 'bound'),
  },
}

export const quoteBoard: Relation = {
  name: 'quote_board',
  type: 'view',
  holds: 'The quotes that are not gone, each with its lane and its insured. A quote is *current* when `may_be_superseded` is not true.',
  key: [],
  columns: {
    ...copied(quotes, 'account', 'submission_id'),
    ...copied(submissions, 'insured_name'),
    ...copied(quotes, 'lane_id'),
    ...copied(lanes, 'market_name', 'program', 'program_category', 'status', 'status_label', 'chip'),
    bound: { kind: 'bool', class: 'business', source: '`lanes`', meaning: 'its lane is bound, at this quote or another' },
    ...copied(quotes, 'quote_id'),
    premium_display: { kind: 'text', class: 'business', source: '`quotes`', meaning: 'to show, never to compute with' },
    ...copied(quotes, 'total_cents', 'lines', 'is_revision', 'first_seen_at'),
    may_be_superseded: {
      kind: 'bool',
      class: 'none',
      source: 'program',
      meaning:
        'true: it is no revision, and one of the same lane and lines was first seen later; null: both were first seen together, as in a first read; ' +
        'else false. The service does not say which quote a revision replaces',
    },
    is_bound_quote: {
      kind: 'bool',
      class: 'none',
      source: 'program',
      meaning:
        'a `bound` bind request names it, or its lane is bound and no other quote there is current; null: its lane is bound and it cannot be told ' +
        'at which quote; else false',
    },
  },
}

export const bindBoard: Relation = {
  name: 'bind_board',
  type: 'view',
  holds:
    'The bind requests that the service shows, each with its quote, and how much of it is open. Lane, market and total are null unless exactly ' +
    'one lane has the quote, gone or not.',
  key: [],
  columns: {
    ...copied(bindRequests, 'account', 'submission_id'),
    ...copied(submissions, 'insured_name'),
    ...copied(bindRequests, 'bind_request_id', 'status', 'status_label'),
    ...copied(lanes, 'lane_id', 'market_name'),
    ...copied(bindRequests, 'quote_id'),
    ...copied(quotes, 'total_cents'),
    ...copied(bindRequests, 'payment_option', 'requested_at', 'requested_by', 'effective_date', 'policy_id'),
    unconfirmed_assumption_count: { kind: 'int', class: 'none', source: '`bind_assumptions`', meaning: 'assumptions to confirm' },
    pending_contingency_count: {
      kind: 'int',
      class: 'none',
      source: '`bind_contingencies`',
      meaning: 'of its contingencies those that are `pending`',
    },
    ...copied(bindRequests, 'next_steps'),
  },
}
