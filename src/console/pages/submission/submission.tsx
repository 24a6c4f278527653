import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { headOf, wordOf } from '../../../ops/output/words.ts'
import { Refusal } from '../../api/client.ts'
import { submissionQuery } from '../../api/queries.ts'
import { Chip } from '../../parts/chip.tsx'
import { Id, shortId } from '../../parts/id.tsx'
import { Raw, textOf } from '../../parts/masked.tsx'
import { money } from '../../parts/numbers.ts'
import { useTitle } from '../../parts/page.tsx'
import { Asked } from '../../parts/states.tsx'
import { Age, dateText } from '../../parts/time.tsx'
import { NotFound } from '../not-found.tsx'
import { SubmissionActions } from './actions.tsx'
import { boundOf } from './bound.ts'
import { Destinations } from './destinations.tsx'
import { Documents } from './documents.tsx'
import { Holdings } from './holdings.tsx'
import { Lanes } from './lanes.tsx'
import { Outstanding } from './outstanding.tsx'
import { Timeline } from './timeline.tsx'
import type { View } from './view.ts'

/** One submission: where it stands, and its whole story. */
export function Submission() {
  const { account = '', submission_id: id = '' } = useParams({ strict: false })
  const query = useQuery(submissionQuery(account, id))
  if (query.error instanceof Refusal && [400, 404].includes(query.error.status ?? 0)) return <NotFound />
  return <Asked query={query}>{(view) => <Told view={view} />}</Asked>
}

function Told({ view }: { readonly view: View }) {
  const { account, submission_id } = view.summary
  return (
    <article className="page submission">
      <Header view={view} />
      <Lanes view={view} />
      <div className="halves">
        <Outstanding view={view} />
        <Documents view={view} />
      </div>
      <Timeline account={account} id={submission_id} />
      <Destinations view={view} />
      <Holdings view={view} />
    </article>
  )
}

function Header({ view }: { readonly view: View }) {
  const { summary, ledger } = view
  const name = summary.insured_name || shortId(summary.submission_id)
  useTitle(name)
  const row = `${encodeURIComponent(summary.account)}/${encodeURIComponent(summary.submission_id)}`
  const words = [
    Array.isArray(summary.lines) ? summary.lines.map((line) => wordOf(String(line))).join(', ') : null,
    summary.state,
    summary.effective_date && `effective ${dateText(summary.effective_date)}`,
    summary.marketing_status && wordOf(summary.marketing_status),
  ].filter(Boolean)
  return (
    <header className="submission-head">
      <div className="submission-name">
        <Link to="/submissions" className="back" data-back="" aria-label="Back to the list" title="Back to the list (Esc)">
          <ArrowLeft aria-hidden="true" />
        </Link>
        <h1>
          <bdi>{name}</bdi>
        </h1>
        <Chip word={summary.stands} />
        <SubmissionActions account={summary.account} id={summary.submission_id} insured={summary.insured_name} />
      </div>
      <p className="lead">
        {words.join(' · ')} <Id id={summary.submission_id} /> <Raw table="submissions" row={row} what={name} />
      </p>
      <dl className="figures">
        {boundOf(view).map(({ lane_id, market, cents }) => (
          <Figure key={lane_id} name="Bound">
            {money(cents)} <span className="quiet">{market}</span>
          </Figure>
        ))}
        <Figure name="Lowest quote">
          {summary.best_quote ? (
            <>
              {money(summary.best_quote.total_cents)} <span className="quiet">{textOf(summary.best_quote.market_name)}</span>
            </>
          ) : (
            <span className="quiet">none yet</span>
          )}
        </Figure>
        <Figure name={headOf('moved_at')}>
          <Age at={summary.moved_at} />
        </Figure>
        <Figure name={headOf('oldest_read_at')}>
          <Age at={summary.oldest_read_at} none="never" />
        </Figure>
        <Figure name={headOf('proved_at')}>
          <Age at={summary.proved_at} none="never" />
        </Figure>
        <Figure name="Lost webhooks">{ledger ? ledger.lost_webhooks : '–'}</Figure>
      </dl>
    </header>
  )
}

function Figure({ name, children }: { readonly name: string; readonly children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
