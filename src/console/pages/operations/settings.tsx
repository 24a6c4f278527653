import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { headOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { settingsQuery } from '../../api/queries.ts'
import { Section } from '../../parts/fields.tsx'
import { textOf } from '../../parts/masked.tsx'
import { SearchField } from '../../parts/search-field.tsx'
import { Empty, QueryState } from '../../parts/states.tsx'

export function Settings() {
  const query = useQuery(settingsQuery)
  const [find, setFind] = useState('')
  return (
    <Section id="settings" title="Active settings" actions={<SearchField label="Search settings" value={find} onChange={setFind} />}>
      <QueryState query={query} rows={4}>
        {({ items }) => {
          const found = items.filter((each) => isFound(each, find))
          if (found.length === 0) return <Empty>No settings match “{find}”.</Empty>
          return [...Map.groupBy(found, ({ name }) => name.split('.')[0] ?? '')].map(([group, settings]) => (
            <div key={group} className="settings-group">
              <h3>{headOf(group)}</h3>
              <Rows settings={settings} />
            </div>
          ))
        }}
      </QueryState>
    </Section>
  )
}

function Rows({ settings }: { readonly settings: readonly Schemas['Setting'][] }) {
  return (
    <dl className="facts settings table-text">
      {settings.map(({ name, value, is_secret, variable, is_default }) => (
        <div key={name}>
          <dt className="quiet small-text">
            <span className="mono">{name}</span> {variable !== null && <span className="mono">{variable}</span>}
          </dt>
          <dd>
            {is_secret ? <span className="quiet">set, not shown</span> : textOf(Array.isArray(value) ? value.map(String) : value)}{' '}
            {is_default && <span className="quiet">default</span>}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** @returns whether each word of `find` is in the setting's name or in its environment variable. */
function isFound({ name, variable }: Schemas['Setting'], find: string): boolean {
  const words = find.toLowerCase().split(/[^a-z0-9]+/)
  return words.every((word) => name.includes(word) || variable?.toLowerCase().includes(word))
}
