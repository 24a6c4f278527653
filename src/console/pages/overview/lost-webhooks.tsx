import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { headOf, wordOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { foundQuery } from '../../api/queries.ts'
import { useOfAccount } from '../../layout/search.ts'
import { Button } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { count } from '../../parts/numbers.ts'
import { type Column, Table } from '../../parts/table.tsx'
import { Age, durationText } from '../../parts/time.tsx'
import { InsuredLink } from '../submissions.tsx'

const FIRST_ROWS = 8
const MAX_ROWS = 200

type Found = Schemas['FoundWithoutWebhook']

export function LostWebhooks() {
  const [isExpanded, setExpanded] = useState(false)
  const { data } = useQuery(foundQuery(MAX_ROWS))
  const isOfAccount = useOfAccount()
  const items = data?.items.filter(isOfAccount) ?? []
  const hasMore = !isExpanded && items.length > FIRST_ROWS
  if (items.length === 0) return null
  return (
    <Section id="lost" title="Webhooks lost or late">
      <Table
        label="Webhooks lost or late"
        columns={columns}
        rows={hasMore ? items.slice(0, FIRST_ROWS) : items}
        keyOf={({ entity, record_id }) => `${entity} ${record_id}`}
      />
      {hasMore && (
        <div className="more">
          <Button isSmall onClick={() => setExpanded(true)}>
            {data?.next_cursor === null ? `Show all ${count(items.length)}` : `Show newest ${count(items.length)}`}
          </Button>
        </div>
      )}
    </Section>
  )
}

const columns: readonly Column<Found>[] = [
  { id: 'insured', head: 'Insured', isWide: true, cell: (found) => <InsuredLink item={found} isRow /> },
  { id: 'what', head: 'What happened', isWide: true, cell: whatHappened },
  { id: 'webhook', head: 'Webhook', cell: (found) => <Webhook found={found} /> },
  { id: 'how', head: 'Found', rank: 2, isOnPhone: true, cell: howFound },
  { id: 'at', head: headOf('known_at'), isNumber: true, rank: 2, isOnPhone: true, cell: ({ known_at }) => <Age at={known_at} /> },
]

/** @returns a text such as `quote received · Harborline`. */
function whatHappened({ what, market_name }: Found): string {
  return [wordOf(what ?? 'unknown'), market_name].filter(Boolean).join(' · ')
}

function Webhook({ found: { lost, before_tracked } }: { readonly found: Found }) {
  if (!lost) return <Chip word="late" tone="waiting" />
  return before_tracked ? <Chip word="lost, before tracking" tone="bad" /> : <Chip word="lost" tone="bad" />
}

function howFound({ occurred_at, known_at, known_via }: Found): string {
  const way = `by ${wordOf(known_via)}`
  return occurred_at === null
    ? way
    : `${way}, ${durationText(Math.max(0, Date.parse(known_at) - Date.parse(occurred_at)))} after it happened`
}
