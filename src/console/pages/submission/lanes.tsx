import type { Schemas } from '../../api/client.ts'
import { Chip, plainWord } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { Masked, Raw, textOf } from '../../parts/masked.tsx'
import { money } from '../../parts/numbers.ts'
import { Empty } from '../../parts/states.tsx'
import { Age } from '../../parts/time.tsx'
import type { View } from './submission.tsx'

type Lane = Schemas['LanesRow']
type Quote = Schemas['QuotesRow']
type Offer = Schemas['SourceOffersRow']

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
      {columns.length === 0 && <Empty>No market was approached yet.</Empty>}
      <div className="board">
        {columns.map((column) => (
          <div key={column.name} className="board-column">
            <h3>
              {plainWord(column.name)} <span className="quiet">{column.lanes.length}</span>
            </h3>
            <ul>
              {column.lanes.map((lane) => (
                <LaneLine
                  key={lane.row_key}
                  lane={lane}
                  quotes={quotes.filter(({ lane_id }) => lane_id === lane.lane_id)}
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
  readonly offers: readonly Offer[]
}

function LaneLine({ lane, quotes, offers }: LaneProps) {
  const standing = quotes.filter(({ gone_at }) => gone_at === null)
  const best = standing.reduce<number | null>((low, { total_cents: n }) => (n === null ? low : Math.min(low ?? n, n)), null)
  const market = textOf(lane.market_name)
  const isSaid = lane.status_label?.toLowerCase() === plainWord(lane.chip ?? '')
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
      {(standing.length > 0 || offers.length > 0) && <Offers quotes={standing} offers={offers} />}
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

function Offers({ quotes, offers }: Pick<LaneProps, 'quotes' | 'offers'>) {
  return (
    <details className="lane-offers">
      <summary>
        {quotes.length} {quotes.length === 1 ? 'quote' : 'quotes'}
        {offers.length > 0 && `, ${offers.length} ${offers.length === 1 ? 'document' : 'documents'} of the carrier`}
      </summary>
      <ul>
        {quotes.map((quote) => (
          <li key={quote.row_key} className="lane-line">
            <span>{quote.is_revision ? 'Revised quote' : 'Quote'}</span>
            <span className="quiet">{textOf(quote.premium_display)}</span>
            <span className="number lane-price">{money(quote.total_cents)}</span>
            <Raw table="quotes" row={quote.row_key} what="Quote" />
          </li>
        ))}
        {offers.map((offer) => (
          <li key={offer.row_key} className="lane-line">
            <span>{plainWord(textOf(offer.kind))}</span>
            <span className="quiet">{textOf(offer.label)}</span>
            <Raw table="source_offers" row={offer.row_key} what={textOf(offer.label)} />
          </li>
        ))}
      </ul>
    </details>
  )
}
