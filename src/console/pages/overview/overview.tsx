import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense } from 'react'
import type { Schemas } from '../../api/client.ts'
import { completenessQuery, overviewQuery, refusedLatelyQuery } from '../../api/queries.ts'
import { useAnchor } from '../../layout/anchor.ts'
import { useAddress, useOfAccount } from '../../layout/search.ts'
import { Section } from '../../parts/fields.tsx'
import { count, counted, countUpTo } from '../../parts/numbers.ts'
import { useTitle } from '../../parts/page.tsx'
import { Asked, Loading } from '../../parts/states.tsx'
import { Age, AsOf } from '../../parts/time.tsx'
import { FoundWithoutWebhook } from './found.tsx'
import { Needs } from './needs.tsx'

type Shown = Schemas['Overview']

const Charts = lazy(async () => {
  repairLanguage()
  return { default: (await import('./charts.tsx')).Charts }
})

/** A browser may name a language that its own formats refuse (`en-US@posix`), with which the charts could not be loaded. */
function repairLanguage(): void {
  try {
    Intl.getCanonicalLocales(navigator.language)
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en-US' })
  }
}

/** The first page: is it right? */
export function Overview() {
  return <Asked query={useQuery(overviewQuery)}>{(overview) => <Told overview={overview} />}</Asked>
}

function Told({ overview }: { readonly overview: Shown }) {
  useTitle(overview.sentence)
  const isOfAccount = useOfAccount()
  useAnchor()
  return (
    <div className="page overview">
      <h1 className={`verdict ${overview.verdict}`}>{overview.sentence}</h1>
      <Looked overview={overview} />
      <Section title="Needs you" className="needs-section">
        <Needs needs={overview.needs.filter(isOfAccount)} />
        <RefusedLately />
      </Section>
      <FoundWithoutWebhook />
      <Suspense fallback={<Loading rows={4} />}>
        <Charts />
      </Suspense>
    </div>
  )
}

/** Deliveries that were refused and not accepted since: no alarm tells of a few. */
function RefusedLately() {
  const [{ account }] = useAddress()
  const { data } = useQuery(refusedLatelyQuery(account))
  const n = data?.items.length ?? 0
  if (n === 0) return null
  return (
    <p className="nothing">
      {countUpTo({ count: n, is_complete: data?.next_cursor === null })} {n === 1 ? 'delivery was' : 'deliveries were'} refused in the last
      day, and not accepted since.{' '}
      <Link to="/deliveries" search={{ tab: 'rejected', ...(account && { account }) }}>
        Show rejected deliveries
      </Link>
    </p>
  )
}

/** Since when, and the figures that it was judged by. */
function Looked({ overview }: { readonly overview: Shown }) {
  const { data } = useQuery(completenessQuery)
  const accounts = data?.items ?? []
  const proven = accounts.reduce((sum, each) => sum + each.proven, 0)
  const lost = accounts.reduce((sum, each) => sum + each.lost_webhooks, 0)
  const oldestProof = earliest(accounts.map(({ oldest_proof_at }) => oldest_proof_at))
  const oldestUnsent = earliest(overview.destinations.map(({ oldest_unsent_at }) => oldest_unsent_at))
  const stuck = stuckText(overview.destinations)
  const { known } = overview.submissions
  return (
    <>
      {overview.since && (
        <p className="since">
          Since <Age at={overview.since} />
        </p>
      )}
      <dl className="figures">
        <Figure
          name="Proved equal to the service"
          note={
            <>
              {oldestProof && (
                <>
                  oldest proof <Age at={oldestProof} />{' '}
                </>
              )}
              <AsOf at={data?.counted_at} />
            </>
          }
        >
          {data && known !== null ? `${count(proven)} of ${count(known)}` : '…'}
        </Figure>
        <Figure name="Lost webhooks" note={lost > 0 ? 'all found by polling' : undefined}>
          {data ? (
            lost > 0 ? (
              <Link to="/" hash="lost">
                {count(lost)}
              </Link>
            ) : (
              0
            )
          ) : (
            '…'
          )}
        </Figure>
        <Figure
          name="Waiting to be applied"
          note={
            overview.inbox.oldest_at && (
              <>
                oldest <Age at={overview.inbox.oldest_at} />
              </>
            )
          }
        >
          {count(overview.inbox.count)}
        </Figure>
        <Figure name="Waiting for destinations" note={stuck && <Link to="/destinations">{stuck}</Link>}>
          {oldestUnsent ? (
            <>
              since <Age at={oldestUnsent} />
            </>
          ) : stuck ? (
            'until you act'
          ) : (
            'nothing'
          )}
        </Figure>
      </dl>
    </>
  )
}

/** @returns what goes to destinations only when somebody acts: `1 submission without a client, 1 dead change`. */
function stuckText(destinations: Shown['destinations']): string {
  const sum = (of: 'unmapped' | 'held' | 'dead' | 'unknown') => destinations.reduce((total, each) => total + each[of].count, 0)
  const parts: readonly (readonly [n: number, one: string, many: string])[] = [
    [sum('unmapped'), 'submission without a client', 'submissions without a client'],
    [sum('held'), 'submission on hold', 'submissions on hold'],
    [sum('dead'), 'dead change', 'dead changes'],
    [sum('unknown'), 'change of unknown outcome', 'changes of unknown outcome'],
  ]
  return parts.flatMap(([n, one, many]) => (n > 0 ? [counted(n, one, many)] : [])).join(', ')
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
      <dt>{name}</dt>
      <dd>
        <strong>{children}</strong>
        {note && <span className="quiet">{note}</span>}
      </dd>
    </div>
  )
}
