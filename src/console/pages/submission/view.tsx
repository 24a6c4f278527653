import type { Schemas } from '../../api/client.ts'
import { textOf } from '../../parts/masked.tsx'
import { Age } from '../../parts/time.tsx'

export type View = Schemas['SubmissionView']

interface Bound {
  readonly lane_id: string
  readonly market: string
  /** Total of the bound quote in cents; null if the bound quote or its total is unknown. */
  readonly cents: number | null
}

/** @returns the submission's bound lanes, with the totals of the bound quotes. */
export function boundOf({ tables: { lanes = [], quotes = [] }, quote_board }: View): Bound[] {
  const boundAt = new Map(quote_board.filter((quote) => quote.is_bound_quote === true).map((quote) => [quote.lane_id, quote.quote_id]))
  return lanes
    .filter(({ gone_at, bound, chip, lane_id }) => gone_at === null && (bound === true || chip === 'bound' || boundAt.has(lane_id)))
    .map(({ lane_id, market_name }) => {
      const at = quotes.find((quote) => quote.lane_id === lane_id && quote.quote_id === boundAt.get(lane_id))
      return { lane_id, market: textOf(market_name), cents: at?.total_cents ?? null }
    })
}

interface StaleNoteProps {
  readonly view: View
  readonly part: 'rail' | 'quote_history' | 'assessment'
}

/** A note that the service's latest answer lacks a part of the submission. Shows nothing if the answer has the part. */
export function StaleNote({ view, part }: StaleNoteProps) {
  const [row] = view.tables.submissions ?? []
  if (!row?.state_read_at) return null
  const readAt = row[`${part}_read_at`]
  if (readAt === row.state_read_at) return null
  return (
    <p className="quiet">
      The last answer of the service lacked this data. Last read: <Age at={readAt} none="never" />
    </p>
  )
}
