import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { headOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { deliveryCountsQuery, rejectedQuery } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { Chip } from '../../parts/chip.tsx'
import { Listed } from '../../parts/listed.tsx'
import { size } from '../../parts/numbers.ts'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'
import { InsuredLink } from '../submissions.tsx'
import { Reason } from './reason.tsx'
import { VerifyAgain } from './verify-again.tsx'

type Refused = Schemas['RefusedDelivery']

/** Deliveries that were refused, with the reason. */
export function Rejected() {
  const [{ account }] = useAddress()
  const query = useInfiniteQuery(rejectedQuery(account))
  const { data: counts } = useQuery(deliveryCountsQuery(account))
  const hasOpen = counts?.items.some(({ state, count }) => state === 'refused' && count > 0)
  return (
    <>
      <div className="filters">
        <div className="actions">{hasOpen && <VerifyAgain account={account} />}</div>
      </div>
      <Listed
        query={query}
        label="Deliveries"
        columns={columns}
        keyOf={({ rejected_id }) => String(rejected_id)}
        empty="Nothing was rejected: every delivery bore a good signature."
      />
    </>
  )
}

const columns: readonly Column<Refused>[] = [
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
  {
    id: 'submission',
    head: headOf('insured_name'),
    rank: 2,
    isOnPhone: true,
    cell: ({ account, submission_id, insured_name }) =>
      account === null || submission_id === null ? (
        <span className="quiet">–</span>
      ) : (
        <InsuredLink item={{ account, submission_id, insured_name }} />
      ),
  },
  { id: 'kind', head: 'Type', rank: 3, cell: ({ kind }) => kind?.replace(/^submission\./, '') ?? <span className="quiet">–</span> },
  { id: 'account', head: 'Account', cell: ({ account }) => account ?? <span className="quiet">–</span> },
  { id: 'address', head: 'From', rank: 2, cell: ({ address }) => <span className="mono">{address}</span> },
  { id: 'size', head: 'Size', isNumber: true, rank: 3, cell: ({ body_bytes }) => (body_bytes === null ? '–' : size(body_bytes)) },
  {
    id: 'state',
    head: 'State',
    cell: ({ replayed_at }) => (replayed_at ? <Chip word="accepted" label="accepted later" /> : <Chip word="refused" />),
  },
]
