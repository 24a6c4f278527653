import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { headOf } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { answered, api, type Schemas } from '../../api/client.ts'
import { rejectedQuery } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { Button } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Listed } from '../../parts/listed.tsx'
import { counted, size } from '../../parts/numbers.ts'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'
import { Reason } from './reason.tsx'

type Refused = Schemas['RefusedDelivery']

/** Deliveries that were refused, with the reason. */
export function Rejected() {
  const [{ account }] = useAddress()
  const query = useInfiniteQuery(rejectedQuery(account))
  const [asks, setAsks] = useState(false)
  const replay = useAction({
    run: () => answered(api.POST('/api/v1/rejected/replay', { body: account === undefined ? {} : { account } })),
    done: ({ accepted, refused }) => {
      const others = Object.values(refused).reduce((sum, n) => sum + n, 0)
      return `${counted(accepted, 'rejected delivery', 'rejected deliveries')} verify now and will be worked; ${others} still do not.`
    },
  })
  return (
    <>
      <div className="filters">
        <div className="actions">
          <Button needs="operator" isSmall isBusy={replay.isPending} onClick={() => setAsks(true)}>
            Verify all again
          </Button>
        </div>
      </div>
      {asks && (
        <Confirm title="Verify rejected deliveries again?" deed="Verify again" onDo={() => replay.mutate()} onClose={() => setAsks(false)}>
          For after a secret was mended. Those that verify now are stored and worked, their time judged by when they came.
        </Confirm>
      )}
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
  { id: 'account', head: 'Account', cell: ({ account }) => account ?? <span className="quiet">–</span> },
  { id: 'address', head: 'From', rank: 2, cell: ({ address }) => <span className="mono">{address}</span> },
  { id: 'size', head: 'Size', isNumber: true, rank: 3, cell: ({ body_bytes }) => (body_bytes === null ? '–' : size(body_bytes)) },
  {
    id: 'state',
    head: 'State',
    cell: ({ replayed_at }) => (replayed_at ? <Chip word="accepted" label="accepted later" /> : <Chip word="refused" />),
  },
]
