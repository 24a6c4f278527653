import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useParams } from '@tanstack/react-router'
import { headOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { destinationsQuery } from '../../api/queries.ts'
import { count, share } from '../../parts/numbers.ts'
import { ListPage } from '../../parts/page.tsx'
import { QueryTable } from '../../parts/query-table.tsx'
import { DASH } from '../../parts/states.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'
import { StateChip } from './state.tsx'

type Destination = Schemas['Destination']

export function Destinations() {
  const { name } = useParams({ strict: false })
  const query = useQuery(destinationsQuery)
  return (
    <ListPage title="Destinations" detail={name === undefined ? null : <Outlet />}>
      <QueryTable
        query={query}
        label="Destinations"
        columns={name === undefined ? columns : columns.filter(({ id }) => ['name', 'state', 'queued'].includes(id))}
        keyOf={({ destination }) => destination}
        isChosen={({ destination }) => destination === name}
        empty={
          <>
            No destination is configured. See <code>config/destinations.md</code>.
          </>
        }
      />
    </ListPage>
  )
}

const number = (n: number, isBad = false) =>
  n === 0 ? <span className="quiet">0</span> : <span className={isBad ? 'bad' : undefined}>{count(n)}</span>

const columns: readonly Column<Destination>[] = [
  {
    id: 'name',
    head: 'Destination',
    isWide: true,
    cell: ({ destination }) => (
      <Link to="/destinations/$name" params={{ name: destination }} className="row-link" data-row="">
        {destination}
      </Link>
    ),
  },
  { id: 'kind', head: 'Kind', rank: 3, cell: ({ kind }) => kind ?? 'not configured' },
  { id: 'state', head: 'State', cell: (destination) => <StateChip destination={destination} /> },
  { id: 'queued', head: 'Waiting', isNumber: true, cell: ({ queued }) => number(queued) },
  {
    id: 'oldest',
    head: headOf('oldest_queued_at'),
    isNumber: true,
    rank: 2,
    cell: ({ oldest_queued_at }) => <Age at={oldest_queued_at} />,
  },
  {
    id: 'success',
    head: 'Success, last day',
    isNumber: true,
    rank: 2,
    cell: ({ last_day: { success_rate } }) => (success_rate === null ? DASH : share(success_rate)),
  },
  {
    id: 'delivered',
    head: 'Last delivery',
    isNumber: true,
    rank: 2,
    cell: ({ last_success_at }) => <Age at={last_success_at} none="never" />,
  },
  { id: 'dead', head: 'Dead', isNumber: true, cell: ({ dead }) => number(dead, true) },
  { id: 'unknown', head: 'Unknown outcome', isNumber: true, rank: 4, cell: ({ unknown }) => number(unknown, true) },
  { id: 'held', head: headOf('held_streams'), isNumber: true, rank: 4, cell: ({ held_streams }) => number(held_streams, true) },
  {
    id: 'unmapped',
    head: headOf('unmapped_streams'),
    isNumber: true,
    rank: 4,
    cell: ({ unmapped_streams }) => number(unmapped_streams, true),
  },
]
