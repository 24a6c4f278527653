import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense } from 'react'
import type { Schemas } from '../../api/client.ts'
import { completenessQuery, overviewQuery } from '../../api/queries.ts'
import { useOfAccount } from '../../layout/search.ts'
import { Section } from '../../parts/fields.tsx'
import { count } from '../../parts/numbers.ts'
import { useTitle } from '../../parts/page.tsx'
import { Asked, Loading } from '../../parts/states.tsx'
import { Age } from '../../parts/time.tsx'
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
  return (
    <div className="page overview">
      <h1 className={`verdict ${overview.verdict}`}>{overview.sentence}</h1>
      <Looked overview={overview} />
      <Section title="Needs you" className="needs-section">
        <Needs needs={overview.needs.filter(isOfAccount)} />
      </Section>
      <FoundWithoutWebhook />
      <Suspense fallback={<Loading rows={4} />}>
        <Charts />
      </Suspense>
    </div>
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
            oldestProof && (
              <>
                oldest proof <Age at={oldestProof} />
              </>
            )
          }
        >
          {data ? `${count(proven)} of ${count(known)}` : '…'}
        </Figure>
        <Figure name="Lost webhooks" note={lost > 0 ? 'all found by polling' : undefined}>
          {data ? count(lost) : '…'}
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
        <Figure name="Waiting for destinations">
          {oldestUnsent ? (
            <>
              since <Age at={oldestUnsent} />
            </>
          ) : (
            'nothing'
          )}
        </Figure>
      </dl>
    </>
  )
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
