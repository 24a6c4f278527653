import { wordOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { Chip } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { Masked, Raw, textOf } from '../../parts/masked.tsx'
import { money } from '../../parts/numbers.ts'
import { Empty } from '../../parts/states.tsx'
import { Age } from '../../parts/time.tsx'
import { LeftOut } from './left-out.tsx'
import type { View } from './view.ts'

type Lane = Schemas['LanesRow']
type Quote = Schemas['QuotesRow']
type Offer = Schemas['SourceOffersRow']
type OnBoard = Schemas['QuoteOnBoard']

/** In the order in which the service names them; others follow. */
const categories = ['instant_quote', 'binding', 'specialty']

/** The markets of a submission as a board, a column for each category. */
export function Lanes({ view }: { readonly view: View }) {
  const { lanes = [], quotes = [], source_offers: offers = [] } = view.tables
  const shown = lanes.filter(({ gone_at }) => gone_at === null)
  const names = [...new Set([...categories, ...shown.map(({ program_category }) => program_category ?? 'other')])]
  const columns = names
    .map((name) => ({ name, lanes: shown.filter(({ program_category }) => (program_category ?? 'other') === name) }))
    .filter((column) => column.lanes.length > 0)
  return (
    <Section title="Lanes">
      {columns.length === 0 ? <Empty>No market was approached yet.</Empty> : <LeftOut view={view} part="rail" />}
      <div className="board">
        {columns.map((column) => (
          <div key={column.name} className="board-column">
            <h3>
              {wordOf(column.name)} <span className="quiet">{column.lanes.length}</span>
            </h3>
            <ul>
              {column.lanes.map((lane) => (
                <LaneLine
                  key={lane.row_key}
                  lane={lane}
                  quotes={quotes.filter(({ lane_id }) => lane_id === lane.lane_id)}
                  board={view.quote_board.filter(({ lane_id }) => lane_id === lane.lane_id)}
                  offers={offers.filter(({ lane_id }) => lane_id === lane.lane_id)}
                />
              ))}
            </ul>
          </div>
        ))}
      </div>
    </Section>
  )
}

interface LaneProps {
  readonly lane: Lane
  readonly quotes: readonly Quote[]
  readonly board: readonly OnBoard[]
  readonly offers: readonly Offer[]
}

function LaneLine({ lane, quotes, board, offers }: LaneProps) {
  const standing = quotes.filter(({ gone_at }) => gone_at === null)
  const isReplaced = new Set(board.filter((quote) => quote.may_be_superseded === true).map(({ quote_id }) => quote_id))
  const current = standing.filter(({ quote_id }) => !isReplaced.has(quote_id))
  const best = current.reduce<number | null>((low, { total_cents: n }) => (n === null ? low : Math.min(low ?? n, n)), null)
  const market = textOf(lane.market_name)
  const isSaid = lane.status_label?.toLowerCase() === wordOf(lane.chip ?? '')
  return (
    <li className="lane">
      <div className="lane-line">
        <strong>
          <bdi>{market}</bdi>
        </strong>
        {best !== null && <span className="number lane-price">{money(best)}</span>}
        <Raw table="lanes" row={lane.row_key} what={market} />
      </div>
      <div className="lane-line quiet">
        <Chip word={lane.chip ?? lane.status} label={lane.chip ? undefined : lane.status_label} />
        <span className="lane-status">{isSaid ? '' : lane.status_label}</span>
        {lane.state_occurred_at && <Age at={lane.state_occurred_at} />}
      </div>
      {(lane.next_step || Array.isArray(lane.unmet_labels)) && <Wanted lane={lane} />}
      {(standing.length > 0 || offers.length > 0) && <Offers quotes={standing} board={board} offers={offers} />}
    </li>
  )
}

function Wanted({ lane }: { readonly lane: Lane }) {
  const unmet = Array.isArray(lane.unmet_labels) ? lane.unmet_labels.map(String) : []
  if (!lane.next_step && unmet.length === 0) return null
  return (
    <p className="lane-wants quiet">
      {lane.next_step && (
        <Masked table="lanes" row={lane.row_key} column="next_step" value={lane.next_step} what={`next step of ${lane.market_name}`} />
      )}
      {unmet.length > 0 && <> Missing: {unmet.join(', ')}</>}
    </p>
  )
}

/** A quote in words: the one that the lane is bound at, and one that a later revision may have replaced, are named. */
function quoteName({ is_revision, quote_id }: Quote, board: readonly OnBoard[]): string {
  const about = board.find((quote) => quote.quote_id === quote_id)
  if (about?.is_bound_quote === true) return 'Bound quote'
  if (about?.may_be_superseded === true) return 'Quote, revised since'
  return is_revision ? 'Revised quote' : 'Quote'
}

function Offers({ quotes, board, offers }: Pick<LaneProps, 'quotes' | 'board' | 'offers'>) {
  return (
    <details className="lane-offers">
      <summary>
        {quotes.length} {quotes.length === 1 ? 'quote' : 'quotes'}
        {offers.length > 0 && `, ${offers.length} ${offers.length === 1 ? 'document' : 'documents'} of the carrier`}
      </summary>
      <ul>
        {quotes.map((quote) => (
          <li key={quote.row_key} className="lane-line">
            <span>{quoteName(quote, board)}</span>
            <span className="quiet">{textOf(quote.premium_display)}</span>
            <span className="number lane-price">{money(quote.total_cents)}</span>
            <Raw table="quotes" row={quote.row_key} what="Quote" />
          </li>
        ))}
        {offers.map((offer) => (
          <li key={offer.row_key} className="lane-line">
            <span>{wordOf(textOf(offer.kind))}</span>
            <span className="quiet">{textOf(offer.label)}</span>
            <Raw table="source_offers" row={offer.row_key} what={textOf(offer.label)} />
          </li>
        ))}
      </ul>
    </details>
  )
}
