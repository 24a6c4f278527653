import type { ColumnTypes } from './migration.ts'

/**
 * SQL expressions that sort and filter the list of submissions. The database uses an index only if the query contains
 * the index's exact expression. Queries and indexes therefore both take the expression from here.
 */

type Kind = Pick<ColumnTypes, 'kind'>

const ORDER_LENGTH = 200
/** A text that sorts after all names, in byte order. */
export const LAST = '\u{10ffff}'

/** Expressions on a row of `submissions`, to sort by. Each has an index and is never null. */
export function orderKeys({ kind }: Kind) {
  const isSqlite = kind === 'sqlite'
  return {
    moved: 'coalesce(last_activity_at, tracked_at)',
    name: isSqlite
      ? `coalesce(lower(substr(insured_name, 1, ${ORDER_LENGTH})), '${LAST}')`
      : `coalesce(lower(left(insured_name, ${ORDER_LENGTH}) collate "C"), '${LAST}')`,
    effective_date: isSqlite ? `coalesce(effective_date, '9999-12-31')` : `coalesce(effective_date, date '9999-12-31')`,
  } as const
}

/**
 * Expressions on a row `s` of `submissions`, to sort by. They have no index, so they are computed for each row.
 * @param none value in cents of `lowest_quote` for submissions without a quote, which are listed last.
 */
export function computedKeys({ kind }: Kind, none: number) {
  const ofIt = 'x.account = s.account and x.submission_id = s.submission_id'
  // An item that several markets request counts once.
  const items = 'distinct x.account, x.submission_id, x.source, x.item_key, x.label, x.bind_request_id'
  return {
    stage: `(case s.stage ${CHIPS.map((chip, rank) => `when '${chip}' then ${rank}`).join(' ')}
      when 'unreachable' then ${CHIPS.length + 1} else ${CHIPS.length} end)`,
    lowest_quote: `coalesce((select min(x.total_cents) from quote_board x where ${ofIt} and x.may_be_superseded is not true), ${none})`,
    // SQLite would read all items again for each submission. This expression counts the items of all submissions once.
    outstanding:
      kind === 'sqlite'
        ? `coalesce((with counts as materialized (select account, submission_id, count(*) as n
            from (select ${items} from open_items x) as items group by account, submission_id)
          select x.n from counts x where ${ofIt}), 0)`
        : `(select count(*) from (select ${items} from open_items x where ${ofIt}) as items)`,
  } as const
}

/** Expression: the name of a lane's market, in lower case. */
export function marketKey({ kind }: Kind): string {
  return kind === 'sqlite' ? 'lower(market_name)' : 'lower(market_name collate "C")'
}

/** Values of `lanes.chip`, the most advanced first. A value that is missing here counts as `in_progress`. */
export const CHIPS = ['bound', 'quoted', 'needs_info', 'in_progress', 'not_available'] as const

/** Expression: the stage of row `s` of `submissions`, computed from that row and its lanes. */
export function stageKey({ kind }: Kind): string {
  const bound = kind === 'sqlite' ? 'x.bound = 1' : 'x.bound'
  const ranks = CHIPS.map((chip, rank) => `when x.chip = '${chip}' then ${rank}`)
  const rank = `min(case when ${bound} then 0 ${ranks.join(' ')} else ${CHIPS.indexOf('in_progress')} end)`
  const furthest = `case ${rank} ${CHIPS.map((chip, n) => `when ${n} then '${chip}'`).join(' ')} end`
  return `(case when s.unreachable_since is not null then 'unreachable' else coalesce(
    (select ${furthest} from lanes x where x.account = s.account and x.submission_id = s.submission_id and x.gone_at is null),
    s.marketing_status, 'unknown') end)`
}
