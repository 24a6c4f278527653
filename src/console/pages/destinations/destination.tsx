import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction } from '../../api/action.ts'
import { api, type Schemas, unwrap } from '../../api/client.ts'
import { destinationsQuery } from '../../api/queries.ts'
import { ActionButton, Button } from '../../parts/button.tsx'
import { ConfirmButton } from '../../parts/confirm.tsx'
import { Detail } from '../../parts/detail.tsx'
import { counted } from '../../parts/numbers.ts'
import { Empty, QueryState } from '../../parts/states.tsx'
import { Changes } from './changes.tsx'
import { DeadChanges } from './dead-changes.tsx'
import { DestinationFacts } from './facts.tsx'
import { Failures } from './failures.tsx'
import { PreviewDialog } from './preview.tsx'
import { ResendDialog } from './resend.tsx'
import { StateChip } from './state.tsx'
import { VerifyDialog } from './verify.tsx'

type Shown = Schemas['Destination']

export function Destination() {
  const { name = '' } = useParams({ strict: false })
  const query = useQuery(destinationsQuery)
  return (
    <QueryState query={query} rows={4}>
      {({ items }) => {
        const found = items.find(({ destination }) => destination === name)
        if (!found) {
          return (
            <Detail title="Not found" back="/destinations">
              <Empty>No destination with this name is configured.</Empty>
            </Detail>
          )
        }
        return <Content key={name} destination={found} />
      }}
    </QueryState>
  )
}

function Content({ destination: d }: { readonly destination: Shown }) {
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
  const [Dialog, setDialog] = useState<typeof ResendDialog | null>(null)
  const show = (dialog: typeof ResendDialog) => () => setDialog(() => dialog)
  const path = { params: { path: { name: d.destination } } }
  const pause = useAction({
    run: () => unwrap(api.POST('/api/v1/destinations/{name}/pause', { ...path, body: {} })),
    done: () => `${d.destination} is paused. New changes are queued, but not sent.`,
  })
  const resume = useAction({
    run: () => unwrap(api.POST('/api/v1/destinations/{name}/resume', path)),
    done: () => `${d.destination} resumed. Failed changes are retried now.`,
  })
  const test = useAction({
    run: () => unwrap(api.POST('/api/v1/destinations/{name}/test', path)),
    done: ({ text }) => `${d.destination}: ${text}`,
  })
  const retry = useAction({
    run: () => unwrap(api.POST('/api/v1/outbox/retry', { body: { destination: d.destination, state: 'dead' } })),
    done: ({ changed }) => `${counted(changed, 'change')} queued for retry.`,
  })
  const isStopped = d.state !== null && d.state !== 'active'
  return (
    <>
      {isStopped ? (
        <ActionButton action={resume} kind="primary">
          Resume
        </ActionButton>
      ) : (
        <ActionButton action={pause}>Pause</ActionButton>
      )}
      <ActionButton action={test}>Test</ActionButton>
      <ConfirmButton
        disabled={d.dead === 0}
        isBusy={retry.isPending}
        ask={() => ({
          title: `Retry ${counted(d.dead, 'dead change')}?`,
          confirmLabel: `Retry ${counted(d.dead, 'change')}`,
          text: <DeadChanges destination={d.destination} total={d.dead} />,
        })}
        onDo={() => retry.mutate()}
      >
        Retry dead changes
      </ConfirmButton>
      <Button requires="operator" isSmall onClick={show(ResendDialog)}>
        Resend…
      </Button>
      <Button requires="operator" isSmall disabled={!d.can_verify || isStopped} onClick={show(VerifyDialog)}>
        Verify…
      </Button>
      {(d.kind === 'webhook' || d.kind === 'http') && (
        <Button requires="operator" isSmall onClick={show(PreviewDialog)}>
          Preview request…
        </Button>
      )}
      {Dialog && <Dialog destination={d.destination} onClose={() => setDialog(null)} />}
    </>
  )
}
