import { textOf } from '../../parts/masked.tsx'
import type { View } from './view.ts'

export interface Bound {
  readonly lane_id: string
  readonly market: string
  /** null: no quote of the lane is known to be the bound one. */
  readonly cents: number | null
}

/** The bound lanes, each with the price of the quote that it is bound at. */
export function boundOf({ tables: { lanes = [], quotes = [] }, quote_board }: View): Bound[] {
  const boundAt = new Map(quote_board.filter((quote) => quote.is_bound_quote === true).map((quote) => [quote.lane_id, quote.quote_id]))
  return lanes
    .filter(({ gone_at, bound, chip, lane_id }) => gone_at === null && (bound === true || chip === 'bound' || boundAt.has(lane_id)))
    .map(({ lane_id, market_name }) => {
      const at = quotes.find((quote) => quote.lane_id === lane_id && quote.quote_id === boundAt.get(lane_id))
      return { lane_id, market: textOf(market_name), cents: at?.total_cents ?? null }
    })
}
