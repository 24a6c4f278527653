import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { headOf, requesterText } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { answered, api, Refusal, type Schemas } from '../../api/client.ts'
import { findingsQuery, isOpen, runQuery } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { Detail } from '../../parts/detail.tsx'
import { Facts, Section } from '../../parts/fields.tsx'
import { More } from '../../parts/more.tsx'
import { count } from '../../parts/numbers.ts'
import { Asked, Empty, Failed } from '../../parts/states.tsx'
import { Age, clockTime, durationText } from '../../parts/time.tsx'
import { useMay } from '../../session/session.ts'
import { Finding } from './finding.tsx'
import { foundBy, RunChip } from './reconcile.tsx'

type Shown = Schemas['ReconcileRun']

/** What the kinds of findings mean, in the order of their weight. */
const groups: readonly (readonly [Schemas['ReconcileFinding']['kind'], string, string])[] = [
  ['missing', 'Not in the mirror', 'The service shows it and the mirror did not have it: its webhook was lost, or it became visible late.'],
  ['different', 'Other than the service says', 'The mirror said something else: a change was missed, or a row was changed by hand.'],
  ['absent', 'No longer shown by the service', 'The mirror has it, the service shows it no more. It is marked, not deleted.'],
  ['moved', 'Changed since the last read', 'The service changed it after the mirror last read it. No action required.'],
  ['undelivered', 'Not known to have reached a destination', 'A change of the log that a destination may lack.'],
  ['lost', 'Holes in the change log', 'Numbers of the log that have no row.'],
  ['unreadable', 'Could not be checked', 'The service refused, or what it said could not be understood.'],
]

/** One run: its progress, and what it found. */
export function Run() {
  const { run_id: id = '' } = useParams({ strict: false })
  const query = useQuery(runQuery(id))
  if (query.error instanceof Refusal) {
    return (
      <Detail title="Not found" back="/reconcile">
        <Failed error={query.error} />
      </Detail>
    )
  }
  return <Asked query={query}>{(run) => <Told run={run} />}</Asked>
}

function titleOf(run: Shown): string {
  const kind = run.options['dry_run'] === true ? 'Dry run' : 'Run'
  return `${kind} of ${run.account}, ${clockTime(run.requested_at)}`
}

function Told({ run }: { readonly run: Shown }) {
  const may = useMay('operator')
  const stop = useAction({
    run: () => answered(api.POST('/api/v1/reconcile-runs/{id}/stop', { params: { path: { id: run.run_id } } })),
    done: () => 'The run was stopped; what it found until then stays.',
  })
  const actions = isOpen(run) ? (
    <Button needs="operator" isSmall isBusy={stop.isPending} onClick={() => stop.mutate()}>
      Stop
    </Button>
  ) : (
    may && (
      <a className="button small" href={`/api/v1/reconcile-runs/${run.run_id}/report.html`} target="_blank" rel="noreferrer">
        Open the report
      </a>
    )
  )
  return (
    <Detail title={titleOf(run)} back="/reconcile" chip={<RunChip run={run} />} lead={run.note ?? undefined} actions={actions || undefined}>
      <Progress run={run} />
      <Facts
        items={[
          [
            headOf('requested_at'),
            <>
              <Age at={run.requested_at} /> {requesterText(run.requested_by)}
            </>,
          ],
          ['Rows compared', count(run.rows_compared)],
          ['Differences', count(foundBy(run))],
          ['Repaired', count(run.repaired)],
          ['Known before', count(run.known)],
          ['Could not be checked', count(run.unreadable)],
        ]}
      />
      <Findings run={run} />
    </Detail>
  )
}

function Progress({ run }: { readonly run: Shown }) {
  const { submissions_done: done, submissions_total: total, started_at, updated_at } = run
  if (run.state === 'requested') return <p className="progress-text">Queued; starts when a worker is free.</p>
  const tookMs = started_at === null ? 0 : Date.parse(run.ended_at ?? updated_at) - Date.parse(started_at)
  const rate = tookMs > 0 ? done / (tookMs / 1_000) : 0
  const left = rate > 0 ? durationText(((total - done) / rate) * 1_000) : null
  const words = [
    `${count(done)} of ${count(total)} submissions`,
    rate > 0 && `${rate.toFixed(rate < 10 ? 1 : 0)} a second`,
    run.state === 'running' && left !== null && `about ${left} left`,
    run.state !== 'running' && tookMs > 0 && `took ${durationText(tookMs)}`,
  ]
  return (
    <div className="progress">
      <progress max={Math.max(1, total)} value={done} aria-label="Submissions looked at" />
      <p className="progress-text">{words.filter(Boolean).join(' · ')}</p>
    </div>
  )
}

/** What it means that no finding is shown. */
function nothingFound(run: Shown): string {
  if (isOpen(run)) return 'Nothing found so far.'
  if (foundBy(run) + run.unreadable > 0) return 'What it found is not here yet, or not kept any more.'
  const isWhole = run.state === 'done' && run.exit_code !== 1
  return isWhole ? 'Nothing was found: mirror and service agree.' : 'Nothing was found in what it looked at.'
}

function Findings({ run }: { readonly run: Shown }) {
  const query = useInfiniteQuery(findingsQuery(run.run_id))
  return (
    <Asked query={query} rows={3}>
      {({ pages }) => {
        const items = pages.flatMap((page) => page.items)
        if (items.length === 0) return <Empty>{nothingFound(run)}</Empty>
        return (
          <>
            {groups.map(([kind, title, meaning]) => {
              const of = items.filter((item) => item.kind === kind)
              if (of.length === 0) return null
              return (
                <Section key={kind} title={title} actions={<span className="quiet">{of.length}</span>}>
                  <p className="quiet">{meaning}</p>
                  <ul className="lines">
                    {of.map((finding) => (
                      <Finding key={finding.finding_no} finding={finding} />
                    ))}
                  </ul>
                </Section>
              )
            })}
            <More pages={query} />
          </>
        )
      }}
    </Asked>
  )
}
