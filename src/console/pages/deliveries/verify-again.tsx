import { useAction } from '../../api/action.ts'
import { api, unwrap } from '../../api/client.ts'
import { ActionButton } from '../../parts/button.tsx'
import { ConfirmButton } from '../../parts/confirm.tsx'
import { count, counted } from '../../parts/numbers.ts'

const VERIFY_HELP = `Use this after correcting a secret. Deliveries that verify now are stored and applied. Their timestamp is compared with
  the time they were received.`

/**
 * Button that verifies rejected deliveries again: the delivery `id`, or all of `account`. If both are undefined, all.
 */
export function VerifyAgain({ id, account }: { readonly id?: string | undefined; readonly account?: string | undefined }) {
  const replay = useAction({
    run: () =>
      unwrap(api.POST('/api/v1/rejected/replay', { body: id !== undefined ? { ids: [id] } : account !== undefined ? { account } : {} })),
    done: ({ accepted, rejected }) => {
      const others = Object.values(rejected).reduce((sum, n) => sum + n, 0)
      const verified = counted(accepted, 'rejected delivery', 'rejected deliveries')
      return `${verified} accepted.${others > 0 ? ` ${count(others)} still rejected.` : ''}`
    },
  })
  if (id !== undefined) return <ActionButton action={replay}>Verify again</ActionButton>
  return (
    <ConfirmButton
      isBusy={replay.isPending}
      ask={() => ({ title: 'Verify rejected deliveries again?', confirmLabel: 'Verify again', text: VERIFY_HELP })}
      onDo={() => replay.mutate()}
    >
      Verify all again
    </ConfirmButton>
  )
}
