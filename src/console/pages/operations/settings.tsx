import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { settingsQuery } from '../../api/queries.ts'
import { Section } from '../../parts/fields.tsx'
import { textOf } from '../../parts/masked.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { Asked, Empty } from '../../parts/states.tsx'

/** The settings in force. Of a secret only that it is there. */
export function Settings() {
  const query = useQuery(settingsQuery)
  const [find, setFind] = useState('')
  return (
    <Section id="settings" title="Settings in force" actions={<SearchField label="Search settings" value={find} onChange={setFind} />}>
      <Asked query={query} rows={4}>
        {({ items }) => {
          const found = items.filter(({ name }) => isFound(name, find))
          if (found.length === 0) return <Empty>No setting fits “{find}”.</Empty>
          return (
            <dl className="facts settings">
              {found.map(({ name, value, is_secret }) => (
                <div key={name}>
                  <dt className="mono">{name}</dt>
                  <dd>
                    {is_secret ? <span className="quiet">set, not shown</span> : textOf(Array.isArray(value) ? value.map(String) : value)}
                  </dd>
                </div>
              ))}
            </dl>
          )
        }}
      </Asked>
    </Section>
  )
}

/** Whether a setting has every word of what is looked for, which may be its variable: `POLL_ACTIVE` finds `poll.active_ms`. */
function isFound(name: string, find: string): boolean {
  const words = find.toLowerCase().split(/[^a-z0-9]+/)
  return words.every((word) => name.includes(word))
}
