import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction } from '../../api/action.ts'
import { answered, api, type Schemas } from '../../api/client.ts'
import { destinationsQuery } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Detail } from '../../parts/detail.tsx'
import { counted } from '../../parts/numbers.ts'
import { Asked, Empty } from '../../parts/states.tsx'
import { Changes } from './changes.tsx'
import { DeadChanges } from './dead-changes.tsx'
import { DestinationFacts } from './facts.tsx'
import { Failures } from './failures.tsx'
import { PreviewDialog } from './preview.tsx'
import { ResendDialog } from './resend.tsx'
import { StateChip } from './state.tsx'
import { VerifyDialog } from './verify.tsx'

type Shown = Schemas['Destination']

/** One destination: its state, what waits for it, what it refused. */
export function Destination() {
  const { name = '' } = useParams({ strict: false })
  const query = useQuery(destinationsQuery)
  return (
    <Asked query={query} rows={4}>
      {({ items }) => {
        const found = items.find(({ destination }) => destination === name)
        if (!found) {
          return (
            <Detail title="Not found" back="/destinations">
              <Empty>The settings have no destination of this name.</Empty>
            </Detail>
          )
        }
        return <Told key={name} destination={found} />
      }}
    </Asked>
  )
}

function Told({ destination: d }: { readonly destination: Shown }) {
  return (
    <Detail
      title={d.destination}
      back="/destinations"
      chip={<StateChip destination={d} />}
      lead={d.reason ?? undefined}
      actions={<Actions destination={d} />}
    >
      <DestinationFacts destination={d} />
      <Failures name={d.destination} />
      <Changes destination={d} />
    </Detail>
  )
}

function Actions({ destination: d }: { readonly destination: Shown }) {
  const [asks, setAsks] = useState<'retry' | 'resend' | 'verify' | 'preview' | null>(null)
  const path = { params: { path: { name: d.destination } } }
  const pause = useAction({
    run: () => answered(api.POST('/api/v1/destinations/{name}/pause', { ...path, body: {} })),
    done: () => `${d.destination} is paused; its changes are queued all the same.`,
  })
  const resume = useAction({
    run: () => answered(api.POST('/api/v1/destinations/{name}/resume', path)),
    done: () => `${d.destination} goes on; what failed before is tried now.`,
  })
  const test = useAction({ run: () => answered(api.POST('/api/v1/destinations/{name}/test', path)), done: ({ text }) => text })
  const retry = useAction({
    run: () => answered(api.POST('/api/v1/outbox/retry', { body: { destination: d.destination, state: 'dead' } })),
    done: ({ changed }) => `${counted(changed, 'change')} for ${d.destination} will be tried again.`,
  })
  const isStopped = d.state !== null && d.state !== 'active'
  return (
    <>
      {isStopped ? (
        <Button needs="operator" isSmall kind="primary" isBusy={resume.isPending} onClick={() => resume.mutate()}>
          Resume
        </Button>
      ) : (
        <Button needs="operator" isSmall isBusy={pause.isPending} onClick={() => pause.mutate()}>
          Pause
        </Button>
      )}
      <Button needs="operator" isSmall isBusy={test.isPending} onClick={() => test.mutate()}>
        Test
      </Button>
      <Button needs="operator" isSmall disabled={d.dead === 0} isBusy={retry.isPending} onClick={() => setAsks('retry')}>
        Retry dead
      </Button>
      <Button needs="operator" isSmall onClick={() => setAsks('resend')}>
        Resend…
      </Button>
      <Button needs="operator" isSmall disabled={!d.can_verify || isStopped} onClick={() => setAsks('verify')}>
        Verify…
      </Button>
      {asks === 'verify' && <VerifyDialog destination={d.destination} onClose={() => setAsks(null)} />}
      {(d.kind === 'webhook' || d.kind === 'http') && (
        <Button needs="operator" isSmall onClick={() => setAsks('preview')}>
          Preview request…
        </Button>
      )}
      {asks === 'preview' && <PreviewDialog destination={d.destination} onClose={() => setAsks(null)} />}
      {asks === 'resend' && <ResendDialog destination={d.destination} onClose={() => setAsks(null)} />}
      {asks === 'retry' && (
        <Confirm
          title={`Retry ${counted(d.dead, 'dead change')}?`}
          deed={`Retry ${counted(d.dead, 'change')}`}
          onDo={() => retry.mutate()}
          onClose={() => setAsks(null)}
        >
          <DeadChanges destination={d.destination} total={d.dead} />
        </Confirm>
      )}
    </>
  )
}
