import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, Outlet, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { headOf, wordOf } from '../../../ops/output/words.ts'
import type { Schemas } from '../../api/client.ts'
import { deliveriesQuery, deliveryCountsQuery, overviewQuery } from '../../api/queries.ts'
import { type ListSearch, useAddress } from '../../layout/search.ts'
import { Chip } from '../../parts/chip.tsx'
import { CsvLink } from '../../parts/csv-link.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { ClearFilters, FilterChoice, FilterSearch } from '../../parts/fields.tsx'
import { useFrozenList } from '../../parts/frozen-list.tsx'
import { shortId } from '../../parts/id.tsx'
import { More } from '../../parts/more.tsx'
import { countUpTo } from '../../parts/numbers.ts'
import { ListPage } from '../../parts/page.tsx'
import { DASH, Empty, QueryState } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'
import { InsuredLink } from '../submissions.tsx'
import { RejectedList } from './rejected.tsx'
import { type DeliveryFilter, ReplayButtons } from './replay.tsx'

type Delivery = Schemas['Delivery']

const tabs = [
  ['all', 'All', null],
  ['dead', 'Dead', 'dead'],
  ['rejected', 'Rejected', 'rejected'],
] as const

export function Deliveries() {
  const [search, set] = useAddress()
  const { delivery } = useParams({ strict: false })
  const { data: counts } = useQuery(deliveryCountsQuery(search['account']))
  const tab = tabs.find(([key]) => key === search['tab'])?.[0] ?? 'all'
  return (
    <ListPage title="Deliveries" detail={delivery === undefined ? null : <Outlet />}>
      <div className="tabs" role="tablist" aria-label="Deliveries">
        {tabs.map(([key, name, state]) => (
          <button
            key={key}
            type="button"
            role="tab"
            aria-selected={key === tab}
            aria-controls="deliveries"
            onClick={() => set({ tab: key === 'all' ? '' : key })}
          >
            {name} <Count state={state} counts={counts?.items} />
          </button>
        ))}
      </div>
      <div id="deliveries" role="tabpanel" aria-label="Deliveries">
        {tab === 'rejected' ? <RejectedList /> : <List isDead={tab === 'dead'} />}
      </div>
    </ListPage>
  )
}

interface CountProps {
  readonly state: string | null
  readonly counts: readonly Schemas['DeliveryCount'][] | undefined
}

function Count({ state, counts }: CountProps) {
  const found = counts?.find((each) => each.state === state)
  return found && found.count > 0 ? <span className="quiet">{countUpTo(found)}</span> : null
}

const KINDS = [
  ['submission.events', 'events'],
  ['submission.message', 'message'],
] as const
const SPANS = [
  ['1h', 'Last hour'],
  ['24h', 'Last day'],
  ['7d', 'Last week'],
] as const

function filtersIn(search: ListSearch): Omit<DeliveryFilter, 'state'> {
  const names = ['text', 'account', 'kind', 'since', 'until', 'submission_id'] as const
  return Object.fromEntries(names.flatMap((name) => (search[name] ? [[name, search[name]]] : [])))
}

const NONE: ReadonlySet<string> = new Set()

function List({ isDead }: { readonly isDead: boolean }) {
  const [search] = useAddress()
  const state = isDead ? 'dead' : (search['state'] as Delivery['state'] | undefined)
  const filter = { ...(state && { state }), ...filtersIn(search) }
  const [chosen, setChosen] = useChosen(JSON.stringify(filter))
  const isNarrowed = Object.keys(filter).length > (isDead ? 1 : 0)
  const query = useInfiniteQuery(deliveriesQuery({ limit: 100, ...filter }))
  const { data: counts } = useQuery(deliveryCountsQuery(search['account']))
  const states = ['ready', 'done', 'aside'].map((each) => {
    const found = counts?.items.find((one) => one.state === each)
    return [each, found ? `${wordOf(each)} (${countUpTo(found)})` : wordOf(each)] as const
  })
  return (
    <>
      <div className="filters">
        <FilterSearch name="text" label="Search deliveries" placeholder="Insured, type, market, id, error" />
        {!isDead && <FilterChoice name="state" label="State" all="Any state" options={states} />}
        <FilterChoice name="kind" label="Type" all="Any type" options={KINDS} />
        <FilterChoice name="since" label="Received" all="Any time" options={SPANS} />
        <ClearFilters names={['text', 'state', 'kind', 'since']} linked={['until', 'submission_id']} />
        <CsvLink path="/api/v1/inbox" filter={filter} of="Deliveries" />
        <ReplayButtons chosen={chosen} filter={filter} isEmpty={isEmptyList(query.data)} onDone={() => setChosen(new Set())} />
      </div>
      <QueryState query={query}>
        {({ pages }) => (
          <>
            <Rows rows={pages.flatMap(({ items }) => items)} isDead={isDead} isNarrowed={isNarrowed} chosen={chosen} onChoose={setChosen} />
            <More pages={query} />
          </>
        )}
      </QueryState>
    </>
  )
}

/**
 * Returns the selected rows of a list, and a function that sets them. A change of the filters clears the selection.
 * Otherwise the user could replay rows that aren't shown.
 * @param list text that identifies the list and its filters.
 */
function useChosen(list: string): readonly [ReadonlySet<string>, (ids: ReadonlySet<string>) => void] {
  const [chosen, setChosen] = useState({ list, ids: NONE })
  return [chosen.list === list ? chosen.ids : NONE, (ids) => setChosen({ list, ids })]
}

function isEmptyList(
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
  const { shown, notice } = useFrozenList(rows, keyOf)
  const { data: overview } = useQuery(overviewQuery)
  const hidden = (overview?.accounts.length ?? 0) > 1 ? [] : ['account']
  if (rows.length === 0) {
    if (isNarrowed) return <Empty>No deliveries match these filters.</Empty>
    return <Empty>{isDead ? 'No dead deliveries.' : 'No deliveries yet. Signed webhooks appear here.'}</Empty>
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
        columns={[chooser(chosen, choose), ...(delivery === undefined ? columns : narrowColumns)]}
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
  { id: 'submission', head: headOf('insured_name'), rank: 2, isOnPhone: true, cell: (row) => <InsuredLink item={row} /> },
  { id: 'kind', head: 'Type', rank: 3, cell: ({ kind }) => kind?.replace(/^submission\./, '') ?? DASH },
  { id: 'delivery', head: headOf('delivery_id'), rank: 3, cell: ({ delivery_id }) => <span className="mono">{shortId(delivery_id)}</span> },
  { id: 'account', head: 'Account', rank: 2, cell: ({ account }) => account },
  { id: 'state', head: headOf('state'), cell: ({ state }) => <Chip word={state} /> },
  { id: 'attempts', head: 'Attempts', isNumber: true, rank: 3, cell: ({ attempts }) => attempts },
]

/**
 * Columns of the list while a delivery is open next to the list. Small screens hide the insured, because the open
 * delivery's title names it.
 */
const narrowColumns = columns.flatMap((column): Column<Delivery>[] => {
  if (column.id === 'submission') return [{ ...column, rank: 4, cell: (row) => <span className="cut ellipsis">{column.cell(row)}</span> }]
  return ['at', 'what', 'state'].includes(column.id) ? [column] : []
})

export function SubmissionOf({ account, submission_id: id }: { readonly account: string; readonly submission_id: string | null }) {
  if (id === null) return DASH
  return (
    <Link to="/submissions/$account/$submission_id" params={{ account, submission_id: id }} className="mono" title={id}>
      {shortId(id)}
    </Link>
  )
}
