import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { headOf, wordOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { foundQuery } from '../../api/queries.ts'
import { useOfAccount } from '../../layout/search.ts'
import { Section } from '../../parts/fields.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Age, durationText } from '../../parts/time.tsx'

/** As many as one sees at a glance, and as a person goes through. */
const NEWEST = 8
const MANY = 200

type Found = Schemas['FoundWithoutWebhook']

/** The webhooks that have not come, and how what they would have told was found. Nothing is shown while all came. */
export function FoundWithoutWebhook() {
  const [isWhole, setIsWhole] = useState(false)
  const { data } = useQuery(foundQuery(isWhole ? MANY : NEWEST + 1))
  const isOfAccount = useOfAccount()
  const items = data?.items.filter(isOfAccount) ?? []
  const hasMore = !isWhole && items.length > NEWEST
  if (items.length === 0) return null
  return (
    <Section title="Webhooks that have not come">
      <Table
        label="Webhooks that have not come"
        columns={columns}
        rows={hasMore ? items.slice(0, NEWEST) : items}
        keyOf={({ entity, record_id }) => `${entity} ${record_id}`}
      />
      {hasMore && (
        <div className="more">
          <button type="button" className="button small" onClick={() => setIsWhole(true)}>
            Show the newest {MANY}
          </button>
        </div>
      )}
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
  { id: 'what', head: headOf('what'), cell: ({ what }) => (what ?? '–').replaceAll('_', ' ') },
  { id: 'market', head: 'Market', rank: 2, isOnPhone: true, cell: ({ market_name }) => market_name ?? '–' },
  { id: 'how', head: 'Found', cell: howFound },
  { id: 'webhook', head: 'Webhook', rank: 2, isOnPhone: true, cell: webhookText },
  { id: 'at', head: headOf('known_at'), isNumber: true, rank: 2, isOnPhone: true, cell: ({ known_at }) => <Age at={known_at} isAgo /> },
]

function webhookText({ lost, before_tracked }: Found): string {
  if (before_tracked) return 'before it was tracked'
  return lost ? 'lost' : 'may still come'
}

function howFound({ occurred_at, known_at, known_via }: Found): string {
  const way = `by ${wordOf(known_via)}`
  return occurred_at === null ? way : `${way}, ${durationText(Math.max(0, Date.parse(known_at) - Date.parse(occurred_at)))} later`
}
