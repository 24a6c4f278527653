import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../../api/client.ts'
import { failuresQuery } from '../../api/queries.ts'
import { Chip } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { count } from '../../parts/numbers.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'

type Failure = Schemas['Failure']

export function Failures({ name }: { readonly name: string }) {
  const { data } = useQuery(failuresQuery(name))
  if (data === undefined || data.items.length === 0) return null
  return (
    <Section title="Failures by reason">
      <Table
        label={`Failures at ${name}`}
        columns={columnsFor(name)}
        rows={data.items}
        keyOf={({ state, status, reason }) => [state, status, reason].join(' ')}
      />
      {data.items.some(({ is_complete }) => !is_complete) && <p className="quiet">Only the newest failures are counted.</p>}
    </Section>
  )
}

function columnsFor(name: string): readonly Column<Failure>[] {
  return [
    { id: 'changes', head: 'Changes', isNumber: true, cell: ({ changes }) => count(changes) },
    {
      id: 'reason',
      head: 'Reason',
      isWide: true,
      cell: ({ state, reason }) => (
        <Link to="/destinations/$name" params={{ name }} search={{ state, ...(reason !== null && { reason }) }} className="row-link">
          {reason ?? 'no reason recorded'}
        </Link>
      ),
    },
    { id: 'state', head: 'State', cell: ({ state }) => <Chip word={state} /> },
    { id: 'submissions', head: 'Submissions', isNumber: true, rank: 2, cell: ({ submissions }) => count(submissions) },
    { id: 'last', head: 'Last failure', isNumber: true, cell: ({ last_at }) => <Age at={last_at} /> },
  ]
}
