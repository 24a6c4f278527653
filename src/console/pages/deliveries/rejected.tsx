import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { headOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { deliveryCountsQuery, rejectedQuery } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { Chip } from '../../parts/chip.tsx'
import { size } from '../../parts/numbers.ts'
import { QueryTable } from '../../parts/query-table.tsx'
import { DASH } from '../../parts/states.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'
import { InsuredLink } from '../submissions.tsx'
import { Reason } from './reason.tsx'
import { VerifyAgain } from './verify-again.tsx'

type Rejected = Schemas['RejectedDelivery']

export function RejectedList() {
  const [{ account }] = useAddress()
  const query = useInfiniteQuery(rejectedQuery(account))
  const { data: counts } = useQuery(deliveryCountsQuery(account))
  const hasOpen = counts?.items.some(({ state, count }) => state === 'rejected' && count > 0)
  return (
    <>
      <div className="filters">
        <div className="actions">{hasOpen && <VerifyAgain account={account} />}</div>
      </div>
      <QueryTable
        query={query}
        label="Deliveries"
        columns={columns}
        keyOf={({ rejected_id }) => String(rejected_id)}
        empty="No rejected deliveries."
      />
    </>
  )
}

const columns: readonly Column<Rejected>[] = [
  { id: 'at', head: headOf('received_at'), cell: ({ received_at }) => <Age at={received_at} /> },
  {
    id: 'reason',
    head: 'Reason',
    isWide: true,
    cell: ({ rejected_id, reason }) => (
      <Link to="/deliveries/$delivery" params={{ delivery: `rejected-${rejected_id}` }} search={true} className="row-link" data-row="">
        <Reason reason={reason} />
      </Link>
    ),
  },
  { id: 'submission', head: headOf('insured_name'), rank: 2, isOnPhone: true, cell: (row) => <InsuredLink item={row} /> },
  { id: 'kind', head: 'Type', rank: 3, cell: ({ kind }) => kind?.replace(/^submission\./, '') ?? DASH },
  { id: 'account', head: 'Account', cell: ({ account }) => account ?? DASH },
  { id: 'address', head: 'From', rank: 2, cell: ({ address }) => <span className="mono">{address}</span> },
  { id: 'size', head: 'Size', isNumber: true, rank: 3, cell: ({ body_bytes }) => (body_bytes === null ? '–' : size(body_bytes)) },
  {
    id: 'state',
    head: 'State',
    cell: ({ replayed_at }) => (replayed_at ? <Chip word="accepted" label="accepted later" /> : <Chip word="rejected" label="rejected" />),
  },
]
