import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAction } from '../../api/action.ts'
import { answered, api, type Schemas } from '../../api/client.ts'
import { destinationsQuery, outboxQuery } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { Button } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Detail } from '../../parts/detail.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Choice, Section } from '../../parts/fields.tsx'
import { shortId } from '../../parts/id.tsx'
import { Listed } from '../../parts/listed.tsx'
import { counted } from '../../parts/numbers.ts'
import { Asked, Empty } from '../../parts/states.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'
import { MapDialog } from '../submission/map-dialog.tsx'
import { Exchange } from './exchange.tsx'
import { DestinationFacts } from './facts.tsx'
import { ResendDialog } from './resend.tsx'
import { StateChip } from './state.tsx'
import { Unmapped } from './unmapped.tsx'

type Shown = Schemas['Destination']
type Push = Schemas['OutboxRow']

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
      <Outbox name={d.destination} />
    </Detail>
  )
}

function Actions({ destination: d }: { readonly destination: Shown }) {
  const [asks, setAsks] = useState<'retry' | 'resend' | null>(null)
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
      {asks === 'resend' && <ResendDialog destination={d.destination} onClose={() => setAsks(null)} />}
      {asks === 'retry' && (
        <Confirm
          title={`Retry ${counted(d.dead, 'dead change')}?`}
          deed={`Retry ${counted(d.dead, 'change')}`}
          onDo={() => retry.mutate()}
          onClose={() => setAsks(null)}
        >
          They are sent to {d.destination} again, in their order, under the ids that they had.
        </Confirm>
      )}
    </>
  )
}

const states = ['waiting', 'retrying', 'dead', 'unknown', 'held', 'unmapped', 'delivered', 'skipped']

function Outbox({ name }: { readonly name: string }) {
  const [{ state = '' }, set] = useAddress()
  const filter = (
    <Choice label="State" all="Any status" value={state} options={states} onChange={(next) => set({ state: next, search: '' })} />
  )
  return (
    <Section title={state === 'unmapped' ? 'Submissions without a client' : 'Changes on their way'} actions={filter}>
      {state === 'unmapped' ? <Unmapped name={name} /> : <Changes name={name} state={state as 'dead' | ''} />}
    </Section>
  )
}

function Changes({ name, state }: { readonly name: string; readonly state: 'dead' | '' }) {
  const [mapped, setMapped] = useState<Push | null>(null)
  const query = useInfiniteQuery(outboxQuery({ destination: name, limit: 50, ...(state && { state }) }))
  const { retry, skip } = useSettle(name)
  const columns = columnsWith({ onRetry: (id) => retry.mutate(id), onSkip: (id) => skip.mutate(id), onMap: setMapped })
  return (
    <>
      <Listed
        query={query}
        loading={4}
        label={`Changes for ${name}`}
        columns={columns}
        keyOf={({ outbox_id }) => String(outbox_id)}
        empty="No change is in this state."
      />
      {mapped?.submission_id && (
        <MapDialog
          account={mapped.account}
          id={mapped.submission_id}
          insured={mapped.insured_name}
          at={name}
          onClose={() => setMapped(null)}
        />
      )}
    </>
  )
}

function useSettle(destination: string) {
  const body = (id: string) => ({ body: { ids: [id], destination } })
  const retry = useAction({
    run: (id: string) => answered(api.POST('/api/v1/outbox/retry', body(id))),
    done: ({ changed }) => `${counted(changed, 'change')} will be tried again.`,
  })
  const skip = useAction({
    run: (id: string) => answered(api.POST('/api/v1/outbox/skip', body(id))),
    done: ({ changed }) => `${counted(changed, 'change')} given up; what waited behind goes on.`,
  })
  return { retry, skip }
}

interface Deeds {
  readonly onRetry: (id: string) => void
  readonly onSkip: (id: string) => void
  readonly onMap: (row: Push) => void
}

function columnsWith({ onRetry, onSkip, onMap }: Deeds): readonly Column<Push>[] {
  const deeds = (row: Push) => {
    const id = String(row.outbox_id)
    const isStuck = row.state === 'dead' || row.state.startsWith('unknown')
    return (
      <span className="row-deeds">
        <Exchange outboxId={row.outbox_id} seq={row.seq} />
        {isStuck && (
          <>
            <Button needs="operator" isSmall onClick={() => onRetry(id)} label={`Retry change ${row.seq}`}>
              Retry
            </Button>
            <Button needs="operator" isSmall onClick={() => onSkip(id)} label={`Skip change ${row.seq}`}>
              Skip
            </Button>
          </>
        )}
        {row.state === 'unmapped' && (
          <Button needs="operator" isSmall onClick={() => onMap(row)} label={`Map ${row.insured_name || row.submission_id}`}>
            Map…
          </Button>
        )}
      </span>
    )
  }
  return [
    { id: 'seq', head: 'Seq', isNumber: true, cell: ({ seq }) => seq },
    {
      id: 'what',
      head: 'Change',
      isWide: true,
      cell: ({ submission_id, insured_name, entity, operation, message_id, error, detail, seq }) => (
        <>
          <span title={[message_id, detail].filter(Boolean).join('\n')}>
            {entity}.{operation}
          </span>
          {submission_id !== null && (
            <span className="cell-note quiet">
              <bdi>{insured_name || shortId(submission_id)}</bdi>
            </span>
          )}
          {error !== null && <ErrorNote text={error} of={`Change ${seq}: what went wrong`} />}
        </>
      ),
    },
    { id: 'state', head: 'State', cell: ({ state }) => <Chip word={state} /> },
    {
      id: 'at',
      head: 'When',
      isNumber: true,
      cell: ({ delivered_at, tried_at, queued_at }) => <Age at={delivered_at ?? tried_at ?? queued_at} />,
    },
    { id: 'deeds', head: '', holds: 'buttons', isNumber: true, cell: deeds },
  ]
}
