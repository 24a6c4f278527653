import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { settingsQuery } from '../../api/more-queries.ts'
import { Section } from '../../parts/fields.tsx'
import { textOf } from '../../parts/masked.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { Asked } from '../../parts/states.tsx'

/** The settings in force. Of a secret only that it is there. */
export function Settings() {
  const query = useQuery(settingsQuery)
  const [find, setFind] = useState('')
  return (
    <Section title="Settings in force" actions={<SearchField label="Search settings" value={find} onChange={setFind} />}>
      <Asked query={query} rows={4}>
        {({ items }) => (
          <dl className="facts settings">
            {items
              .filter(({ name }) => name.includes(find))
              .map(({ name, value, is_secret }) => (
                <div key={name}>
                  <dt className="mono">{name}</dt>
                  <dd>
                    {is_secret ? <span className="quiet">set, not shown</span> : textOf(Array.isArray(value) ? value.map(String) : value)}
                  </dd>
                </div>
              ))}
          </dl>
        )}
      </Asked>
    </Section>
  )
}
