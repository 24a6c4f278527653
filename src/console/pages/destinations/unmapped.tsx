import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import type { Schemas } from '../../api/client.ts'
import { unmappedQuery } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { Button } from '../../parts/button.tsx'
import { Id, shortId } from '../../parts/id.tsx'
import { Listed } from '../../parts/listed.tsx'
import { count } from '../../parts/numbers.ts'
import { SearchField } from '../../parts/search-field.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'
import { MapDialog } from '../submission/map-dialog.tsx'
import { InsuredLink } from '../submissions.tsx'

type Waiting = Schemas['UnmappedSubmission']

const keyOf = ({ account, submission_id }: Waiting) => `${account}/${submission_id}`

/** The submissions whose changes wait until somebody says which client they belong to, a row each: one maps a submission, not a change. */
export function Unmapped({ name }: { readonly name: string }) {
  const [{ search = '', account }, set] = useAddress()
  const [mapped, setMapped] = useState<Waiting | null>(null)
  const query = useInfiniteQuery(unmappedQuery(name, { limit: 100, ...(search && { search }), ...(account && { account }) }))
  const onSearch = useCallback((text: string) => set({ search: text }), [set])
  return (
    <>
      <div className="filters">
        <SearchField label="Search unmapped submissions" placeholder="Insured, id" value={search} onChange={onSearch} />
      </div>
      <Listed
        query={query}
        loading={4}
        label={`Submissions without a client at ${name}`}
        columns={columnsWith(setMapped)}
        keyOf={keyOf}
        empty={search ? 'No submission that waits for a client fits this search.' : 'No submission waits for a client.'}
      />
      {mapped && (
        <MapDialog
          account={mapped.account}
          id={mapped.submission_id}
          insured={mapped.insured_name}
          at={name}
          onClose={() => setMapped(null)}
        />
      )}
    </>
  )
}

function columnsWith(onMap: (row: Waiting) => void): readonly Column<Waiting>[] {
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
        <Button needs="operator" isSmall onClick={() => onMap(row)} label={`Map ${row.insured_name || shortId(row.submission_id)}`}>
          Map…
        </Button>
      ),
    },
  ]
}
