import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, Outlet, useParams } from '@tanstack/react-router'
import { Tabs } from 'radix-ui'
import { useCallback, useState } from 'react'
import { headOf, wordOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { deliveriesQuery, deliveryCountsQuery, overviewQuery } from '../../api/queries.ts'
import { type ListSearch, useAddress } from '../../layout/search.ts'
import { Chip } from '../../parts/chip.tsx'
import { CsvLink } from '../../parts/csv-link.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Choice, ClearFilters } from '../../parts/fields.tsx'
import { useHeld } from '../../parts/held.tsx'
import { shortId } from '../../parts/id.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { More } from '../../parts/more.tsx'
import { countUpTo } from '../../parts/numbers.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { Asked, Empty } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'
import { InsuredLink } from '../submissions.tsx'
import { Rejected } from './rejected.tsx'
import { type DeliveryFilter, ReplayButtons } from './replay.tsx'

type Delivery = Schemas['Delivery']

const tabs = [
  ['all', 'All', null],
  ['dead', 'Dead', 'dead'],
  ['rejected', 'Rejected', 'refused'],
] as const

/** What the service sent, what was refused of it, and what could not be applied. */
export function Deliveries() {
  const [search, set] = useAddress()
  const { delivery } = useParams({ strict: false })
  const { data: counts } = useQuery(deliveryCountsQuery(search['account']))
  const tab = tabs.find(([key]) => key === search['tab'])?.[0] ?? 'all'
  return (
    <ListPage title="Deliveries" detail={delivery === undefined ? null : <Outlet />}>
      <Tabs.Root value={tab} onValueChange={(next) => set({ tab: next === 'all' ? '' : next })} activationMode="manual">
        <Tabs.List className="tabs" aria-label="Deliveries">
          {tabs.map(([key, name, state]) => (
            <Tabs.Trigger key={key} value={key}>
              {name} <CountOf state={state} counts={counts?.items} />
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        <Tabs.Content value={tab} tabIndex={-1}>
          {tab === 'rejected' ? <Rejected /> : <List isDead={tab === 'dead'} />}
        </Tabs.Content>
      </Tabs.Root>
    </ListPage>
  )
}

interface CountOfProps {
  readonly state: string | null
  readonly counts: readonly Schemas['DeliveryCount'][] | undefined
}

/** How many there are in a state; nothing while none is. */
function CountOf({ state, counts }: CountOfProps) {
  const found = counts?.find((each) => each.state === state)
  return found && found.count > 0 ? <span className="quiet">{countUpTo(found)}</span> : null
}

const KINDS = [
  ['submission.events', 'events'],
  ['submission.message', 'message'],
] as const
const SPANS = [
  ['1h', 'In the last hour'],
  ['24h', 'In the last day'],
  ['7d', 'In the last week'],
] as const

/** What of the address narrows the list, but for the state. */
function narrowing(search: ListSearch): Omit<DeliveryFilter, 'state'> {
  const names = ['text', 'account', 'kind', 'since', 'until', 'submission_id'] as const
  return Object.fromEntries(names.flatMap((name) => (search[name] ? [[name, search[name]]] : [])))
}

const NONE: ReadonlySet<string> = new Set()

function List({ isDead }: { readonly isDead: boolean }) {
  const [search, set] = useAddress()
  const state = isDead ? 'dead' : (search['state'] as Delivery['state'] | undefined)
  const filter = { ...(state && { state }), ...narrowing(search) }
  const [chosen, setChosen] = useChosen(JSON.stringify(filter))
  const isNarrowed = Object.keys(filter).length > (isDead ? 1 : 0)
  const query = useInfiniteQuery(deliveriesQuery({ limit: 100, ...filter }))
  const onSearch = useCallback((text: string) => set({ text }), [set])
  const { data: counts } = useQuery(deliveryCountsQuery(search['account']))
  const named = (each: string) => {
    const found = counts?.items.find((one) => one.state === each)
    return found ? `${wordOf(each)} (${countUpTo(found)})` : wordOf(each)
  }
  return (
    <>
      <div className="filters">
        <SearchField
          label="Search deliveries"
          placeholder="Insured, type, market, id, error"
          value={search['text'] ?? ''}
          onChange={onSearch}
        />
        {!isDead && (
          <Choice
            label="State"
            all="Any status"
            value={state ?? ''}
            options={['ready', 'done', 'aside'].map((each) => [each, named(each)] as const)}
            onChange={(next) => set({ state: next })}
          />
        )}
        <Choice label="Type" all="Any type" value={search['kind'] ?? ''} options={KINDS} onChange={(kind) => set({ kind })} />
        <Choice label="Received" all="At any time" value={search['since'] ?? ''} options={SPANS} onChange={(since) => set({ since })} />
        <ClearFilters names={['text', 'state', 'kind', 'since']} linked={['until', 'submission_id']} />
        <CsvLink path="/api/v1/inbox" filter={filter} of="Deliveries" />
        <ReplayButtons chosen={chosen} filter={filter} isNothingFound={isNothing(query.data)} onDone={() => setChosen(new Set())} />
      </div>
      <Asked query={query}>
        {({ pages }) => (
          <>
            <Rows rows={pages.flatMap(({ items }) => items)} isDead={isDead} isNarrowed={isNarrowed} chosen={chosen} onChoose={setChosen} />
            <More pages={query} />
          </>
        )}
      </Asked>
    </>
  )
}

/** The selection in a list. What was selected in another one, by other filters, is in sight no more, and is not replayed with this. */
function useChosen(list: string): readonly [ReadonlySet<string>, (ids: ReadonlySet<string>) => void] {
  const [chosen, setChosen] = useState({ list, ids: NONE })
  return [chosen.list === list ? chosen.ids : NONE, (ids) => setChosen({ list, ids })]
}

/** Whether the list was read, and is empty. */
function isNothing(
  data: { readonly pages: readonly { readonly items: readonly unknown[]; readonly next_cursor: string | null }[] } | undefined,
): boolean {
  return data?.pages.every(({ items, next_cursor }) => items.length === 0 && next_cursor === null) ?? false
}

interface RowsProps {
  readonly rows: readonly Delivery[]
  readonly isDead: boolean
  readonly isNarrowed: boolean
  readonly chosen: ReadonlySet<string>
  readonly onChoose: (chosen: ReadonlySet<string>) => void
}

const keyOf = ({ inbox_id }: Delivery) => String(inbox_id)

function Rows({ rows, isDead, isNarrowed, chosen, onChoose }: RowsProps) {
  const { delivery } = useParams({ strict: false })
  const { shown, notice } = useHeld(rows, keyOf)
  const { data: overview } = useQuery(overviewQuery)
  const hidden = (overview?.accounts.length ?? 0) > 1 ? [] : ['account']
  if (rows.length === 0) {
    if (isNarrowed) return <Empty>No delivery fits these filters.</Empty>
    return (
      <Empty>
        {isDead ? 'Nothing is dead: every delivery could be applied.' : 'No delivery has come yet. The first signed webhook appears here.'}
      </Empty>
    )
  }
  const choose = (id: string, isChosen: boolean) => {
    const next = new Set(chosen)
    if (isChosen) next.add(id)
    else next.delete(id)
    onChoose(next)
  }
  return (
    <>
      {notice}
      <Table
        label="Deliveries"
        columns={[chooser(chosen, choose), ...(delivery === undefined ? columns : besideOne)]}
        rows={shown}
        hidden={hidden}
        keyOf={keyOf}
        isChosen={(row) => keyOf(row) === delivery || row.delivery_id === delivery}
      />
    </>
  )
}

function chooser(chosen: ReadonlySet<string>, choose: (id: string, isChosen: boolean) => void): Column<Delivery> {
  return {
    id: 'chosen',
    head: '',
    holds: 'box',
    cell: (row) => (
      <input
        type="checkbox"
        aria-label={`Select delivery ${row.delivery_id}`}
        checked={chosen.has(keyOf(row))}
        onChange={({ target }) => choose(keyOf(row), target.checked)}
      />
    ),
  }
}

const columns: readonly Column<Delivery>[] = [
  { id: 'at', head: headOf('received_at'), cell: ({ received_at }) => <Age at={received_at} /> },
  {
    id: 'what',
    head: 'What happened',
    isWide: true,
    cell: (row) => (
      <>
        <Link
          to="/deliveries/$delivery"
          params={{ delivery: keyOf(row) }}
          search={true}
          className="row-link"
          data-row=""
          title={row.delivery_id}
        >
          {row.what === null ? (row.kind ?? row.delivery_id) : wordOf(row.what)}
        </Link>
        {row.error !== null && <ErrorNote text={row.error} of={`Delivery ${shortId(row.delivery_id)}`} />}
      </>
    ),
  },
  { id: 'submission', head: headOf('insured_name'), rank: 2, isOnPhone: true, cell: (row) => <InsuredOf {...row} /> },
  { id: 'kind', head: 'Type', rank: 3, cell: ({ kind }) => kind?.replace(/^submission\./, '') ?? <span className="quiet">–</span> },
  { id: 'delivery', head: headOf('delivery_id'), rank: 3, cell: ({ delivery_id }) => <span className="mono">{shortId(delivery_id)}</span> },
  { id: 'account', head: 'Account', rank: 2, cell: ({ account }) => account },
  {
    id: 'state',
    head: headOf('state'),
    cell: ({ state }) => <Chip word={state} />,
  },
  { id: 'attempts', head: 'Attempts', isNumber: true, rank: 3, cell: ({ attempts }) => attempts },
]

/** What is left of the list beside one that was opened, whose title names the insured where there is little room. */
const besideOne = columns.flatMap((column): Column<Delivery>[] => {
  if (column.id === 'submission') return [{ ...column, rank: 4, cell: (row) => <span className="cut">{column.cell(row)}</span> }]
  return ['at', 'what', 'state'].includes(column.id) ? [column] : []
})

function InsuredOf({ account, submission_id, insured_name }: Pick<Delivery, 'account' | 'submission_id' | 'insured_name'>) {
  if (submission_id === null) return <span className="quiet">–</span>
  return <InsuredLink item={{ account, submission_id, insured_name }} />
}

export function SubmissionOf({ account, submission_id: id }: { readonly account: string; readonly submission_id: string | null }) {
  if (id === null) return <span className="quiet">–</span>
  return (
    <Link to="/submissions/$account/$submission_id" params={{ account, submission_id: id }} className="mono" title={id}>
      {shortId(id)}
    </Link>
  )
}
