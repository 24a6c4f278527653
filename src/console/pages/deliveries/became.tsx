import { useQuery } from '@tanstack/react-query'
import { becameQuery } from '../../api/queries.ts'
import { plainWord } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { Asked } from '../../parts/states.tsx'

/** The changes that webhooks made to its submission while a delivery was worked. */
export function Became({ inboxId }: { readonly inboxId: number }) {
  const query = useQuery(becameQuery(String(inboxId)))
  return (
    <Section title="What it became">
      <Asked query={query} rows={2}>
        {({ items }) => {
          const changes = items.find(({ inbox_id }) => inbox_id === inboxId)?.changes ?? []
          if (changes.length === 0) return <p className="quiet">It changed nothing: the mirror had all of it, or it only caused a read.</p>
          return (
            <ul className="lines">
              {changes.map(({ seq, entity, operation }) => (
                <li key={seq}>
                  <span>
                    {plainWord(entity)}, {operation}
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
