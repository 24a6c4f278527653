import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useCallback } from 'react'
import { headOf, wordOf } from '../../ops/output/words.ts'
import type { Schemas } from '../api/client.ts'
import { overviewQuery, submissionCountsQuery, submissionsQuery } from '../api/queries.ts'
import { type ListSearch, useAddress } from '../layout/search.ts'
import { Chip, toneOf } from '../parts/chip.tsx'
import { CsvLink } from '../parts/csv-link.tsx'
import { Choice, ClearFilters } from '../parts/fields.tsx'
import { shortId } from '../parts/id.tsx'
import { Listed } from '../parts/listed.tsx'
import { count, countUpTo, money } from '../parts/numbers.ts'
import { Page } from '../parts/page.tsx'
import { SearchField } from '../parts/search-field.tsx'
import type { Column } from '../parts/table.tsx'
import { Age, AsOf, dateText } from '../parts/time.tsx'

export type Item = Schemas['SubmissionItem']

const stages = ['bound', 'quoted', 'needs_info', 'in_progress', 'not_available', 'unreachable', 'unknown']

/** The list of all submissions. */
export function Submissions() {
  const [search, set] = useAddress()
  const { data: overview } = useQuery(overviewQuery)
  const { data: counts } = useQuery(submissionCountsQuery(search['account']))
  const onSearch = useCallback((text: string) => set({ search: text }), [set])
  const named = stages.map((each) => {
    const counted = counts?.items.find((one) => one.stage === each)
    return [each, counted === undefined ? wordOf(each) : `${wordOf(each)} (${countUpTo(counted)})`] as const
  })
  return (
    <Page title="Submissions" className="lists" lead={overview && <Known overview={overview} />}>
      <div className="filters">
        <SearchField
          label="Search submissions"
          placeholder="Insured, id, market, status"
          value={search['search'] ?? ''}
          onChange={onSearch}
        />
        <Choice label="Status" all="Any status" value={search['stage'] ?? ''} options={named} onChange={(each) => set({ stage: each })} />
        <ClearFilters names={['search', 'stage']} linked={['market', 'status']} />
        <CsvLink path="/api/v1/submissions" filter={{ ...askedIn(search), sort: search['sort'] }} of="Submissions" />
        <Columns hidden={hiddenIn(search['hide'])} onChange={(hide) => set({ hide: hide.join(',') })} />
      </div>
      <List />
    </Page>
  )
}

/** How many there are; of a large mirror as they were counted last. */
function Known({ overview: { submissions, counted_at } }: { readonly overview: Schemas['Overview'] }) {
  if (submissions.known === null) return <>not counted yet: that is done once a minute while a process is running</>
  return (
    <>
      {count(submissions.known)} known <AsOf at={counted_at} />
    </>
  )
}

function hiddenIn(hide: string | undefined): string[] {
  return hide?.split(',').filter(Boolean) ?? []
}

/** What of the address narrows the list. */
function askedIn(search: ListSearch): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ['search', 'account', 'market', 'status', 'stage'].flatMap((key) => (search[key] ? [[key, search[key] ?? '']] : [])),
  )
}

function List() {
  const [search, set] = useAddress()
  const sort = search['sort'] ?? '-moved'
  const asked = askedIn(search)
  const query = useInfiniteQuery(submissionsQuery({ ...asked, sort: sort as '-moved', limit: 100 }))
  return (
    <>
      <Listed
        query={query}
        label="Submissions"
        columns={columns}
        keyOf={keyOf}
        hidden={hiddenIn(search['hide'])}
        sort={sort}
        onSort={(next) => set({ sort: next })}
        empty={Object.keys(asked).length > 0 ? 'No submission fits these filters.' : NONE_KNOWN}
      />
      <Legend />
    </>
  )
}

const NONE_KNOWN = (
  <>
    The mirror knows no submission yet. The first webhook makes one known, or <code>submission-mirror track ID</code>.
  </>
)

interface ColumnsProps {
  readonly hidden: readonly string[]
  readonly onChange: (hidden: readonly string[]) => void
}

function Columns({ hidden, onChange }: ColumnsProps) {
  return (
    <details className="columns">
      <summary className="button">Columns</summary>
      <fieldset className="menu">
        <legend className="unseen">Columns</legend>
        {columns.slice(1).map(({ id, head }) => (
          <label key={id} className="check">
            <input
              type="checkbox"
              checked={!hidden.includes(id)}
              onChange={({ target }) => onChange(target.checked ? hidden.filter((each) => each !== id) : [...hidden, id])}
            />
            {head}
          </label>
        ))}
      </fieldset>
    </details>
  )
}

const keyOf = ({ account, submission_id }: Item) => `${account}/${submission_id}`

export function InsuredLink({
  item,
  isRow = false,
}: {
  readonly item: Pick<Item, 'account' | 'submission_id' | 'insured_name'>
  readonly isRow?: boolean
}) {
  const { account, submission_id, insured_name } = item
  return (
    <Link
      to="/submissions/$account/$submission_id"
      params={{ account, submission_id }}
      className="row-link"
      {...(isRow && { 'data-row': '' })}
    >
      <bdi>{insured_name || shortId(submission_id)}</bdi>
    </Link>
  )
}

/** The lanes of a submission, a mark each. */
function Lanes({ lanes }: Pick<Item, 'lanes'>) {
  if (lanes.length === 0) return <span className="quiet">–</span>
  const text = lanes.map(
    ({ market_name, chip, status_label }) => `${market_name ?? 'a market'}: ${wordOf(chip ?? status_label ?? 'unknown')}`,
  )
  return (
    <span className="lane-marks" role="img" aria-label={text.join(', ')} title={text.join('\n')}>
      {lanes.slice(0, 8).map(({ lane_id, chip }) => (
        <i key={lane_id} className={toneOf(chip)} />
      ))}
      <span className="quiet">{lanes.length}</span>
    </span>
  )
}

/** What became of its changes at the destinations: what is dead stands first, then what waits. */
function Pushed({ pushed }: Pick<Item, 'pushed'>) {
  if (pushed === null) return <span className="quiet">–</span>
  const { dead, held, unmapped, waiting } = pushed
  if (dead > 0) return <Chip word="dead" label={`${count(dead)} dead`} />
  if (held > 0) return <Chip word="held" label={`${count(held)} on hold`} />
  if (unmapped > 0) return <Chip word="unmapped" label={`${count(unmapped)} unmapped`} />
  if (waiting > 0) return <Chip word="waiting" label={`${count(waiting)} waiting`} />
  return <Chip word="delivered" />
}

/** What the marks of lanes mean. */
function Legend() {
  return (
    <p className="legend" aria-hidden="true">
      {(['bound', 'quoted', 'needs_info', 'declined', 'unreachable'] as const).map((word) => (
        <span key={word} className="lane-marks">
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
      best_quote ? (
        <span title={best_quote.market_name ?? undefined}>{money(best_quote.total_cents)}</span>
      ) : (
        <span className="quiet">–</span>
      ),
    sorts: ['lowest_quote', '-lowest_quote'],
  },
  { id: 'pushed', head: 'Destinations', rank: 2, isOnPhone: true, cell: ({ pushed }) => <Pushed pushed={pushed} /> },
  {
    id: 'outstanding',
    head: headOf('outstanding_count'),
    isNumber: true,
    rank: 2,
    cell: ({ outstanding_count: n }) => (n > 0 ? count(n) : <span className="quiet">–</span>),
    sorts: ['-outstanding', 'outstanding'],
  },
  {
    id: 'effective',
    head: 'Effective',
    isNumber: true,
    rank: 3,
    cell: ({ effective_date }) => (effective_date ? dateText(effective_date) : <span className="quiet">–</span>),
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
  { id: 'proved', head: headOf('proved_at'), isNumber: true, rank: 3, cell: ({ proved_at }) => <Age at={proved_at} none="never" /> },
]
