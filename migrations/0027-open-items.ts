import type { ColumnTypes, Migration } from '../src/store/schema/migration.ts'
import { overview } from './0016-counted-views.ts'

/** Views of what is still to be supplied, and of what is being bound; `submission_overview` tells of both. */
export const openItems: Migration = {
  version: 27,
  name: 'open-items',
  oldestCompatible: 1,
  // Postgres replaces the view, so that readers keep their rights.
  statements: (t) => [
    ...(t.kind === 'sqlite' ? ['drop view submission_overview'] : []),
    `create ${t.kind === 'sqlite' ? '' : 'or replace '}${overview(t, OVERVIEW)}`,
    bindBoard,
    'create index bind_requests_newest on bind_requests (requested_at desc, bind_request_id)',
    openItemsView(t),
  ],
}

const ofSubmission = 'x.account = s.account and x.submission_id = s.submission_id and x.gone_at is null'
export const OVERVIEW = `,
      (select count(*) from outstanding_items x where ${ofSubmission}) as outstanding_count,
      s.outstanding_answerable_count, s.outstanding_markets_total,
      (select x.status from bind_requests x where ${ofSubmission} order by x.requested_at desc, x.bind_request_id limit 1) as bind_status,
      (select count(*) from policies x where ${ofSubmission}) as policy_count, s.insured_id`

const ofRequest =
  'x.account = b.account and x.submission_id = b.submission_id and x.bind_request_id = b.bind_request_id and x.gone_at is null'
const quoteOf = (column: string) =>
  `(select ${column} from quotes q left join lanes l on l.account = q.account and l.submission_id = q.submission_id and l.lane_id = q.lane_id
      where q.account = b.account and q.submission_id = b.submission_id and q.quote_id = b.quote_id order by q.lane_id limit 1)`

const bindBoard = `create view bind_board as
    select b.account, b.submission_id, s.insured_name, b.bind_request_id, b.status, b.status_label, ${quoteOf('q.lane_id')} as lane_id,
      ${quoteOf('l.market_name')} as market_name, b.quote_id, ${quoteOf('q.total_cents')} as total_cents, b.payment_option, b.requested_at,
      b.requested_by, b.effective_date, b.policy_id,
      (select count(*) from bind_assumptions x where ${ofRequest}) as unconfirmed_assumption_count,
      (select count(*) from bind_contingencies x where ${ofRequest} and x.status = 'pending') as pending_contingency_count,
      b.next_steps
    from bind_requests b
    left join submissions s on s.account = b.account and s.submission_id = b.submission_id
    where b.gone_at is null`

/** The texts of a list, with `x`'s row; nothing for a list that is null or empty. */
function each(t: ColumnTypes, list: string): string {
  return t.kind === 'sqlite'
    ? `json_each(${list})`
    : `jsonb_array_elements_text(case when jsonb_typeof(${list}) = 'array' then ${list} else '[]' end)`
}

function openItemsView(t: ColumnTypes): string {
  const text = (value: string) => `cast(${value} as text)`
  const flag = (value: string) => (t.kind === 'sqlite' ? `${value} = 0` : `not ${value}`)
  // A list without markets is of the submission as a whole.
  const markets =
    t.kind === 'sqlite' ? `left join json_each(x.markets) m on 1 = 1` : `left join lateral ${each(t, 'x.markets')} as m(value) on true`
  const needs =
    t.kind === 'sqlite' ? `join ${each(t, 'x.needs_from_you')} n on 1 = 1` : `cross join lateral ${each(t, 'x.needs_from_you')} as n(value)`
  return `create view open_items as
    select x.account, x.submission_id, ${text("'outstanding'")} as source, x.item_key, ${text('m.value')} as market_name, x.label, x.how_to_provide,
      ${text('null')} as bind_request_id
    from outstanding_items x ${markets} where x.gone_at is null
    union all
    select x.account, x.submission_id, ${text("'market'")}, x.readiness_key, x.market_name, ${text('n.value')}, ${text('null')}, ${text('null')}
    from market_readiness x ${needs} where x.gone_at is null and (x.ready is null or ${flag('x.ready')})
    union all
    select x.account, x.submission_id, ${text("'bind assumption'")}, x.key, ${text('null')}, x.label, ${text("'confirm it with the bind request'")},
      x.bind_request_id
    from bind_assumptions x where x.gone_at is null
    union all
    select x.account, x.submission_id, ${text("'bind contingency'")}, x.contingency_id, ${text('null')}, x.label, x.kind, x.bind_request_id
    from bind_contingencies x where x.gone_at is null and x.status = 'pending'`
}
