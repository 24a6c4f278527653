import { plainWord } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { textOf } from '../../parts/masked.tsx'
import { Empty } from '../../parts/states.tsx'
import type { View } from './submission.tsx'

/** What the broker must still supply, from all sources. */
export function Outstanding({ view }: { readonly view: View }) {
  const { open_items: items } = view
  return (
    <Section title="Outstanding" actions={items.length > 0 && <span className="quiet">{items.length}</span>}>
      {items.length === 0 ? (
        <Empty>Nothing is outstanding.</Empty>
      ) : (
        <ul className="lines">
          {items.map((item) => (
            <li key={`${item.source} ${item.item_key} ${item.bind_request_id ?? ''}`}>
              <span>{textOf(item.label)}</span>
              <span className="quiet">{[item.market_name ?? plainWord(item.source), item.how_to_provide].filter(Boolean).join(' · ')}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}
