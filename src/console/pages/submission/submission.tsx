import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { headOf, wordOf } from '../../../ops/output/words.ts'
import { ApiError, type Schemas } from '../../api/client.ts'
import { submissionQuery } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { Chip } from '../../parts/chip.tsx'
import { Id, shortId } from '../../parts/id.tsx'
import { MaskedValue, Raw, textOf } from '../../parts/masked.tsx'
import { money } from '../../parts/numbers.ts'
import { useTitle } from '../../parts/page.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { Failed, QueryState } from '../../parts/states.tsx'
import { Age, dateText } from '../../parts/time.tsx'
import { NotFound } from '../not-found.tsx'
import { SubmissionActions } from './actions.tsx'
import { AsOf } from './as-of.tsx'
import { Destinations, ReachedText } from './destinations.tsx'
import { Documents } from './documents.tsx'
import { Holdings } from './holdings.tsx'
import { Lanes } from './lanes.tsx'
import { Outstanding } from './outstanding.tsx'
import { Timeline } from './timeline.tsx'
import { boundOf, type View } from './view.tsx'

export function Submission() {
  const { account = '', submission_id: id = '' } = useParams({ strict: false })
  const [{ at }] = useAddress()
  const query = useQuery(submissionQuery(account, id, at))
  if (at !== undefined && query.error) {
    return (
      <div className="page stack">
        <AsOf />
        <Failed error={query.error} />
      </div>
    )
  }
  if (query.error instanceof ApiError && [400, 404].includes(query.error.status ?? 0)) return <NotFound />
  return (
    <QueryState query={query}>{(view) => <Content key={`${view.summary.account} ${view.summary.submission_id}`} view={view} />}</QueryState>
  )
}

function Content({ view }: { readonly view: View }) {
  const { account, submission_id } = view.summary
  return (
    <article className="page submission">
      <Header view={view} />
      <Lanes view={view} />
      <Outstanding view={view} />
      <Timeline account={account} id={submission_id} />
      <Documents view={view} />
      {view.as_of === null && <Destinations view={view} />}
      <Holdings view={view} />
    </article>
  )
}

function Header({ view }: { readonly view: View }) {
  const { summary, completeness } = view
  const name = summary.insured_name || shortId(summary.submission_id)
  useTitle(name)
  const row = `${encodeURIComponent(summary.account)}/${encodeURIComponent(summary.submission_id)}`
  const words = [
    Array.isArray(summary.lines) ? summary.lines.map((line) => wordOf(String(line))).join(', ') : null,
    summary.state,
    summary.effective_date && `effective ${dateText(summary.effective_date)}`,
    summary.marketing_status && `marketing status ${wordOf(summary.marketing_status)}`,
  ].filter(Boolean)
  return (
    <header className="submission-head">
      <div className="submission-name cluster">
        <Link to="/submissions" className="back quiet" data-back="" aria-label="Back to list" title="Back to list (Esc)">
          <ArrowLeft aria-hidden="true" />
        </Link>
        <h1>
          <bdi>{name}</bdi>
        </h1>
        <Chip word={summary.stage} />
        <SubmissionActions of={summary} needsClient={view.reached.some(({ mapping }) => mapping !== 'none')} />
      </div>
      <p className="lead">
        {words.join(' · ')} · submission id <Id id={summary.submission_id} /> <Raw table="submissions" row={row} what={name} />
      </p>
      <AsOf shown={view.as_of} />
      {view.hint !== null && (
        <p className="lead">
          <Sentence text={view.hint} />
        </p>
      )}
      <dl className="figures">
        {boundOf(view).map(({ lane_id, market, cents }) => (
          <Figure key={lane_id} name="Bound">
            {market} {cents !== null && <span className="quiet">{money(cents)}</span>}
          </Figure>
        ))}
        {(view.tables.policies ?? [])
          .filter(({ gone_at }) => gone_at === null)
          .map((policy) => (
            <PolicyFigures key={policy.row_key} policy={policy} />
          ))}
        <Figure name="Lowest current quote">
          {summary.best_quote ? (
            <>
              {money(summary.best_quote.total_cents)} <span className="quiet">{textOf(summary.best_quote.market_name)}</span>
            </>
          ) : (
            <span className="quiet">none yet</span>
          )}
        </Figure>
        {view.reached.map((reached) => (
          <Figure key={reached.destination} name={`Sent to ${reached.destination}`}>
            <a href="#destinations">
              <ReachedText reached={reached} />
            </a>
          </Figure>
        ))}
        <Figure name={headOf('moved_at')} description="Last change in the service">
          <Age at={summary.moved_at} />
        </Figure>
        {completeness !== null && (
          <>
            <Figure name={headOf('oldest_read_at')} description="Last read of the part that was read longest ago">
              <Age at={summary.oldest_read_at} none="never" />
            </Figure>
            <Figure name={headOf('reconciled_at')} description="Last reconcile run without differences">
              <Age at={summary.reconciled_at} none="not yet" />{' '}
              {completeness.unconfirmed && <span className="quiet">except {completeness.unconfirmed.replaceAll('_', ' ')}</span>}
            </Figure>
          </>
        )}
        {completeness !== null && completeness.lost_webhooks > 0 && (
          <Figure name="Lost webhooks" description="Records without a webhook, found by polling">
            {completeness.lost_webhooks}
          </Figure>
        )}
      </dl>
    </header>
  )
}

function PolicyFigures({ policy }: { readonly policy: Schemas['PoliciesRow'] }) {
  const { policy_number, effective_date, expiration_date, total_billed_cents, commission_cents, row_key } = policy
  return (
    <>
      <Figure name="Policy">
        <MaskedValue table="policies" row={row_key} column="policy_number" value={policy_number ?? 'no number yet'} what="policy number" />{' '}
        {effective_date && (
          <span className="quiet">
            {dateText(effective_date)} to {expiration_date ? dateText(expiration_date) : '–'}
          </span>
        )}
      </Figure>
      <Figure name="Total billed, with fees and taxes">{money(total_billed_cents)}</Figure>
      <Figure name="Commission">{money(commission_cents)}</Figure>
    </>
  )
}

interface FigureProps {
  readonly name: string
  readonly description?: string
  readonly children: React.ReactNode
}

function Figure({ name, description, children }: FigureProps) {
  return (
    <div title={description}>
      <dt className="quiet small-text">{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
