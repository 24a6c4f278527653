import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense } from 'react'
import type { Schemas } from '../../api/client.ts'
import { completenessQuery, overviewQuery, recentRejectionsQuery } from '../../api/queries.ts'
import { refetchMs } from '../../api/read.ts'
import { useAnchor } from '../../layout/anchor.ts'
import { useAddress, useOfAccount } from '../../layout/search.ts'
import { Section } from '../../parts/fields.tsx'
import { count, counted, countUpTo } from '../../parts/numbers.ts'
import { useTitle } from '../../parts/page.tsx'
import { Loading, QueryState } from '../../parts/states.tsx'
import { AsOf, WordAndAge } from '../../parts/time.tsx'
import { Issues } from './issues.tsx'
import { LostWebhooks } from './lost-webhooks.tsx'

type Shown = Schemas['Overview']

const Charts = lazy(async () => {
  repairLanguage()
  return { default: (await import('./charts.tsx')).Charts }
})

/**
 * If `Intl` rejects the browser's language, such as `en-US@posix`, sets the language to `en-US`. Otherwise the charts
 * would fail.
 */
function repairLanguage(): void {
  try {
    Intl.getCanonicalLocales(navigator.language)
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en-US' })
  }
}

export function Overview() {
  return (
    <QueryState query={useQuery({ ...overviewQuery, refetchInterval: refetchMs.live })}>
      {(overview) => <Content overview={overview} />}
    </QueryState>
  )
}

function Content({ overview }: { readonly overview: Shown }) {
  useTitle(overview.sentence)
  const isOfAccount = useOfAccount()
  useAnchor()
  return (
    <div className="page overview">
      <h1 className={`verdict ${overview.verdict}`}>{overview.sentence}</h1>
      <Figures overview={overview} />
      <Section title="Needs attention" className="issues-section">
        <Issues issues={overview.issues.filter(isOfAccount)} />
        <RecentRejections />
      </Section>
      <LostWebhooks />
      <Suspense fallback={<Loading rows={4} />}>
        <Charts />
      </Suspense>
    </div>
  )
}

/**
 * Shows how many deliveries were rejected in the last day and not accepted later. Useful because a few rejected
 * deliveries don't trigger an alarm.
 */
function RecentRejections() {
  const [{ account }] = useAddress()
  const { data } = useQuery(recentRejectionsQuery(account))
  const n = data?.items.length ?? 0
  if (n === 0) return null
  return (
    <p className="nothing line quiet">
      {countUpTo({ count: n, is_complete: data?.next_cursor === null })} {n === 1 ? 'delivery was' : 'deliveries were'} rejected in the last
      day.{' '}
      <Link to="/deliveries" search={{ tab: 'rejected', ...(account && { account }) }}>
        Show rejected deliveries
      </Link>
    </p>
  )
}

function Figures({ overview }: { readonly overview: Shown }) {
  const { data } = useQuery(completenessQuery)
  const accounts = data?.items ?? []
  const reconciled = accounts.reduce((sum, each) => sum + each.reconciled, 0)
  const lost = accounts.reduce((sum, each) => sum + each.lost_webhooks, 0)
  const oldestRun = earliest(accounts.map(({ oldest_reconciled_at }) => oldest_reconciled_at))
  const oldestUnsent = earliest(overview.destinations.map(({ oldest_unsent_at }) => oldest_unsent_at))
  const stuck = stuckParts(overview.destinations)
  const { known } = overview.submissions
  return (
    <>
      {overview.since && (
        <p className="since quiet">
          <WordAndAge word={overview.verdict === 'attention' ? 'Oldest issue began' : 'Oldest overdue work was due'} at={overview.since} />
        </p>
      )}
      <dl className="figures">
        <Figure
          name="Reconciled"
          note={
            <>
              {oldestRun && <WordAndAge word="oldest check" at={oldestRun} />} <AsOf at={data?.counted_at} />
            </>
          }
        >
          {data && known !== null ? `${count(reconciled)} of ${counted(known, 'submission')}` : '…'}
        </Figure>
        <Figure name="Lost webhooks" note={lost > 0 ? 'all found by polling' : undefined}>
          {data && lost > 0 ? (
            <Link to="/" hash="lost">
              {count(lost)}
            </Link>
          ) : data ? (
            0
          ) : (
            '…'
          )}
        </Figure>
        <Figure name="Deliveries to process" note={overview.inbox.oldest_at && <WordAndAge word="oldest" at={overview.inbox.oldest_at} />}>
          {count(overview.inbox.count)}
        </Figure>
        <Figure
          name="Changes to send"
          note={stuck.length > 0 && <Link to="/destinations">{stuck.map((part) => counted(...part)).join(', ')}</Link>}
        >
          {oldestUnsent ? (
            <WordAndAge word="oldest" at={oldestUnsent} />
          ) : stuck.length > 0 ? (
            `${count(stuck.reduce((sum, [n]) => sum + n, 0))} blocked`
          ) : (
            'none'
          )}
        </Figure>
      </dl>
    </>
  )
}

/** @returns the numbers of items that wait for a person, as arguments of `counted`. Leaves out zeros. */
function stuckParts(destinations: Shown['destinations']) {
  const sum = (of: 'unmapped' | 'held' | 'dead' | 'unknown') => destinations.reduce((total, each) => total + each[of].count, 0)
  const parts: readonly (readonly [n: number, one: string, many: string])[] = [
    [sum('unmapped'), 'unmapped submission', 'unmapped submissions'],
    [sum('held'), 'blocked submission', 'blocked submissions'],
    [sum('dead'), 'dead change', 'dead changes'],
    [sum('unknown'), 'change with unknown outcome', 'changes with unknown outcome'],
  ]
  return parts.filter(([n]) => n > 0)
}

function earliest(times: readonly (string | null)[]): string | null {
  return times.reduce((a, b) => (a === null || (b !== null && b < a) ? b : a), null)
}

interface FigureProps {
  readonly name: string
  readonly note?: ReactNode
  readonly children: ReactNode
}

function Figure({ name, note, children }: FigureProps) {
  return (
    <div>
      <dt className="quiet small-text">{name}</dt>
      <dd>
        <strong>{children}</strong>
        {note && <span className="quiet small-text">{note}</span>}
      </dd>
    </div>
  )
}
