import { bindRequests } from '../../model/entities/bind-requests.ts'
import { lanes } from '../../model/entities/lanes.ts'
import { policies } from '../../model/entities/policies.ts'
import { quotes } from '../../model/entities/quotes.ts'
import { submissions } from '../../model/entities/submissions.ts'
import { bool, copied, int, orNull, real, relation, text, time } from './table.ts'

/** Views about markets, quotes, bind requests, and policies. */

const cents = { source: '`quotes`', class: 'business', cents: true } as const
const ofEvents = (meaning: string) => orNull(time(meaning, { source: '`market_events`' }))

export const laneBoard = relation({
  name: 'lane_board',
  type: 'view',
  holds: 'One row for each lane that is not gone: its status, and since when. Events without a lane are not counted.',
  key: [],
  columns: {
    ...copied(lanes, 'account', 'submission_id'),
    ...copied(submissions, 'insured_name'),
    ...copied(lanes, 'lane_id', 'market_name', 'program', 'program_category', 'lines', 'status', 'status_label', 'chip', 'bound'),
    ...copied(lanes, 'next_step', 'unmet_labels'),
    quote_count: int('quotes that are not gone', { source: '`quotes`' }),
    lowest_current_quote_cents: orNull(int('the lowest total of its current quotes, as in `submission_overview`', cents)),
    first_event_at: ofEvents('`occurred_at` of its first event that is not gone; null if there is none'),
    attached_at: ofEvents('when its first `market_attached` happened'),
    first_quote_at: ofEvents('when its first `quote_received` happened'),
    ended_at: ofEvents('when its newest event happened, if that is `declined`, `withdrawn`, `blocked` or `bound`; else null'),
    last_event_at: ofEvents('when its newest event happened'),
    hours_to_quote: orNull(
      real('from `attached_at` to `first_quote_at`; negative if the quote came first; null if one is missing', {
        source: '`market_events`',
      }),
    ),
  },
})

export const laneLines = relation({
  name: 'lane_lines',
  type: 'view',
  holds: 'One row for each lane that is not gone and each of its lines of business, for counting by line.',
  key: [],
  columns: {
    ...copied(lanes, 'account', 'submission_id', 'lane_id', 'market_name'),
    line: orNull(text('one of its `lines`; null for a lane without lines', { source: '`lanes`', class: 'business' })),
    ...copied(lanes, 'chip', 'bound'),
  },
})

export const quoteBoard = relation({
  name: 'quote_board',
  type: 'view',
  holds: 'The quotes that are not gone, with lane and insured. A quote is *current* if `may_be_superseded` is not true.',
  key: [],
  columns: {
    ...copied(quotes, 'account', 'submission_id'),
    ...copied(submissions, 'insured_name'),
    ...copied(quotes, 'lane_id'),
    ...copied(lanes, 'market_name', 'program', 'program_category', 'status', 'status_label', 'chip'),
    bound: orNull(bool('its lane is bound, at this quote or another', { source: '`lanes`', class: 'business' })),
    ...copied(quotes, 'quote_id'),
    premium_display: orNull(text('for display only, not for calculations', { source: '`quotes`', class: 'business' })),
    ...copied(quotes, 'total_cents', 'lines', 'is_revision', 'first_seen_at'),
    may_be_superseded: orNull(
      bool(
        'true: it is not a revision, and one with the same lane and lines was first seen later; null: both were first seen together, as in a ' +
          'first read; else false. The service does not say which quote a revision replaces',
      ),
    ),
    is_bound_quote: orNull(
      bool(
        'true: a `bound` bind request names it, or its lane is bound and has no other current quote; null: its lane is bound, but it is unknown ' +
          'at which quote; else false',
      ),
    ),
  },
})

export const bindBoard = relation({
  name: 'bind_board',
  type: 'view',
  holds:
    'The bind requests that the service shows, with quote and open items. Lane, market and total are null unless exactly one lane, gone or not, ' +
    'has the quote.',
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
    pending_contingency_count: int('contingencies that are `pending`', { source: '`bind_contingencies`' }),
    ...copied(bindRequests, 'next_steps'),
  },
})

export const openItems = relation({
  name: 'open_items',
  type: 'view',
  holds:
    'Items that the broker must still supply, from the sources in `source`: one row for each item and market. An item may be in several sources, ' +
    'because the service names it differently in each. `requirement_items` has further ones, such as deferred items. A `bound`, `cancelled`, `declined` or `expired` bind request has no open items.',
  key: [],
  columns: {
    account: text('the account', { source: 'settings' }),
    submission_id: text('the submission', { source: 'service' }),
    source: text(
      '`outstanding` (`outstanding_items`), `market` (`needs_from_you` of a market that is not ready), `bind assumption`, `bind contingency` ' +
        '(a `pending` one)',
    ),
    item_key: text(
      'the last part of its key there, without the submission and the bind request; for a market, the key of its row in `market_readiness`',
      { source: 'the table' },
    ),
    market_name: orNull(
      text(
        "the market that waits for it; for a bind request its quote's market; null if it concerns the whole submission, or unless exactly one lane " +
          'has that quote',
        { source: 'the table', class: 'business' },
      ),
    ),
    lane_id: orNull(
      text('the lane of that market; null if the service names only the market, as in `outstanding_items`', { source: 'the table' }),
    ),
    label: orNull(text('the item, in words', { source: 'the table', class: 'free' })),
    how_to_provide: orNull(
      text('how to supply it; for a contingency its `kind`; null if the service does not say', { source: 'the table', class: 'free' }),
    ),
    bind_request_id: orNull(text('the bind request that waits for it', { source: 'the table' })),
    bind_status: orNull(text('the `status` of that bind request', { source: '`bind_requests`', class: 'business' })),
  },
})

export const policyBoard = relation({
  name: 'policy_board',
  type: 'view',
  holds:
    'The policies that the service shows, with market and premium of the bind request that names the policy, the last requested one of several. ' +
    'Columns from the record itself, from `policy_number` on, are best effort: `record_fields` in the settings names their fields.',
  key: [],
  columns: {
    ...copied(policies, 'account', 'policy_id', 'submission_id'),
    ...copied(submissions, 'insured_id', 'insured_name'),
    bind_request_id: orNull(copied(bindRequests, 'bind_request_id').bind_request_id),
    lane_id: orNull(copied(lanes, 'lane_id').lane_id),
    market_name: orNull(
      text("the market of the bind request's quote; null unless exactly one lane has that quote", { source: '`lanes`', class: 'business' }),
    ),
    bound_at: orNull(time('when that lane was bound: its newest event `bound`', { source: '`market_events`' })),
    premium_cents: orNull(int("the total of the bind request's quote; null unless exactly one lane has that quote", cents)),
    ...copied(policies, 'policy_number', 'carrier_name', 'effective_date', 'expiration_date', 'total_billed_cents', 'commission_cents'),
  },
  notes: [
    'To list by `bound_at`, also select the submissions with such an event, `(account, submission_id) in (select account, submission_id from ' +
      "market_events where account = … and type = 'bound' and occurred_at >= …)`; otherwise every policy is read.",
  ],
})
