import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../../api/client.ts'
import { foundQuery } from '../../api/queries.ts'
import { useOfAccount } from '../../layout/search.ts'
import { Section } from '../../parts/fields.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Age, durationText } from '../../parts/time.tsx'

type Found = Schemas['FoundWithoutWebhook']

const WAYS: Readonly<Record<string, string>> = {
  poll: 'by polling the feed',
  replay: 'by reading the feed from its beginning',
  reconcile: 'by a reconcile run',
}

/** The webhooks that did not come, and how what they would have told was found. Nothing is shown while all came. */
export function FoundWithoutWebhook() {
  const { data } = useQuery(foundQuery)
  const isOfAccount = useOfAccount()
  const items = data?.items.filter(isOfAccount) ?? []
  if (items.length === 0) return null
  return (
    <Section title="Webhooks that did not come">
      <Table
        label="Webhooks that did not come"
        columns={columns}
        rows={items}
        keyOf={({ entity, record_id }) => `${entity} ${record_id}`}
      />
    </Section>
  )
}

const columns: readonly Column<Found>[] = [
  {
    id: 'insured',
    head: 'Insured',
    isWide: true,
    cell: ({ account, submission_id, insured_name }) => (
      <Link to="/submissions/$account/$submission_id" params={{ account, submission_id }}>
        {insured_name ?? submission_id}
      </Link>
    ),
  },
  { id: 'what', head: 'What', cell: ({ what }) => (what ?? '–').replaceAll('_', ' ') },
  { id: 'market', head: 'Market', rank: 2, cell: ({ market_name }) => market_name ?? '–' },
  { id: 'how', head: 'Found', cell: (found) => <How found={found} /> },
  { id: 'at', head: 'Ago', isNumber: true, cell: ({ known_at }) => <Age at={known_at} /> },
]

function How({ found: { occurred_at, known_at, known_via, lost } }: { readonly found: Found }) {
  const late =
    occurred_at === null ? '' : `, ${durationText(Math.max(0, Date.parse(known_at) - Date.parse(occurred_at)))} after it happened`
  return (
    <span>
      {WAYS[known_via] ?? known_via}
      {late}
      {lost ? '' : '; its webhook may still come'}
    </span>
  )
}
