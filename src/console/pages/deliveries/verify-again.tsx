import { useState } from 'react'
import { useAction } from '../../api/action.ts'
import { answered, api } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { count, counted } from '../../parts/numbers.ts'

/** Has rejected deliveries verified again: one, or all of an account or of all accounts. */
export function VerifyAgain({ id, account }: { readonly id?: string | undefined; readonly account?: string | undefined }) {
  const [asks, setAsks] = useState(false)
  const replay = useAction({
    run: () =>
      answered(api.POST('/api/v1/rejected/replay', { body: id !== undefined ? { ids: [id] } : account !== undefined ? { account } : {} })),
    done: ({ accepted, refused }) => {
      const others = Object.values(refused).reduce((sum, n) => sum + n, 0)
      const verified = counted(accepted, 'rejected delivery', 'rejected deliveries')
      return `${verified} accepted, and applied within seconds.${others > 0 ? ` ${count(others)} still rejected.` : ''}`
    },
  })
  const start = () => (id === undefined ? setAsks(true) : replay.mutate())
  return (
    <>
      <Button needs="operator" isSmall isBusy={replay.isPending} onClick={start}>
        {id === undefined ? 'Verify all again' : 'Verify again'}
      </Button>
      {asks && (
        <Confirm title="Verify rejected deliveries again?" deed="Verify again" onDo={() => replay.mutate()} onClose={() => setAsks(false)}>
          Use this after correcting a secret. Deliveries that verify now are stored and applied. Their timestamp is compared with the time
          they were received.
        </Confirm>
      )}
    </>
  )
}
