import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import type { Schemas } from '../../api/client.ts'
import { completenessQuery, overviewQuery } from '../../api/queries.ts'
import { useOfAccount } from '../../layout/search.ts'
import { Section } from '../../parts/fields.tsx'
import { count, counted } from '../../parts/numbers.ts'
import { useTitle } from '../../parts/page.tsx'
import { Asked, Loading } from '../../parts/states.tsx'
import { Age, durationText } from '../../parts/time.tsx'
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

/** Since when, and what that was judged by. */
function Looked({ overview }: { readonly overview: Shown }) {
  const { data } = useQuery(completenessQuery)
  const accounts = data?.items ?? []
  const proven = accounts.reduce((sum, each) => sum + each.proven, 0)
  const lost = accounts.reduce((sum, each) => sum + each.lost_webhooks, 0)
  const oldest = accounts
    .map(({ oldest_proof_at }) => oldest_proof_at)
    .reduce((a, b) => (a === null || (b !== null && b < a) ? b : a), null)
  const parts = [
    overview.since && (
      <span key="since">
        since <Age at={overview.since} /> ago
      </span>
    ),
    <span key="known">{counted(overview.submissions.known, 'submission')} looked at</span>,
    data && (
      <span key="proven">
        {count(proven)} proved equal to the service{oldest && <>, the oldest proof {durationText(Date.now() - Date.parse(oldest))} old</>}
      </span>
    ),
    data && <span key="lost">{lost === 0 ? 'no webhook counts as lost' : `${counted(lost, 'record')} found whose webhook was lost`}</span>,
  ].filter(Boolean)
  return <p className="looked">{parts}</p>
}
