import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { headOf, requesterText } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { ApiError, api, type Schemas, unwrap } from '../../api/client.ts'
import { findingsQuery, isOpen, runQuery } from '../../api/queries.ts'
import { ActionButton } from '../../parts/button.tsx'
import { Detail } from '../../parts/detail.tsx'
import { Facts, Section } from '../../parts/fields.tsx'
import { More } from '../../parts/more.tsx'
import { count, counted } from '../../parts/numbers.ts'
import { Empty, Failed, QueryState } from '../../parts/states.tsx'
import { Age, clockTime, durationText } from '../../parts/time.tsx'
import { useMay } from '../../session/session.ts'
import { Finding } from './finding.tsx'
import { foundBy, RunChip } from './reconcile.tsx'

type Shown = Schemas['ReconcileRun']

/** Kinds of findings in the order in which they are shown, each with its title and explanation. */
const groups: readonly (readonly [Schemas['ReconcileFinding']['kind'], string, string])[] = [
  [
    'missing',
    'Not in the mirror',
    'The service has this record and the mirror did not: its webhook was lost, or the record became visible late.',
  ],
  ['different', 'Different from the service', 'A change was missed, or a row was changed by hand.'],
  [
    'absent',
    'No longer in the service',
    'The mirror has this record and the service no longer shows it. The record is marked, not deleted.',
  ],
  ['moved', 'Changed since the last read', 'The service changed this record after the mirror last read it. No action required.'],
  [
    'undelivered',
    'Possibly missing at a destination',
    'A destination may lack this change. Look for it there, then retry or skip it under Destinations.',
  ],
  ['lost', 'Gaps in the change log', 'These changes were deleted from the change log and cannot be restored.'],
  ['unreadable', 'Could not be checked', 'The service rejected the request, or its answer could not be read.'],
]

export function Run() {
  const { run_id: id = '' } = useParams({ strict: false })
  const query = useQuery(runQuery(id))
  if (query.error instanceof ApiError) {
    return (
      <Detail title="Not found" back="/reconcile">
        <Failed error={query.error} />
      </Detail>
    )
  }
  return <QueryState query={query}>{(run) => <Content run={run} />}</QueryState>
}

function titleOf(run: Shown): string {
  const kind = run.options['dry_run'] === true ? 'Dry run' : 'Run'
  return `${kind} of ${run.account}, ${clockTime(run.requested_at)}`
}

function Content({ run }: { readonly run: Shown }) {
  const may = useMay('operator')
  const stop = useAction({
    run: () => unwrap(api.POST('/api/v1/reconcile-runs/{id}/stop', { params: { path: { id: run.run_id } } })),
    done: () => 'Run stopped. Its findings are kept.',
  })
  const actions = isOpen(run) ? (
    <ActionButton action={stop}>Stop</ActionButton>
  ) : (
    may && (
      <a className="button small" href={`/api/v1/reconcile-runs/${run.run_id}/report.html`} target="_blank" rel="noreferrer">
        Open report
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
  if (run.state === 'requested') return <p className="quiet number table-text">Queued. The run starts when a process is free.</p>
  const tookMs = started_at === null ? 0 : Date.parse(run.ended_at ?? updated_at) - Date.parse(started_at)
  const rate = tookMs > 0 ? done / (tookMs / 1_000) : 0
  const left = rate > 0 ? durationText(((total - done) / rate) * 1_000) : null
  const words = [
    total === 1 ? '1 submission' : `${count(done)} of ${counted(total, 'submission')}`,
    rate > 0 && `${rate.toFixed(rate < 10 ? 1 : 0)} per second`,
    run.state === 'running' && left !== null && `about ${left} left`,
    run.state !== 'running' && tookMs > 0 && `took ${durationText(tookMs)}`,
  ]
  return (
    <div className="progress stack">
      <progress max={Math.max(1, total)} value={done} aria-label="Submissions checked" />
      <p className="quiet number table-text">{words.filter(Boolean).join(' · ')}</p>
    </div>
  )
}

function nothingFound(run: Shown): string {
  if (isOpen(run)) return 'No differences so far.'
  if (foundBy(run) + run.unreadable > 0) return 'Findings are still being written, or were deleted after the retention period.'
  const isWhole = run.state === 'done' && run.exit_code !== 1
  return isWhole ? 'No differences: the mirror matches the service.' : 'No differences in the submissions that were checked.'
}

function Findings({ run }: { readonly run: Shown }) {
  const query = useInfiniteQuery(findingsQuery(run.run_id))
  return (
    <QueryState query={query} rows={3}>
      {({ pages }) => {
        const items = pages.flatMap((page) => page.items)
        if (items.length === 0) return <Empty>{nothingFound(run)}</Empty>
        return (
          <>
            {groups.map(([kind, title, meaning]) => {
              const of = items.filter((item) => item.kind === kind)
              if (of.length === 0) return null
              return (
                <Section key={kind} title={title} actions={<span className="quiet">{counted(of.length, 'finding')}</span>}>
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
    </QueryState>
  )
}
