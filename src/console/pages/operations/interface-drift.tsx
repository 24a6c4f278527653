import { useQuery } from '@tanstack/react-query'
import { headOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { interfaceDriftQuery } from '../../api/queries.ts'
import { useOfAccount } from '../../layout/search.ts'
import { Section } from '../../parts/fields.tsx'
import { Listed } from '../../parts/listed.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'

type Drift = Schemas['InterfaceDrift']

/** Where the service differs from its specification: it moves, and nothing is broken yet. */
export function InterfaceDrift() {
  const query = useQuery(interfaceDriftQuery)
  const isOfAccount = useOfAccount()
  return (
    <Section id="drift" title="API changes">
      <Listed
        query={query}
        loading={1}
        label="API changes"
        columns={columns}
        keyOf={keyOf}
        keep={isOfAccount}
        empty="Every answer is as the specification names it."
      />
    </Section>
  )
}

const keyOf = ({ account, resource, path, kind, type }: Drift) => [account, resource, path, kind, type].join(' ')

const columns: readonly Column<Drift>[] = [
  { id: 'path', head: 'Path', isWide: true, cell: ({ path }) => <span className="mono">{path}</span> },
  { id: 'resource', head: 'Read', cell: ({ resource }) => resource },
  { id: 'kind', head: 'Difference', cell: ({ kind }) => kind },
  { id: 'type', head: 'Type', rank: 2, cell: ({ type }) => type },
  { id: 'account', head: 'Account', rank: 2, cell: ({ account }) => account },
  { id: 'answers', head: 'Answers', isNumber: true, rank: 2, cell: ({ answers }) => answers },
  { id: 'first', head: headOf('first_seen_at'), isNumber: true, cell: ({ first_seen_at }) => <Age at={first_seen_at} /> },
  { id: 'last', head: headOf('last_seen_at'), isNumber: true, rank: 2, cell: ({ last_seen_at }) => <Age at={last_seen_at} /> },
]
