import { useState } from 'react'
import { useAction } from '../../api/action.ts'
import { answered, api } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { count, counted } from '../../parts/numbers.ts'

/** Has all refused deliveries verified again, of one account or of all. */
export function VerifyAgain({ account }: { readonly account: string | undefined }) {
  const [asks, setAsks] = useState(false)
  const replay = useAction({
    run: () => answered(api.POST('/api/v1/rejected/replay', { body: account === undefined ? {} : { account } })),
    done: ({ accepted, refused }) => {
      const others = Object.values(refused).reduce((sum, n) => sum + n, 0)
      const verified = counted(accepted, 'rejected delivery', 'rejected deliveries')
      return `${verified} accepted, and applied within seconds.${others > 0 ? ` ${count(others)} still refused.` : ''}`
    },
  })
  return (
    <>
      <Button needs="operator" isSmall isBusy={replay.isPending} onClick={() => setAsks(true)}>
        Verify all again
      </Button>
      {asks && (
        <Confirm title="Verify rejected deliveries again?" deed="Verify again" onDo={() => replay.mutate()} onClose={() => setAsks(false)}>
          For after a secret was mended. Those that verify now are stored and worked, their time judged by when they came.
        </Confirm>
      )}
    </>
  )
}
