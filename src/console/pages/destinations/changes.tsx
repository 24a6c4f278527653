import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { wordOf } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { api, type Schemas, unwrap } from '../../api/client.ts'
import { outboxQuery } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { Button } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { ConfirmButton } from '../../parts/confirm.tsx'
import { CsvLink } from '../../parts/csv-link.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Choice, ClearFilters, FilterSearch, Section } from '../../parts/fields.tsx'
import { shortId } from '../../parts/id.tsx'
import { count, counted } from '../../parts/numbers.ts'
import { QueryTable } from '../../parts/query-table.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'
import { MapDialog } from '../submission/map-dialog.tsx'
import { Exchange, WholeError } from './exchange.tsx'
import { UnmappedList } from './unmapped.tsx'

type Destination = Schemas['Destination']
type Push = Schemas['OutboxRow']

const states = ['waiting', 'retrying', 'dead', 'unknown', 'held', 'unmapped', 'delivered', 'skipped'] as const
type State = (typeof states)[number]
/** Value of the query parameter `state` for all states. */
const ANY = 'any'

/** @returns the state that most needs attention; `ANY` if no state needs attention. */
function firstState(d: Destination): State | typeof ANY {
  if (d.dead > 0) return 'dead'
  if (d.unknown > 0) return 'unknown'
  if (d.held_streams > 0) return 'held'
  return d.unmapped_streams > 0 ? 'unmapped' : ANY
}

/**
 * Lists a destination's changes. At first, shows only changes in the state that most needs attention. This filter
 * stays, even after all these changes are resolved.
 */
export function Changes({ destination }: { readonly destination: Destination }) {
  const { destination: name } = destination
  const [address, set] = useAddress()
  const [first] = useState(() => firstState(destination))
  const state = address['state'] || first
  const { dead, unknown } = destination
  const counts: Readonly<Partial<Record<string, number>>> = { dead, unknown }
  const optionText = (each: string) => (counts[each] === undefined ? wordOf(each) : `${wordOf(each)} (${count(counts[each])})`)
  const filter = (
    <Choice
      label="State"
      all="Any state"
      value={state === ANY ? '' : state}
      options={states.map((each) => [each, optionText(each)] as const)}
      onChange={(next) => set({ state: next || ANY, search: '', reason: '' })}
    />
  )
  return (
    <Section title={state === 'unmapped' ? 'Unmapped submissions' : 'Changes'} actions={filter}>
      {state === 'unmapped' ? <UnmappedList name={name} /> : <List name={name} state={state === ANY ? null : (state as State)} />}
    </Section>
  )
}

function List({ name, state }: { readonly name: string; readonly state: State | null }) {
  const [{ text = '', reason = '' }] = useAddress()
  const [mapped, setMapped] = useState<Push | null>(null)
  const filters = { ...(state && { state }), ...(text && { text }), ...(reason && { reason }) }
  const query = useInfiniteQuery(outboxQuery({ destination: name, limit: 50, ...filters }))
  const { retry, skip } = useSettle(name)
  const columns = columnsWith({ onRetry: (id) => retry.mutate(id), onSkip: (id) => skip.mutate(id), onMap: setMapped })
  return (
    <>
      <div className="filters">
        <FilterSearch name="text" label={`Search changes for ${name}`} placeholder="Insured, table, id, error" />
        <ClearFilters names={['text']} linked={['reason']} />
        <CsvLink path="/api/v1/outbox" filter={{ destination: name, ...filters }} of={`Changes for ${name}`} />
      </div>
      <QueryTable
        query={query}
        label={`Changes for ${name}`}
        columns={columns}
        keyOf={({ outbox_id }) => String(outbox_id)}
        empty={text || reason ? 'No changes match these filters.' : 'No changes in this state.'}
      />
      {mapped?.submission_id && (
        <MapDialog of={{ ...mapped, submission_id: mapped.submission_id }} at={name} onClose={() => setMapped(null)} />
      )}
    </>
  )
}

function useSettle(destination: string) {
  const body = (id: string) => ({ body: { ids: [id], destination } })
  const retry = useAction({
    run: (id: string) => unwrap(api.POST('/api/v1/outbox/retry', body(id))),
    done: ({ changed }) => `${counted(changed, 'change')} queued for retry.`,
  })
  const skip = useAction({
    run: (id: string) => unwrap(api.POST('/api/v1/outbox/skip', body(id))),
    done: ({ changed }) => `${counted(changed, 'change')} skipped. Later changes continue.`,
  })
  return { retry, skip }
}

function skipQuestion({ seq, insured_name, submission_id, entity, operation, destination }: Push) {
  const text = (
    <>
      <p>
        <bdi>{insured_name || submission_id}</bdi>: {wordOf(entity)} {operation}
      </p>
      <p className="quiet">{destination} will never receive this change. Later changes continue. This can't be undone.</p>
    </>
  )
  return { title: `Skip change ${seq}?`, confirmLabel: 'Skip change', isDanger: true, text }
}

interface RowActions {
  readonly onRetry: (id: string) => void
  readonly onSkip: (id: string) => void
  readonly onMap: (row: Push) => void
}

function columnsWith({ onRetry, onSkip, onMap }: RowActions): readonly Column<Push>[] {
  const actions = (row: Push) => {
    const id = String(row.outbox_id)
    const isStuck = row.state === 'dead' || row.state.startsWith('unknown')
    return (
      <span className="row-actions">
        <Exchange outboxId={row.outbox_id} seq={row.seq} destination={row.destination} />
        {isStuck && (
          <>
            <Button requires="operator" isSmall onClick={() => onRetry(id)} label={`Retry change ${row.seq}`}>
              Retry
            </Button>
            <ConfirmButton ask={() => skipQuestion(row)} onDo={() => onSkip(id)} label={`Skip change ${row.seq}`}>
              Skip
            </ConfirmButton>
          </>
        )}
        {row.state === 'unmapped' && (
          <Button requires="operator" isSmall onClick={() => onMap(row)} label={`Map ${row.insured_name || row.submission_id}`}>
            Map…
          </Button>
        )}
      </span>
    )
  }
  return [
    { id: 'seq', head: 'Number', isNumber: true, cell: ({ seq }) => seq },
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
            <span className="cell-note ellipsis small-text quiet">
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
    { id: 'actions', head: '', holds: 'buttons', isNumber: true, cell: actions },
  ]
}
