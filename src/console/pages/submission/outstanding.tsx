import { wordOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { Section } from '../../parts/fields.tsx'
import { shortId } from '../../parts/id.tsx'
import { textOf } from '../../parts/masked.tsx'
import { Empty } from '../../parts/states.tsx'
import type { View } from './view.ts'

type Item = Schemas['OpenItem']

/** What the broker must still supply, from all sources; what several markets ask for is one line, as it is counted in the list. */
export function Outstanding({ view }: { readonly view: View }) {
  const asked = [...Map.groupBy(view.open_items, keyOf)]
  return (
    <Section title="Outstanding" actions={asked.length > 0 && <span className="quiet">{asked.length}</span>}>
      {asked.length === 0 ? (
        <Empty>Nothing is outstanding.</Empty>
      ) : (
        <ul className="lines">
          {asked.map(([key, items]) => (
            <Line key={key} items={items} />
          ))}
        </ul>
      )}
    </Section>
  )
}

function keyOf({ source, item_key, label, bind_request_id }: Item, index: number): string {
  // Only of the service's own list of what is outstanding one item stands in several lines, one for each market.
  return source === 'outstanding' ? `${source} ${item_key}` : `${source} ${item_key} ${label} ${bind_request_id} ${index}`
}

interface LineProps {
  readonly items: readonly Item[]
}

function Line({ items }: LineProps) {
  const [item] = items
  if (item === undefined) return null
  const markets = [...new Set(items.map(({ market_name }) => market_name).filter((name) => name !== null))]
  const whose = item.bind_request_id === null ? markets.join(', ') : bindOf(item)
  const how = item.how_to_provide
  const words = [whose || 'the submission as a whole', wordOf(item.source), how && /^[a-z]+(_[a-z]+)+$/.test(how) ? wordOf(how) : how]
  return (
    <li>
      <span>{textOf(item.label)}</span>
      <span className="quiet">{words.filter(Boolean).join(' · ')}</span>
    </li>
  )
}

function bindOf({ bind_request_id: id, market_name: market }: Item): string {
  const request = `bind request ${shortId(id ?? '')}`
  return market === null ? request : `${request} at ${market}`
}
