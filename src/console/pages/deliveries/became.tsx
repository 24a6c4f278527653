import { useQuery } from '@tanstack/react-query'
import { wordOf } from '../../../ops/output/words.ts'
import { becameQuery } from '../../api/queries.ts'
import { Section } from '../../parts/fields.tsx'
import { Asked } from '../../parts/states.tsx'

/** The changes that webhooks made to its submission while a delivery was worked. */
export function Became({ inboxId }: { readonly inboxId: number }) {
  const query = useQuery(becameQuery(String(inboxId)))
  return (
    <Section title="Result">
      <Asked query={query} rows={2}>
        {({ items }) => {
          const changes = items.find(({ inbox_id }) => inbox_id === inboxId)?.changes ?? []
          if (changes.length === 0) return <p className="quiet">It changed nothing: the mirror had all of it, or it only caused a read.</p>
          return (
            <ul className="lines">
              {changes.map(({ seq, entity, operation }) => (
                <li key={seq}>
                  <span>
                    {wordOf(entity)}, {operation}
                  </span>
                  <span className="quiet number">change {seq}</span>
                </li>
              ))}
            </ul>
          )
        }}
      </Asked>
    </Section>
  )
}
