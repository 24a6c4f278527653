import { textOf } from '../../parts/masked.tsx'
import type { View } from './submission.tsx'

export interface Bound {
  readonly lane_id: string
  readonly market: string
  /** null: no quote of the lane tells it. */
  readonly cents: number | null
}

/** The bound lanes with their price: that of the quote that a bind request names, and without one that of the lane's lowest. */
export function boundOf({ tables: { lanes = [], quotes = [], bind_requests = [] } }: View): Bound[] {
  const asked = new Set(bind_requests.map(({ quote_id }) => quote_id))
  return lanes
    .filter(({ gone_at, bound, chip }) => gone_at === null && (bound === true || chip === 'bound'))
    .map(({ lane_id, market_name }) => {
      const priced = quotes.filter((quote) => quote.lane_id === lane_id && quote.total_cents !== null)
      const named = priced.filter(({ quote_id }) => asked.has(quote_id))
      const standing = priced.filter(({ gone_at }) => gone_at === null)
      const prices = (named.length > 0 ? named : standing).map(({ total_cents }) => total_cents ?? 0)
      return { lane_id, market: textOf(market_name), cents: prices.length === 0 ? null : Math.min(...prices) }
    })
}
