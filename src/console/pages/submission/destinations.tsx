import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../../api/client.ts'
import { outboxQuery } from '../../api/queries.ts'
import { Chip } from '../../parts/chip.tsx'
import { Facts, Section } from '../../parts/fields.tsx'
import { Asked, Empty } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'
import type { View } from './submission.tsx'

type Push = Schemas['OutboxRow']

/** What reached which destination, and whose client it is there. */
export function Destinations({ view }: { readonly view: View }) {
  const { account, submission_id } = view.summary
  const query = useInfiniteQuery(outboxQuery({ account, submission_id, limit: 10 }))
  return (
    <Section title="Deliveries to destinations">
      {view.clients.length > 0 && (
        <Facts
          items={view.clients.map(({ destination, client, policy }) => [
            `Client at ${destination}`,
            client === null ? (
              <span key={destination} className="quiet">
                not mapped
              </span>
            ) : (
              [client, policy].filter(Boolean).join(' · ')
            ),
          ])}
        />
      )}
      <Asked query={query} rows={3}>
        {({ pages }) => {
          const rows = pages.flatMap(({ items }) => items)
          if (rows.length === 0) return <Empty>Nothing of it is on its way, or was lately.</Empty>
          return <Table label="Deliveries to destinations" columns={columns} rows={rows} keyOf={({ outbox_id }) => String(outbox_id)} />
        }}
      </Asked>
    </Section>
  )
}

const columns: readonly Column<Push>[] = [
  {
    id: 'destination',
    head: 'Destination',
    cell: ({ destination }) => (
      <Link to="/destinations/$name" params={{ name: destination }}>
        {destination}
      </Link>
    ),
  },
  { id: 'what', head: 'Change', isWide: true, cell: ({ entity, operation, seq }) => `${entity}.${operation} · ${seq}` },
  { id: 'state', head: 'State', cell: ({ state }) => <Chip word={state} /> },
  { id: 'attempts', head: 'Attempts', isNumber: true, rank: 2, cell: ({ attempts }) => attempts },
  {
    id: 'at',
    head: 'When',
    isNumber: true,
    cell: ({ delivered_at, tried_at, queued_at }) => <Age at={delivered_at ?? tried_at ?? queued_at} />,
  },
]
