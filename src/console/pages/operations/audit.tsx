import { useInfiniteQuery } from '@tanstack/react-query'
import { headOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { actionsQuery } from '../../api/queries.ts'
import { Chip } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { QueryTable } from '../../parts/query-table.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'

type Action = Schemas['Action']

export function Audit() {
  const query = useInfiniteQuery(actionsQuery)
  return (
    <Section id="audit" title="Audit">
      <QueryTable
        query={query}
        label="Audit"
        columns={columns}
        keyOf={({ action_id }) => String(action_id)}
        empty="No actions yet."
        more="Show earlier actions"
      />
    </Section>
  )
}

function detailOf({ target, detail }: Action): string {
  const rest = Object.keys(detail).length > 0 ? JSON.stringify(detail) : null
  return [target, rest].filter(Boolean).join(' · ')
}

const columns: readonly Column<Action>[] = [
  { id: 'at', head: 'When', cell: ({ at }) => <Age at={at} /> },
  { id: 'who', head: 'Who', cell: ({ who }) => who },
  { id: 'what', head: headOf('action'), cell: ({ action }) => action },
  {
    id: 'detail',
    head: 'Details',
    isWide: true,
    isOnPhone: true,
    rank: 2,
    cell: (row) => <span title={detailOf(row)}>{detailOf(row)}</span>,
  },
  { id: 'outcome', head: 'Outcome', cell: ({ outcome }) => <Chip word={outcome} /> },
]
