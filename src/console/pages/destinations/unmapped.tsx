import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Schemas } from '../../api/client.ts'
import { unmappedQuery } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { Button } from '../../parts/button.tsx'
import { FilterSearch } from '../../parts/fields.tsx'
import { Id, shortId } from '../../parts/id.tsx'
import { count } from '../../parts/numbers.ts'
import { QueryTable } from '../../parts/query-table.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'
import { MapDialog } from '../submission/map-dialog.tsx'
import { InsuredLink } from '../submissions.tsx'

type Unmapped = Schemas['UnmappedSubmission']

const keyOf = ({ account, submission_id }: Unmapped) => `${account}/${submission_id}`

export function UnmappedList({ name }: { readonly name: string }) {
  const [{ search = '', account }] = useAddress()
  const [mapped, setMapped] = useState<Unmapped | null>(null)
  const query = useInfiniteQuery(unmappedQuery(name, { limit: 100, ...(search && { search }), ...(account && { account }) }))
  return (
    <>
      <div className="filters">
        <FilterSearch name="search" label="Search unmapped submissions" placeholder="Insured, id" />
      </div>
      <QueryTable
        query={query}
        label={`Unmapped submissions at ${name}`}
        columns={columnsWith(setMapped)}
        keyOf={keyOf}
        empty={search ? 'No unmapped submissions match this search.' : 'No unmapped submissions.'}
      />
      {mapped && <MapDialog of={mapped} at={name} onClose={() => setMapped(null)} />}
    </>
  )
}

function columnsWith(onMap: (row: Unmapped) => void): readonly Column<Unmapped>[] {
  return [
    { id: 'insured', head: 'Insured', isWide: true, cell: (row) => <InsuredLink item={row} isRow /> },
    { id: 'id', head: 'Submission', rank: 2, cell: ({ submission_id }) => <Id id={submission_id} /> },
    { id: 'changes', head: 'Changes waiting', isNumber: true, cell: ({ changes }) => count(changes) },
    { id: 'since', head: 'Since', isNumber: true, cell: ({ since }) => <Age at={since} /> },
    {
      id: 'actions',
      head: '',
      holds: 'buttons',
      isNumber: true,
      cell: (row) => (
        <Button requires="operator" isSmall onClick={() => onMap(row)} label={`Map ${row.insured_name || shortId(row.submission_id)}`}>
          Map…
        </Button>
      ),
    },
  ]
}
