import { useAction } from '../../api/action.ts'
import { announce } from '../../api/announce.ts'
import { api, type Schemas, unwrap } from '../../api/client.ts'
import { ConfirmButton } from '../../parts/confirm.tsx'
import { counted } from '../../parts/numbers.ts'

/** Filters of the list. The replay route accepts the same filters. */
export interface DeliveryFilter {
  readonly state?: Schemas['Delivery']['state']
  readonly account?: string
  readonly text?: string
  readonly kind?: string
  readonly since?: string
  readonly until?: string
  readonly submission_id?: string
}

type Choice = DeliveryFilter | { readonly ids: readonly string[] }

async function replay(choice: Choice, isDry: boolean): Promise<number> {
  const body = 'ids' in choice ? { ids: [...choice.ids] } : choice
  return (await unwrap(api.POST('/api/v1/inbox/replay', { body: { ...body, dry_run: isDry } }))).replayed
}

interface ReplayProps {
  readonly chosen: ReadonlySet<string>
  readonly filter: DeliveryFilter
  readonly isEmpty: boolean
  readonly onDone: () => void
}

const deliveries = (n: number) => counted(n, 'delivery', 'deliveries')

function questionOf(n: number, scope = '') {
  const text = `${scope}Replay processes a delivery again as if it had just arrived. No data is duplicated.`
  return { title: `Replay ${deliveries(n)}?`, confirmLabel: `Replay ${deliveries(n)}`, text }
}

/**
 * Buttons that replay the selected deliveries, or all deliveries that match the filters. Before a replay, the user sees
 * the number of deliveries and confirms.
 */
export function ReplayButtons({ chosen, filter, isEmpty, onDone }: ReplayProps) {
  const readAllAgain = useAction({
    run: async (choice: Choice) => {
      const n = await replay(choice, false)
      onDone()
      return n
    },
    done: (n) => `${deliveries(n)} queued to be processed again.`,
  })
  const askAll = async () => {
    const n = await replay(filter, true)
    if (n > 0) return questionOf(n, 'This applies to all deliveries that match the filters, including further pages. ')
    announce(
      'No deliveries to replay. The matching deliveries are already queued, or their bodies were deleted after the retention period.',
    )
    return null
  }
  const names = Object.keys(filter)
  const isAllDead = filter.state === 'dead' && names.length === 1
  return (
    <div className="actions">
      <ConfirmButton
        isBusy={readAllAgain.isPending}
        disabled={chosen.size === 0}
        ask={() => questionOf(chosen.size)}
        onDo={() => readAllAgain.mutate({ ids: [...chosen] })}
      >
        Replay selected
      </ConfirmButton>
      {names.length > 0 && (
        <ConfirmButton isBusy={readAllAgain.isPending} disabled={isEmpty} ask={askAll} onDo={() => readAllAgain.mutate(filter)}>
          {isAllDead ? 'Replay all dead' : 'Replay all matching'}
        </ConfirmButton>
      )}
    </div>
  )
}
