import type { ColumnTypes } from './migration.ts'

/**
 * Expressions that order and filter the list of submissions. The indexes of the schema and the queries of the list share them, because a
 * query in other words would not use its index.
 */

type Kind = Pick<ColumnTypes, 'kind'>

const ORDER_LENGTH = 200
/** Greater than any other text, by its bytes. */
export const LAST = '\u{10ffff}'

/** The keys of the list's orders, none of them null, as expressions of a row of `submissions`. */
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
 * Unindexed keys, as expressions of a row `s` of `submissions`, computed for each sorted row. @param none the lowest quote of a submission
 * without quotes: last in either direction.
 */
export function computedKeys(kind: Kind, none: number) {
  const ofIt = 'x.account = s.account and x.submission_id = s.submission_id'
  return {
    stage: `(case when s.unreachable_since is not null then ${CHIPS.length + 1}
      else coalesce((select min(${chipRank(kind)}) from lanes x where ${ofIt} and x.gone_at is null), ${CHIPS.length}) end)`,
    lowest_quote: `coalesce((select min(x.total_cents) from quote_board x where ${ofIt} and x.may_be_superseded is not true), ${none})`,
    outstanding: `(select count(*) from (
      select distinct x.source, x.item_key, x.label, x.bind_request_id from open_items x where ${ofIt}) as items)`,
  } as const
}

/** The name of a lane's market, in search form. */
export function marketKey({ kind }: Kind): string {
  return kind === 'sqlite' ? 'lower(market_name)' : 'lower(market_name collate "C")'
}

/** The chips of lanes, the most advanced first. An unknown chip is in progress. */
export const CHIPS = ['bound', 'quoted', 'needs_info', 'in_progress', 'not_available'] as const

/** The index of a lane's chip in CHIPS. */
export function chipRank({ kind }: Kind): string {
  const bound = kind === 'sqlite' ? 'bound = 1' : 'bound'
  return `(case when ${bound} or chip = 'bound' then 0 when chip = 'quoted' then 1 when chip = 'needs_info' then 2 when chip = 'not_available' then 4 else 3 end)`
}
