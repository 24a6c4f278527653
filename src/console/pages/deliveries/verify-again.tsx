import { useAction } from '../../api/action.ts'
import { api, unwrap } from '../../api/client.ts'
import { ActionButton } from '../../parts/button.tsx'
import { ConfirmButton } from '../../parts/confirm.tsx'
import { counted } from '../../parts/numbers.ts'

const VERIFY_HELP = `Use this after correcting a secret. Deliveries whose signature is now valid are stored and applied. Each timestamp is
  compared with the time of receipt.`

/**
 * Button that verifies rejected deliveries again: the delivery `id`, or all deliveries of `account`. Without both, it
 * verifies all rejected deliveries.
 */
export function VerifyAgain({ id, account }: { readonly id?: string | undefined; readonly account?: string | undefined }) {
  const replay = useAction({
    run: () =>
      unwrap(api.POST('/api/v1/rejected/replay', { body: id !== undefined ? { ids: [id] } : account !== undefined ? { account } : {} })),
    done: ({ accepted, rejected }) => {
      const others = Object.values(rejected).reduce((sum, n) => sum + n, 0)
      const verified = counted(accepted, 'rejected delivery', 'rejected deliveries')
      return `${verified} accepted.${others > 0 ? ` ${counted(others, 'delivery', 'deliveries')} still rejected.` : ''}`
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
