import { bindRequests } from '../../model/entities/bind-requests.ts'
import { lanes } from '../../model/entities/lanes.ts'
import { policies } from '../../model/entities/policies.ts'
import { quotes } from '../../model/entities/quotes.ts'
import { submissions } from '../../model/entities/submissions.ts'
import { bool, copied, int, orNull, real, relation, text, time } from './table.ts'

/** Views that answer what a brokerage asks of its markets, quotes, binds and policies. */

const ofEvents = (meaning: string) => orNull(time(meaning, { source: '`market_events`' }))

export const laneBoard = relation({
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
    quote_count: int('its quotes that are not gone', { source: '`quotes`' }),
    lowest_current_quote_cents: orNull(
      int('the lowest total of its current quotes, as in `submission_overview`', {
        source: '`quotes`',
        class: 'business',
        cents: true,
      }),
    ),
    first_event_at: ofEvents('`occurred_at` of its first event that is not gone; null when there is none'),
    attached_at: ofEvents('of its first `market_attached`'),
    first_quote_at: ofEvents('of its first `quote_received`'),
    ended_at: ofEvents('of its newest event when that is `declined`, `withdrawn`, `blocked` or `bound`, else null'),
    last_event_at: ofEvents('of its newest event'),
    hours_to_quote: orNull(
      real('from `attached_at` to `first_quote_at`; negative when the quote came first, null without one of the two', {
        source: '`market_events`',
      }),
    ),
  },
})

export const laneLines = relation({
  name: 'lane_lines',
  type: 'view',
  holds: 'One row for each market of a submission that is not gone and each of its lines of business, for counting by line.',
  key: [],
  columns: {
    ...copied(lanes, 'account', 'submission_id', 'lane_id', 'market_name'),
    line: orNull(text('one of its `lines`; null in the one row of a lane without lines', { source: '`lanes`', class: 'business' })),
    ...copied(lanes, 'chip', 'bound'),
  },
})

export const quoteBoard = relation({
  name: 'quote_board',
  type: 'view',
  holds: 'The quotes that are not gone, each with its lane and its insured. A quote is *current* when `may_be_superseded` is not true.',
  key: [],
  columns: {
    ...copied(quotes, 'account', 'submission_id'),
    ...copied(submissions, 'insured_name'),
    ...copied(quotes, 'lane_id'),
    ...copied(lanes, 'market_name', 'program', 'program_category', 'status', 'status_label', 'chip'),
    bound: orNull(bool('its lane is bound, at this quote or another', { source: '`lanes`', class: 'business' })),
    ...copied(quotes, 'quote_id'),
    premium_display: orNull(text('to show, never to compute with', { source: '`quotes`', class: 'business' })),
    ...copied(quotes, 'total_cents', 'lines', 'is_revision', 'first_seen_at'),
    may_be_superseded: orNull(
      bool(
        'true: it is no revision, and one of the same lane and lines was first seen later; null: both were first seen together, as in a first read; ' +
          'else false. The service does not say which quote a revision replaces',
      ),
    ),
    is_bound_quote: orNull(
      bool(
        'a `bound` bind request names it, or its lane is bound and no other quote there is current; null: its lane is bound and it cannot be told ' +
          'at which quote; else false',
      ),
    ),
  },
})

export const bindBoard = relation({
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
    lane_id: orNull(copied(lanes, 'lane_id').lane_id),
    ...copied(lanes, 'market_name'),
    ...copied(bindRequests, 'quote_id'),
    ...copied(quotes, 'total_cents'),
    ...copied(bindRequests, 'payment_option', 'requested_at', 'requested_by', 'effective_date', 'policy_id'),
    unconfirmed_assumption_count: int('assumptions to confirm', { source: '`bind_assumptions`' }),
    pending_contingency_count: int('of its contingencies those that are `pending`', { source: '`bind_contingencies`' }),
    ...copied(bindRequests, 'next_steps'),
  },
})

export const openItems = relation({
  name: 'open_items',
  type: 'view',
  holds:
    'What the broker must still supply, from all sources. One row for each item and market; an item may stand in more than one source, since ' +
    'the service names it differently in each. Nothing is open of a bind request that is `bound`, `cancelled`, `declined` or `expired`.',
  key: [],
  columns: {
    account: text('whose it is', { source: 'settings' }),
    submission_id: text('its submission', { source: 'service' }),
    source: text(
      '`outstanding` (`outstanding_items`), `market` (`needs_from_you` of a market that is not ready), `bind assumption`, `bind contingency` (one ' +
        'that is `pending`)',
    ),
    item_key: text('its key there, below the submission and the bind request', { source: 'the table' }),
    market_name: orNull(
      text(
        'the market that waits for it, of a bind request the market of its quote; null when it concerns the submission as a whole, or not exactly ' +
          'one lane has that quote',
        { source: 'the table', class: 'business' },
      ),
    ),
    lane_id: orNull(
      text('the lane of that market; null when the service names the market alone, as in `outstanding_items`', {
        source: 'the table',
      }),
    ),
    label: orNull(text('what it is, in words', { source: 'the table', class: 'free' })),
    how_to_provide: orNull(
      text('how to supply it; of a contingency its `kind`; null when the service does not say', {
        source: 'the table',
        class: 'free',
      }),
    ),
    bind_request_id: orNull(text('the bind request that waits for it', { source: 'the table' })),
    bind_status: orNull(text('the `status` of that bind request', { source: '`bind_requests`', class: 'business' })),
  },
})

export const policyBoard = relation({
  name: 'policy_board',
  type: 'view',
  holds:
    'The policies that the service shows, each with its market and its premium. They are those of the bind request that names the policy; of ' +
    'several it is the one that was requested last. What comes from the record itself, from `policy_number` on, is best effort: ' +
    '`record_fields` in the settings says where it is looked for.',
  key: [],
  columns: {
    ...copied(policies, 'account', 'policy_id', 'submission_id'),
    ...copied(submissions, 'insured_id', 'insured_name'),
    bind_request_id: orNull(copied(bindRequests, 'bind_request_id').bind_request_id),
    market_name: orNull(
      text("the market of the bind request's quote; null unless exactly one lane has that quote", {
        source: '`lanes`',
        class: 'business',
      }),
    ),
    bound_at: orNull(time('when that lane was bound: its newest event `bound`', { source: '`market_events`' })),
    premium_cents: orNull(
      int("the total of the bind request's quote; null unless exactly one lane has that quote", {
        source: '`quotes`',
        class: 'business',
        cents: true,
      }),
    ),
    ...copied(policies, 'policy_number', 'carrier_name', 'effective_date', 'expiration_date', 'total_billed_cents', 'commission_cents'),
  },
  notes: [
    'To list by `bound_at`, also name the submissions that had such an event, `(account, submission_id) in (select account, submission_id from ' +
      "market_events where account = … and type = 'bound' and occurred_at >= …)`: by `bound_at` alone every policy is looked at.",
  ],
})
