import { wordOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { Chip } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { MaskedValue, Raw, textOf } from '../../parts/masked.tsx'
import { counted, money } from '../../parts/numbers.ts'
import { Empty } from '../../parts/states.tsx'
import { Age } from '../../parts/time.tsx'
import { StaleNote, type View } from './view.tsx'

type Lane = Schemas['LanesRow']
type Quote = Schemas['QuotesRow']
type Offer = Schemas['SourceOffersRow']
type OnBoard = Schemas['QuoteOnBoard']

const categories = ['instant_quote', 'binding', 'specialty']

export function Lanes({ view }: { readonly view: View }) {
  const { lanes = [], quotes = [], source_offers: offers = [] } = view.tables
  const shown = lanes.filter(({ gone_at }) => gone_at === null)
  const names = [...new Set([...categories, ...shown.map(({ program_category }) => program_category ?? 'other')])]
  const columns = names
    .map((name) => ({ name, lanes: shown.filter(({ program_category }) => (program_category ?? 'other') === name) }))
    .filter((column) => column.lanes.length > 0)
  return (
    <Section title="Lanes">
      {columns.length === 0 ? <Empty>No markets yet.</Empty> : <StaleNote view={view} part="rail" />}
      <div className="board">
        {columns.map((column) => (
          <div key={column.name} className="board-column">
            <h3 className="underlined">
              {wordOf(column.name)} programs <span className="quiet">{counted(column.lanes.length, 'lane')}</span>
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
  const superseded = new Set(board.filter((quote) => quote.may_be_superseded === true).map(({ quote_id }) => quote_id))
  const current = standing.filter(({ quote_id }) => !superseded.has(quote_id))
  const best = current.reduce<number | null>((low, { total_cents: n }) => (n === null ? low : Math.min(low ?? n, n)), null)
  const market = textOf(lane.market_name)
  const isRepeated = !lane.chip || lane.status_label?.toLowerCase() === wordOf(lane.chip)
  return (
    <li className="lane table-text">
      <div className="lane-line line">
        <strong className="ellipsis">
          <bdi>{market}</bdi>
        </strong>
        {best !== null && <span className="number lane-price">{money(best)}</span>}
        <Raw table="lanes" row={lane.row_key} what={market} />
      </div>
      <div className="lane-line line quiet">
        <Chip word={lane.chip ?? lane.status} label={lane.chip ? undefined : lane.status_label} />
        <span className="lane-status ellipsis">{isRepeated || !lane.status_label ? '' : `service status: ${lane.status_label}`}</span>
        {lane.state_occurred_at && <Age at={lane.state_occurred_at} />}
      </div>
      {(lane.next_step || Array.isArray(lane.unmet_labels)) && <NextStep lane={lane} />}
      {(standing.length > 0 || offers.length > 0) && <Offers quotes={standing} board={board} offers={offers} />}
    </li>
  )
}

function NextStep({ lane }: { readonly lane: Lane }) {
  const unmet = Array.isArray(lane.unmet_labels) ? lane.unmet_labels.map(String) : []
  if (!lane.next_step && unmet.length === 0) return null
  return (
    <p className="lane-wants quiet">
      {lane.next_step && (
        <MaskedValue table="lanes" row={lane.row_key} column="next_step" value={lane.next_step} what={`next step of ${lane.market_name}`} />
      )}
      {unmet.length > 0 && <> Missing: {unmet.join(', ')}</>}
    </p>
  )
}

function quoteName({ is_revision, quote_id }: Quote, board: readonly OnBoard[]): string {
  const about = board.find((quote) => quote.quote_id === quote_id)
  if (about?.is_bound_quote === true) return 'Bound quote'
  if (about?.may_be_superseded === true) return 'Superseded quote'
  return is_revision ? 'Revised quote' : 'Quote'
}

function Offers({ quotes, board, offers }: Pick<LaneProps, 'quotes' | 'board' | 'offers'>) {
  return (
    <details className="lane-offers">
      <summary>
        {counted(quotes.length, 'quote')}
        {offers.length > 0 && `, ${counted(offers.length, 'carrier document')}`}
      </summary>
      <ul>
        {quotes.map((quote) => (
          <li key={quote.row_key} className="lane-line line">
            <span>{quoteName(quote, board)}</span>
            <span className="quiet">{textOf(quote.premium_display)}</span>
            <span className="number lane-price">{money(quote.total_cents)}</span>
            <Raw table="quotes" row={quote.row_key} what="Quote" />
          </li>
        ))}
        {offers.map((offer) => (
          <li key={offer.row_key} className="lane-line line">
            <span>{wordOf(textOf(offer.kind))}</span>
            <span className="quiet">{textOf(offer.label)}</span>
            <Raw table="source_offers" row={offer.row_key} what={textOf(offer.label)} />
          </li>
        ))}
      </ul>
    </details>
  )
}
