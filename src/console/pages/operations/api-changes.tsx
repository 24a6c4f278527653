import { useQuery } from '@tanstack/react-query'
import { headOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { apiChangesQuery } from '../../api/queries.ts'
import { useOfAccount } from '../../layout/search.ts'
import { Section } from '../../parts/fields.tsx'
import { QueryTable } from '../../parts/query-table.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'

type ApiChange = Schemas['ApiChanges']

export function ApiChanges() {
  const query = useQuery(apiChangesQuery)
  const isOfAccount = useOfAccount()
  return (
    <Section id="api-changes" title="API changes">
      <QueryTable query={query} label="API changes" columns={columns} keyOf={keyOf} keep={isOfAccount} empty="No API changes." />
    </Section>
  )
}

const keyOf = ({ account, resource, path, kind, type }: ApiChange) => [account, resource, path, kind, type].join(' ')

const columns: readonly Column<ApiChange>[] = [
  { id: 'path', head: 'Path', isWide: true, cell: ({ path }) => <span className="mono">{path}</span> },
  { id: 'resource', head: 'Resource', cell: ({ resource }) => resource },
  { id: 'kind', head: 'Difference', cell: ({ kind }) => kind },
  { id: 'type', head: 'Type', rank: 2, cell: ({ type }) => type },
  { id: 'account', head: 'Account', rank: 2, cell: ({ account }) => account },
  { id: 'answers', head: 'Times seen', isNumber: true, rank: 2, cell: ({ answers }) => answers },
  { id: 'first', head: headOf('first_seen_at'), isNumber: true, cell: ({ first_seen_at }) => <Age at={first_seen_at} /> },
  { id: 'last', head: headOf('last_seen_at'), isNumber: true, rank: 2, cell: ({ last_seen_at }) => <Age at={last_seen_at} /> },
]
