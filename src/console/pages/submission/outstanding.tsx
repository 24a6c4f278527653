import { wordOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { Section } from '../../parts/fields.tsx'
import { shortId } from '../../parts/id.tsx'
import { textOf } from '../../parts/masked.tsx'
import { counted } from '../../parts/numbers.ts'
import { Empty } from '../../parts/states.tsx'
import { boundOf, type View } from './view.tsx'

type Item = Schemas['OpenItem']

const WHOLE = 'All markets'

/**
 * Items that the broker must still supply, by market. If a market is bound, the items of other markets are hidden until
 * the user expands them.
 */
export function Outstanding({ view }: { readonly view: View }) {
  const chosen = new Set(boundOf(view).map(({ market }) => market))
  const isOther = ({ market_name: market }: Item) => chosen.size > 0 && market !== null && !chosen.has(market)
  const open = byMarket(view.open_items.filter((item) => !isOther(item)))
  const others = byMarket(view.open_items.filter(isOther))
  const [n, m] = [open, others].map((groups) => groups.reduce((sum, { lines }) => sum + lines.length, 0)) as [number, number]
  return (
    <Section title="Open items" actions={n > 0 && <span className="quiet">{counted(n, 'item')}</span>}>
      {n + m === 0 && <Empty>No open items.</Empty>}
      <Groups groups={open} />
      {m > 0 && (
        <details className="folded">
          <summary>{counted(m, 'item')} for markets that are not bound</summary>
          <Groups groups={others} />
        </details>
      )}
    </Section>
  )
}

interface Group {
  readonly market: string
  /**
   * One entry for each open item. An entry contains the item's rows: one row for each market that needs the item. The
   * list of submissions counts the same entries.
   */
  readonly lines: readonly (readonly [Item, ...Item[]])[]
}

function byMarket(items: readonly Item[]): Group[] {
  const lines = [...Map.groupBy(items, keyOf).values()] as [Item, ...Item[]][]
  const groups = Map.groupBy(lines, (same) => [...new Set(same.map(({ market_name: market }) => market ?? WHOLE))].join(', '))
  return [...groups].map(([market, of]) => ({ market, lines: of })).sort((a, b) => Number(b.market === WHOLE) - Number(a.market === WHOLE))
}

function Groups({ groups }: { readonly groups: readonly Group[] }) {
  return groups.map(({ market, lines }) => (
    <div key={market} className="open-group">
      <h3 className="quiet">{market}</h3>
      <ul className="lines">
        {lines.map(([item]) => (
          <Line key={`${item.source} ${item.item_key} ${item.bind_request_id}`} item={item} />
        ))}
      </ul>
    </div>
  ))
}

function keyOf({ source, item_key, label, bind_request_id }: Item, index: number): string {
  // Merge only rows from `outstanding`, because only `outstanding` repeats an item for each market.
  return source === 'outstanding' ? `${source} ${item_key}` : `${source} ${item_key} ${label} ${bind_request_id} ${index}`
}

function Line({ item }: { readonly item: Item }) {
  const how = item.how_to_provide
  const request = item.bind_request_id === null ? null : `bind request ${shortId(item.bind_request_id)}`
  const words = [wordOf(item.source), request, how && /^[a-z]+(_[a-z]+)+$/.test(how) ? wordOf(how) : how]
  return (
    <li>
      <span>{textOf(item.label)}</span>
      <span className="quiet">{words.filter(Boolean).join(' · ')}</span>
    </li>
  )
}
