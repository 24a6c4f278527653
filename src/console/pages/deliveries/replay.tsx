import { useState } from 'react'
import { useAction } from '../../api/action.ts'
import { announce, announceRefusal } from '../../api/announce.ts'
import { answered, api, reasonOf, type Schemas } from '../../api/client.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { counted } from '../../parts/numbers.ts'

/** What the list is narrowed by; the route of the replay takes the same. */
export interface DeliveryFilter {
  readonly state?: Schemas['Delivery']['state']
  readonly account?: string
  readonly text?: string
  readonly kind?: string
  readonly since?: string
  readonly until?: string
  readonly submission_id?: string
}

/** Deliveries that were meant, and how many of them would be worked again. */
interface Asked {
  readonly choice: DeliveryFilter | { readonly ids: readonly string[] }
  readonly count: number
}

async function replay(choice: Asked['choice'], isDry: boolean): Promise<number> {
  const body = 'ids' in choice ? { ids: [...choice.ids] } : choice
  return (await answered(api.POST('/api/v1/inbox/replay', { body: { ...body, dry_run: isDry } }))).replayed
}

interface ReplayProps {
  readonly chosen: ReadonlySet<string>
  readonly filter: DeliveryFilter
  /** There is nothing to replay. */
  readonly isNothingFound: boolean
  readonly onDone: () => void
}

const deliveries = (n: number) => counted(n, 'delivery', 'deliveries')

/** Replays what was selected, or everything that the list's filter finds, after telling how many there are. */
export function ReplayButtons({ chosen, filter, isNothingFound, onDone }: ReplayProps) {
  const [asked, setAsked] = useState<Asked | null>(null)
  const [isCounting, setIsCounting] = useState(false)
  const deed = useAction({
    run: async (choice: Asked['choice']) => {
      const n = await replay(choice, false)
      onDone()
      return n
    },
    done: (n) => `${deliveries(n)} will be worked again; ${n === 1 ? 'its' : 'their'} state is shown in the list.`,
  })
  const count = async () => {
    setIsCounting(true)
    try {
      const n = await replay(filter, true)
      if (n === 0) announce('None of these deliveries can be worked again: they wait already, or their bodies are not kept any more.')
      else setAsked({ choice: filter, count: n })
    } catch (error) {
      announceRefusal(reasonOf(error))
    } finally {
      setIsCounting(false)
    }
  }
  const names = Object.keys(filter)
  const isAllDead = filter.state === 'dead' && names.length === 1
  return (
    <div className="actions">
      <Button
        needs="operator"
        isSmall
        disabled={chosen.size === 0}
        isBusy={deed.isPending}
        onClick={() => setAsked({ choice: { ids: [...chosen] }, count: chosen.size })}
      >
        Replay selected
      </Button>
      {names.length > 0 && (
        <Button needs="operator" isSmall disabled={isNothingFound} isBusy={isCounting || deed.isPending} onClick={() => void count()}>
          {isAllDead ? 'Replay all dead' : 'Replay all found'}
        </Button>
      )}
      {asked && (
        <Confirm
          title={`Replay ${deliveries(asked.count)}?`}
          deed={`Replay ${deliveries(asked.count)}`}
          onDo={() => deed.mutate(asked.choice)}
          onClose={() => setAsked(null)}
        >
          {'ids' in asked.choice ? '' : 'These are all that the filters of the list find, on further pages too. '}
          They are worked again as if they had just come. What the mirror has already is not written twice.
        </Confirm>
      )}
    </div>
  )
}
