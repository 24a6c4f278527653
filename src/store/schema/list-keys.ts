import type { ColumnTypes } from './migration.ts'

/**
 * Expressions that order and filter the list of submissions. Schema indexes and list queries share them, because a query with a different
 * expression would not use its index.
 */

type Kind = Pick<ColumnTypes, 'kind'>

const ORDER_LENGTH = 200
/** Sorts after any other text, by bytes. */
export const LAST = '\u{10ffff}'

/** Sort keys of the list, as expressions on a row of `submissions`. Never null. */
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
 * Unindexed keys, as expressions on a row `s` of `submissions`, computed for each sorted row. @param none value for submissions without
 * quotes, which are always last.
 */
export function computedKeys(none: number) {
  const ofIt = 'x.account = s.account and x.submission_id = s.submission_id'
  return {
    stage: `(case s.stage ${CHIPS.map((chip, rank) => `when '${chip}' then ${rank}`).join(' ')}
      when 'unreachable' then ${CHIPS.length + 1} else ${CHIPS.length} end)`,
    lowest_quote: `coalesce((select min(x.total_cents) from quote_board x where ${ofIt} and x.may_be_superseded is not true), ${none})`,
    outstanding: `(select count(*) from (
      select distinct x.source, x.item_key, x.label, x.bind_request_id from open_items x where ${ofIt}) as items)`,
  } as const
}

/** Name of a lane's market, in search form. */
export function marketKey({ kind }: Kind): string {
  return kind === 'sqlite' ? 'lower(market_name)' : 'lower(market_name collate "C")'
}

/** Lane chips, most advanced first. An unknown chip counts as in progress. */
export const CHIPS = ['bound', 'quoted', 'needs_info', 'in_progress', 'not_available'] as const

/** The stage of row `s` of `submissions`, computed from its row and its lanes. */
export function stageKey({ kind }: Kind): string {
  const bound = kind === 'sqlite' ? 'x.bound = 1' : 'x.bound'
  const ranks = CHIPS.map((chip, rank) => `when x.chip = '${chip}' then ${rank}`)
  const rank = `min(case when ${bound} then 0 ${ranks.join(' ')} else ${CHIPS.indexOf('in_progress')} end)`
  const furthest = `case ${rank} ${CHIPS.map((chip, n) => `when ${n} then '${chip}'`).join(' ')} end`
  return `(case when s.unreachable_since is not null then 'unreachable' else coalesce(
    (select ${furthest} from lanes x where x.account = s.account and x.submission_id = s.submission_id and x.gone_at is null),
    s.marketing_status, 'unknown') end)`
}
