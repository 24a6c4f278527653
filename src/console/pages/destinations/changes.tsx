import { useInfiniteQuery } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { wordOf } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { answered, api, type Schemas } from '../../api/client.ts'
import { outboxQuery } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { Button } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { CsvLink } from '../../parts/csv-link.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Choice, ClearFilters, Section } from '../../parts/fields.tsx'
import { shortId } from '../../parts/id.tsx'
import { Listed } from '../../parts/listed.tsx'
import { count, counted } from '../../parts/numbers.ts'
import { SearchField } from '../../parts/search-field.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'
import { MapDialog } from '../submission/map-dialog.tsx'
import { Exchange, WholeError } from './exchange.tsx'
import { Unmapped } from './unmapped.tsx'

type Destination = Schemas['Destination']
type Push = Schemas['OutboxRow']

const states = ['waiting', 'retrying', 'dead', 'unknown', 'held', 'unmapped', 'delivered', 'skipped'] as const
type State = (typeof states)[number]
/** In the address, where somebody wants no state although the list opens on one. */
const ANY = 'any'

/** @returns the state that needs a person first; any when none does. */
function firstState(d: Destination): State | typeof ANY {
  if (d.dead > 0) return 'dead'
  if (d.unknown > 0) return 'unknown'
  if (d.held_lanes > 0) return 'held'
  return d.unmapped_lanes > 0 ? 'unmapped' : ANY
}

/** The changes for a destination. It opens on those that need a person, and stays there when the last of them was settled. */
export function Changes({ destination }: { readonly destination: Destination }) {
  const { destination: name } = destination
  const [address, set] = useAddress()
  const [first] = useState(() => firstState(destination))
  const state = address['state'] || first
  const { dead, unknown } = destination
  const counts: Readonly<Partial<Record<string, number>>> = { dead, unknown }
  const named = (each: string) => (counts[each] === undefined ? wordOf(each) : `${wordOf(each)} (${count(counts[each])})`)
  const filter = (
    <Choice
      label="State"
      all="Any status"
      value={state === ANY ? '' : state}
      options={states.map((each) => [each, named(each)] as const)}
      onChange={(next) => set({ state: next || ANY, search: '', reason: '' })}
    />
  )
  return (
    <Section title={state === 'unmapped' ? 'Submissions without a client' : 'Changes'} actions={filter}>
      {state === 'unmapped' ? <Unmapped name={name} /> : <List name={name} state={state === ANY ? null : (state as State)} />}
    </Section>
  )
}

function List({ name, state }: { readonly name: string; readonly state: State | null }) {
  const [{ text = '', reason = '' }, set] = useAddress()
  const [mapped, setMapped] = useState<Push | null>(null)
  const narrowing = { ...(state && { state }), ...(text && { text }), ...(reason && { reason }) }
  const query = useInfiniteQuery(outboxQuery({ destination: name, limit: 50, ...narrowing }))
  const onSearch = useCallback((next: string) => set({ text: next }), [set])
  const [skipped, setSkipped] = useState<Push | null>(null)
  const { retry, skip } = useSettle(name)
  const columns = columnsWith({ onRetry: (id) => retry.mutate(id), onSkip: setSkipped, onMap: setMapped })
  return (
    <>
      <div className="filters">
        <SearchField label={`Search changes for ${name}`} placeholder="Insured, table, id, error" value={text} onChange={onSearch} />
        <ClearFilters names={['text']} linked={['reason']} />
        <CsvLink path="/api/v1/outbox" filter={{ destination: name, ...narrowing }} of={`Changes for ${name}`} />
      </div>
      <Listed
        query={query}
        loading={4}
        label={`Changes for ${name}`}
        columns={columns}
        keyOf={({ outbox_id }) => String(outbox_id)}
        empty={text || reason ? 'No change fits these filters.' : 'No change is in this state.'}
      />
      {skipped && (
        <Confirm
          title={`Skip change ${skipped.seq}?`}
          deed="Skip the change"
          isDanger
          onDo={() => skip.mutate(String(skipped.outbox_id))}
          onClose={() => setSkipped(null)}
        >
          <p>
            <bdi>{skipped.insured_name || skipped.submission_id}</bdi>: {wordOf(skipped.entity)} {skipped.operation}
          </p>
          <p className="quiet">It is given up for good: {name} never gets it, and what waited behind it goes on.</p>
        </Confirm>
      )}
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
  readonly onSkip: (row: Push) => void
  readonly onMap: (row: Push) => void
}

function columnsWith({ onRetry, onSkip, onMap }: Deeds): readonly Column<Push>[] {
  const deeds = (row: Push) => {
    const id = String(row.outbox_id)
    const isStuck = row.state === 'dead' || row.state.startsWith('unknown')
    return (
      <span className="row-deeds">
        <Exchange outboxId={row.outbox_id} seq={row.seq} destination={row.destination} />
        {isStuck && (
          <>
            <Button needs="operator" isSmall onClick={() => onRetry(id)} label={`Retry change ${row.seq}`}>
              Retry
            </Button>
            <Button needs="operator" isSmall onClick={() => onSkip(row)} label={`Skip change ${row.seq}`}>
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
      cell: ({ outbox_id, submission_id, insured_name, entity, operation, message_id, error, detail, seq }) => (
        <>
          <span title={[message_id, detail].filter(Boolean).join('\n')}>
            {entity}.{operation}
          </span>
          {submission_id !== null && (
            <span className="cell-note quiet">
              <bdi>{insured_name || shortId(submission_id)}</bdi>
            </span>
          )}
          {error !== null && (
            <ErrorNote text={error} of={[`Change ${seq}`, insured_name].filter(Boolean).join(', ')}>
              <WholeError outboxId={outbox_id} error={error} />
            </ErrorNote>
          )}
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
