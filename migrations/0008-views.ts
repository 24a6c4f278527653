import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'
import { each, leftJoinEach, seconds } from './expressions.ts'
import { isBoundByRequest, isBoundQuote, isCurrent, maybeSuperseded, ofNamedQuote } from './quote-terms.ts'

/** Views of service data for a brokerage's questions. */
export const views: Migration = {
  version: 8,
  name: 'views',
  oldestCompatible: 1,
  statements: (t) => [
    submissionOverview(t),
    TIMELINE,
    laneBoard(t),
    laneLines(t),
    quoteBoard(t),
    BIND_BOARD,
    openItems(t),
    DOCUMENT_INDEX,
    POLICY_BOARD,
  ],
}

/** A subquery of `submission_overview`, without its end. */
function of(what: string, table: string): string {
  return `(select ${what} from ${table} x where x.account = s.account and x.submission_id = s.submission_id`
}

function present(what: string, table: string): string {
  return `${of(what, table)} and x.gone_at is null`
}

function submissionOverview(t: ColumnTypes): string {
  return `create view submission_overview as
    select s.account, s.submission_id, s.insured_name, s.lines, s.effective_date, s.state,
      s.marketing_status, s.marketing_hint, s.form_fill_active, s.last_event_at, s.last_message_at, s.last_activity_at, s.unreachable_since, s.stage,
      s.state_read_at, s.rail_read_at, s.quote_history_read_at, s.assessment_read_at,
      ${present('count(*)', 'lanes')}) as lane_count,
      ${present('count(*)', 'lanes')} and x.bound is true) as bound_lane_count,
      ${present('count(*)', 'quotes')}) as quote_count,
      ${present('min(x.total_cents)', 'quotes')}) as lowest_quote_cents,
      ${quotesOfSubmission(t)},
      coalesce(n.events, 0) as event_count, coalesce(n.messages, 0) as message_count,
      ${present('count(*)', 'outstanding_items')}) as outstanding_count,
      s.outstanding_answerable_count, s.outstanding_markets_total,
      ${present('x.status', 'bind_requests')} order by x.requested_at desc, x.bind_request_id limit 1) as bind_status,
      ${present('count(*)', 'policies')}) as policy_count,
      ${POLICY_OF_SUBMISSION} as policy_id, s.insured_id,
      ${of('count(*)', 'documents')} and (x.stored_at is not null or x.gone_at is null)) as document_count,
      ${of('count(*)', 'documents')} and x.stored_at is not null) as documents_held,
      ${present('count(*)', 'documents')} and x.stored_at is null) as documents_missing,
      ${present('count(*)', 'documents')} and x.stored_at is null and x.error is not null) as document_failed_count
    from submissions s
    left join sync_record_counts n on n.account = s.account and n.submission_id = s.submission_id`
}

function quotesOfSubmission(t: ColumnTypes): string {
  const withLane = 'left join lanes l on l.account = x.account and l.submission_id = x.submission_id and l.lane_id = x.lane_id'
  const ofIt = 'where x.account = s.account and x.submission_id = s.submission_id'
  return `(select min(x.total_cents) from quotes x ${ofIt} and ${isCurrent(t, 'x')}) as lowest_current_quote_cents,
      (select l.market_name from quotes x ${withLane} ${ofIt} and x.total_cents is not null and ${isCurrent(t, 'x')}
        order by x.total_cents, x.lane_id, x.quote_id limit 1) as lowest_current_market,
      ${present('case when min(x.market_name) = max(x.market_name) then min(x.market_name) end', 'lanes')}
        and (x.bound is true or ${isBoundByRequest('x')})) as bound_market_name,
      (select case when count(*) = 1 then max(x.total_cents) end from quotes x ${withLane}
        ${ofIt} and x.gone_at is null and (${isBoundQuote(t, 'x', 'l')}) is not false) as bound_premium_cents`
}

/** The policy named by the submission's bind requests and policies; null if they name several. */
const POLICY_OF_SUBMISSION = `(select case when min(named.policy_id) = max(named.policy_id) then min(named.policy_id) end from (${[
  'bind_requests',
  'policies',
]
  .map(
    (table) => `select x.policy_id from ${table} x where x.account = s.account and x.submission_id = s.submission_id and x.gone_at is null`,
  )
  .join(' union all ')}) named)`

const TIMELINE = `create view activity_timeline as
  select account, submission_id, occurred_at, 'market_events' as entity, event_id as record_id, type as kind, market_name as party,
    status_label as summary, detail as text, first_seen_at, first_seen_via, gone_at
  from market_events
  union all
  select account, submission_id, occurred_at, 'thread_messages', message_id, kind, from_address, subject, body_text, first_seen_at, first_seen_via,
    gone_at
  from thread_messages`

/** Times of a lane's events. Postgres reads the events once. SQLite, without lateral joins, finds each time by the index. */
function eventColumns(t: ColumnTypes): readonly (readonly [column: string, expression: string])[] {
  const isSqlite = t.kind === 'sqlite'
  const of = (aggregate: string, where = '') => (isSqlite ? `(select ${aggregate} ${EVENTS_OF_LANE}${where})` : aggregate)
  const first = (type: string) =>
    isSqlite ? of('min(e.occurred_at)', ` and e.type = '${type}'`) : `min(case when e.type = '${type}' then e.occurred_at end)`
  const end = "max(case when e.type in ('declined', 'withdrawn', 'blocked', 'bound') then e.occurred_at end)"
  return [
    ['first_event_at', of('min(e.occurred_at)')],
    ['attached_at', first('market_attached')],
    ['first_quote_at', first('quote_received')],
    // Null if the newest event has another type.
    ['ended_at', of(`case when ${end} = max(e.occurred_at) then max(e.occurred_at) end`)],
    ['last_event_at', of('max(e.occurred_at)')],
    ['hours_to_quote', `cast(${seconds(t, first('market_attached'), first('quote_received'))} as double precision) / 3600`],
  ]
}

const EVENTS_OF_LANE =
  'from market_events e where e.account = l.account and e.submission_id = l.submission_id and e.lane_id = l.lane_id and e.gone_at is null'

function laneBoard(t: ColumnTypes): string {
  const columns = eventColumns(t)
  const quotesOf = (what: string) =>
    `(select ${what} from quotes x where x.account = l.account and x.submission_id = l.submission_id and x.lane_id = l.lane_id`
  const isSqlite = t.kind === 'sqlite'
  const selected = columns.map(([column, expression]) => (isSqlite ? `${expression} as ${column}` : `seen.${column}`))
  const seen = `left join lateral (
      select ${columns.map(([column, expression]) => `${expression} as ${column}`).join(', ')} ${EVENTS_OF_LANE}) seen on true`
  return `create view lane_board as
    select l.account, l.submission_id, s.insured_name, l.lane_id, l.market_name, l.program, l.program_category, l.lines, l.status,
      l.status_label, l.chip, l.bound, l.next_step, l.unmet_labels,
      ${quotesOf('count(*)')} and x.gone_at is null) as quote_count,
      ${quotesOf('min(x.total_cents)')} and ${isCurrent(t, 'x')}) as lowest_current_quote_cents,
      ${selected.join(', ')}
    from lanes l
    left join submissions s on s.account = l.account and s.submission_id = l.submission_id
    ${isSqlite ? '' : seen}
    where l.gone_at is null`
}

function laneLines(t: ColumnTypes): string {
  return `create view lane_lines as
    select l.account, l.submission_id, l.lane_id, l.market_name, cast(line.value as text) as line, l.chip, l.bound
    from lanes l ${leftJoinEach(t, 'l.lines', 'line')} where l.gone_at is null`
}

function quoteBoard(t: ColumnTypes): string {
  return `create view quote_board as
    select q.account, q.submission_id, s.insured_name, q.lane_id, l.market_name, l.program, l.program_category, l.status, l.status_label,
      l.chip, l.bound, q.quote_id, q.premium_display, q.total_cents, q.lines, q.is_revision, q.first_seen_at,
      ${maybeSuperseded(t, 'q')} as may_be_superseded,
      ${isBoundQuote(t, 'q', 'l')} as is_bound_quote
    from quotes q
    left join lanes l on l.account = q.account and l.submission_id = q.submission_id and l.lane_id = q.lane_id
    left join submissions s on s.account = q.account and s.submission_id = q.submission_id
    where q.gone_at is null`
}

const ofRequest =
  'x.account = b.account and x.submission_id = b.submission_id and x.bind_request_id = b.bind_request_id and x.gone_at is null'

const BIND_BOARD = `create view bind_board as
  select b.account, b.submission_id, s.insured_name, b.bind_request_id, b.status, b.status_label, ${ofNamedQuote('q.lane_id')} as lane_id,
    ${ofNamedQuote('l.market_name')} as market_name, b.quote_id, ${ofNamedQuote('q.total_cents')} as total_cents, b.payment_option, b.requested_at,
    b.requested_by, b.effective_date, b.policy_id,
    (select count(*) from bind_assumptions x where ${ofRequest}) as unconfirmed_assumption_count,
    (select count(*) from bind_contingencies x where ${ofRequest} and x.status = 'pending') as pending_contingency_count,
    b.next_steps
  from bind_requests b
  left join submissions s on s.account = b.account and s.submission_id = b.submission_id
  where b.gone_at is null`

/** The items of `open_items` by source. @param of the end of a condition on a row `x` that selects its submission. */
function openItemsFrom(t: ColumnTypes, of: string): string {
  const text = (value: string) => `cast(${value} as text)`
  const none = text('null')
  const needs =
    t.kind === 'sqlite' ? `join ${each(t, 'x.needs_from_you')} n on 1 = 1` : `cross join lateral ${each(t, 'x.needs_from_you')} as n(value)`
  // A finished bind request has no open items.
  const ofOpenBind = (table: string) => `from ${table} x join bind_requests b on b.account = x.account and b.submission_id = x.submission_id
      and b.bind_request_id = x.bind_request_id and b.gone_at is null
      and (b.status is null or b.status not in ('bound', 'cancelled', 'declined', 'expired')) where x.gone_at is null${of}`
  const ofBind = (source: string, key: string, how: string) => `select x.account, x.submission_id, ${text(`'${source}'`)} as source,
      ${key} as item_key, ${text(ofNamedQuote('l.market_name'))} as market_name, ${text(ofNamedQuote('q.lane_id'))} as lane_id, x.label,
      ${text(how)} as how_to_provide, x.bind_request_id, b.status as bind_status`
  // An outstanding item without markets belongs to the whole submission.
  return `select x.account, x.submission_id, ${text("'outstanding'")} as source, x.item_key, ${text('m.value')} as market_name, ${none} as lane_id,
      x.label, x.how_to_provide, ${none} as bind_request_id, ${none} as bind_status
    from outstanding_items x ${leftJoinEach(t, 'x.markets', 'm')} where x.gone_at is null${of}
    union all
    select x.account, x.submission_id, ${text("'market'")}, x.readiness_key, x.market_name, x.lane_id, ${text('n.value')}, ${none}, ${none}, ${none}
    from market_readiness x ${needs} where x.gone_at is null and x.ready is not true${of}
    union all
    ${ofBind('bind assumption', 'x.key', "'confirm it with the bind request'")} ${ofOpenBind('bind_assumptions')}
    union all
    ${ofBind('bind contingency', 'x.contingency_id', 'x.kind')} ${ofOpenBind('bind_contingencies')} and x.status = 'pending'`
}

/** Postgres pushes no join into a union, so the items of the latest 50 submissions are found by key. */
function openItems(t: ColumnTypes): string {
  if (t.kind === 'sqlite') return `create view open_items as ${openItemsFrom(t, '')}`
  return `create view open_items as
    select s.account, s.submission_id, item.source, item.item_key, item.market_name, item.lane_id, item.label, item.how_to_provide,
      item.bind_request_id, item.bind_status
    from submissions s
    cross join lateral (${openItemsFrom(t, ' and x.account = s.account and x.submission_id = s.submission_id')}) item`
}

const DOCUMENT_INDEX = `create view document_index as
  select d.account, d.submission_id, s.insured_name, d.document_key, d.document_id, d.origin, d.name, d.source_label,
    d.content_type, d.created_at,
    case when d.stored_at is not null then 'stored' when d.gone_at is not null then 'gone' when d.error is not null then 'failed'
      else 'waiting' end as state,
    d.document_url, d.stored_path, d.stored_bytes, d.sha256, d.stored_at, d.error, d.tried_at,
    case when d.stored_at is null and d.gone_at is null then f.failing_since end as failing_since,
    case when d.stored_at is null and d.gone_at is null and f.lease_token is null then f.due_at end as retry_at, d.gone_at
  from documents d
  left join submissions s on s.account = d.account and s.submission_id = d.submission_id
  left join sync_documents f on f.account = d.account and f.document_key = d.document_key`

/** The latest of the bind requests that name a policy. */
const bindOf = (column: string) =>
  `(select x.${column} from bind_requests x where x.account = p.account and x.policy_id = p.policy_id and x.gone_at is null
      order by x.requested_at is null, x.requested_at desc, x.bind_request_id, x.submission_id limit 1)`

/** The lane of that request's quote; null if several lanes have the quote. */
const LANE_OF_QUOTE = `(select case when count(*) = 1 then min(x.lane_id) end from quotes x
      where x.account = b.account and x.submission_id = b.submission_id and x.quote_id = b.quote_id)`

const POLICY_BOARD = `create view policy_board as
  select p.account, p.policy_id, p.submission_id, s.insured_id, s.insured_name, b.bind_request_id, l.lane_id,
    l.market_name, (select max(e.occurred_at) from market_events e where e.account = q.account and e.submission_id = q.submission_id
      and e.lane_id = q.lane_id and e.type = 'bound' and e.gone_at is null) as bound_at,
    q.total_cents as premium_cents, p.policy_number, p.carrier_name, p.effective_date, p.expiration_date, p.total_billed_cents,
    p.commission_cents
  from policies p
  left join submissions s on s.account = p.account and s.submission_id = p.submission_id
  left join bind_requests b on b.account = p.account and b.submission_id = ${bindOf('submission_id')}
    and b.bind_request_id = ${bindOf('bind_request_id')}
  left join quotes q on q.account = b.account and q.submission_id = b.submission_id and q.quote_id = b.quote_id
    and q.lane_id = ${LANE_OF_QUOTE}
  left join lanes l on l.account = q.account and l.submission_id = q.submission_id and l.lane_id = q.lane_id
  where p.gone_at is null`
