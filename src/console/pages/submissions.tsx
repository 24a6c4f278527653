import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { headOf, wordOf } from '../../ops/output/words.ts'
import type { Schemas } from '../api/client.ts'
import { overviewQuery, submissionCountsQuery, submissionsQuery } from '../api/queries.ts'
import { type ListSearch, useAddress } from '../layout/search.ts'
import { Chip, toneOf } from '../parts/chip.tsx'
import { CsvLink } from '../parts/csv-link.tsx'
import { ClearFilters, FilterChoice, FilterSearch } from '../parts/fields.tsx'
import { Check } from '../parts/form.tsx'
import { shortId } from '../parts/id.tsx'
import { Menu } from '../parts/menu.tsx'
import { count, counted, countUpTo, money } from '../parts/numbers.ts'
import { ListPage } from '../parts/page.tsx'
import { QueryTable } from '../parts/query-table.tsx'
import { DASH } from '../parts/states.tsx'
import type { Column } from '../parts/table.tsx'
import { Age, AsOf, dateText } from '../parts/time.tsx'

export type Item = Schemas['SubmissionItem']

const stages = ['bound', 'quoted', 'needs_info', 'in_progress', 'not_available', 'unreachable', 'unknown']

export function Submissions() {
  const [search, set] = useAddress()
  const { data: overview } = useQuery(overviewQuery)
  const { data: counts } = useQuery(submissionCountsQuery(search['account']))
  const options = stages.map((each) => {
    const found = counts?.items.find((one) => one.stage === each)
    return [each, found === undefined ? wordOf(each) : `${wordOf(each)} (${countUpTo(found)})`] as const
  })
  return (
    <ListPage title="Submissions" lead={overview && <SubmissionCount overview={overview} />}>
      <div className="filters">
        <FilterSearch name="search" label="Search submissions" placeholder="Insured, id, market, status" />
        <FilterChoice name="stage" label="Status" all="Any status" options={options} />
        <ClearFilters names={['search', 'stage']} linked={['market', 'status']} />
        <CsvLink path="/api/v1/submissions" filter={{ ...filtersIn(search), sort: search['sort'] }} of="Submissions" />
        <Columns hidden={hiddenIn(search['hide'])} onChange={(hide) => set({ hide: hide.join(',') })} />
      </div>
      <List />
    </ListPage>
  )
}

function SubmissionCount({ overview: { submissions, counted_at } }: { readonly overview: Schemas['Overview'] }) {
  if (submissions.known === null) return <>Not counted yet. Counts are updated once a minute while a process is running.</>
  return (
    <>
      {counted(submissions.known, 'submission')} <AsOf at={counted_at} />
    </>
  )
}

function hiddenIn(hide: string | undefined): string[] {
  return hide?.split(',').filter(Boolean) ?? []
}

function filtersIn(search: ListSearch): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ['search', 'account', 'market', 'status', 'stage'].flatMap((key) => (search[key] ? [[key, search[key] ?? '']] : [])),
  )
}

function List() {
  const [search, set] = useAddress()
  const sort = search['sort'] ?? '-moved'
  const filters = filtersIn(search)
  const query = useInfiniteQuery(submissionsQuery({ ...filters, sort: sort as '-moved', limit: 100 }))
  return (
    <>
      <QueryTable
        query={query}
        label="Submissions"
        columns={columns}
        keyOf={keyOf}
        hidden={hiddenIn(search['hide'])}
        sort={sort}
        onSort={(next) => set({ sort: next })}
        empty={Object.keys(filters).length > 0 ? 'No submissions match these filters.' : NONE_KNOWN}
      />
      <Legend />
    </>
  )
}

const NONE_KNOWN = (
  <>
    No submissions yet. The first webhook adds one, or run <code>submission-mirror track ID</code>.
  </>
)

interface ColumnsProps {
  readonly hidden: readonly string[]
  readonly onChange: (hidden: readonly string[]) => void
}

function Columns({ hidden, onChange }: ColumnsProps) {
  return (
    <Menu label="Columns" className="button">
      {columns.slice(1).map(({ id, head }) => (
        <Check
          key={id}
          checked={!hidden.includes(id)}
          onChange={({ target }) => onChange(target.checked ? hidden.filter((each) => each !== id) : [...hidden, id])}
        >
          {head}
        </Check>
      ))}
    </Menu>
  )
}

const keyOf = ({ account, submission_id }: Item) => `${account}/${submission_id}`

interface InsuredLinkProps {
  readonly item: Pick<Schemas['RejectedDelivery'], 'account' | 'submission_id' | 'insured_name'>
  readonly isRow?: boolean
}

export function InsuredLink({ item: { account, submission_id, insured_name }, isRow }: InsuredLinkProps) {
  if (account === null || submission_id === null) return DASH
  const params = { account, submission_id }
  return (
    <Link to="/submissions/$account/$submission_id" params={params} className="row-link" data-row={isRow ? '' : undefined}>
      <bdi>{insured_name || shortId(submission_id)}</bdi>
    </Link>
  )
}

function Lanes({ lanes }: Pick<Item, 'lanes'>) {
  if (lanes.length === 0) return DASH
  const text = lanes.map(
    ({ market_name, chip, status_label }) => `${market_name ?? 'unknown market'}: ${wordOf(chip ?? status_label ?? 'unknown')}`,
  )
  return (
    <span className="lane-marks inline" role="img" aria-label={text.join(', ')} title={text.join('\n')}>
      {lanes.slice(0, 8).map(({ lane_id, chip }) => (
        <i key={lane_id} className={toneOf(chip)} />
      ))}
      <span className="quiet">{lanes.length}</span>
    </span>
  )
}

/** Shows the most urgent state of the submission's changes, over all destinations. */
function Pushed({ pushed }: Pick<Item, 'pushed'>) {
  if (pushed === null) return DASH
  const { dead, held, unmapped, waiting } = pushed
  if (dead > 0) return <Chip word="dead" label={`${count(dead)} dead`} />
  if (held > 0) return <Chip word="held" label={`${count(held)} blocked`} />
  if (unmapped > 0) return <Chip word="unmapped" label={`${count(unmapped)} unmapped`} />
  if (waiting > 0) return <Chip word="waiting" label={`${count(waiting)} waiting`} />
  return <Chip word="delivered" />
}

function Legend() {
  return (
    <p className="legend cluster quiet small-text" aria-hidden="true">
      {(['bound', 'quoted', 'needs_info', 'declined', 'unreachable'] as const).map((word) => (
        <span key={word} className="lane-marks inline">
          <i className={toneOf(word)} />
          <span>{word === 'needs_info' ? 'waiting' : wordOf(word)}</span>
        </span>
      ))}
    </p>
  )
}

const columns: readonly Column<Item>[] = [
  {
    id: 'insured',
    head: headOf('insured_name'),
    isWide: true,
    cell: (item) => <InsuredLink item={item} isRow />,
    sorts: ['name', '-name'],
  },
  { id: 'stage', head: headOf('stage'), cell: ({ stage: word }) => <Chip word={word} />, sorts: ['stage', '-stage'] },
  { id: 'lanes', head: 'Lanes', rank: 2, cell: ({ lanes }) => <Lanes lanes={lanes} /> },
  {
    id: 'quote',
    head: 'Lowest quote',
    isNumber: true,
    rank: 2,
    isOnPhone: true,
    cell: ({ best_quote }) =>
      best_quote ? <span title={best_quote.market_name ?? undefined}>{money(best_quote.total_cents)}</span> : DASH,
    sorts: ['lowest_quote', '-lowest_quote'],
  },
  { id: 'pushed', head: 'Destinations', rank: 2, isOnPhone: true, cell: ({ pushed }) => <Pushed pushed={pushed} /> },
  {
    id: 'outstanding',
    head: headOf('outstanding_count'),
    isNumber: true,
    rank: 2,
    cell: ({ outstanding_count: n }) => (n > 0 ? count(n) : DASH),
    sorts: ['-outstanding', 'outstanding'],
  },
  {
    id: 'effective',
    head: 'Effective',
    isNumber: true,
    rank: 3,
    cell: ({ effective_date }) => (effective_date ? dateText(effective_date) : DASH),
    sorts: ['effective_date', '-effective_date'],
  },
  { id: 'moved', head: headOf('moved_at'), isNumber: true, cell: ({ moved_at }) => <Age at={moved_at} />, sorts: ['-moved', 'moved'] },
  {
    id: 'read',
    head: headOf('oldest_read_at'),
    isNumber: true,
    rank: 4,
    cell: ({ oldest_read_at }) => <Age at={oldest_read_at} none="never" />,
  },
  {
    id: 'reconciled',
    head: headOf('reconciled_at'),
    isNumber: true,
    rank: 3,
    cell: ({ reconciled_at }) => <Age at={reconciled_at} none="never" />,
  },
]
