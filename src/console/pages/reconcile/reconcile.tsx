import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useParams } from '@tanstack/react-router'
import { headOf, requesterText } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { api, type Schemas, unwrap } from '../../api/client.ts'
import { overviewQuery, runsQuery } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { Button } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Check, Form } from '../../parts/form.tsx'
import { count } from '../../parts/numbers.ts'
import { ListPage } from '../../parts/page.tsx'
import { QueryTable } from '../../parts/query-table.tsx'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'

type Run = Schemas['ReconcileRun']

export function Reconcile() {
  const { run_id } = useParams({ strict: false })
  const [{ account }] = useAddress()
  const query = useInfiniteQuery(runsQuery(account))
  return (
    <ListPage title="Reconcile" detail={run_id === undefined ? null : <Outlet />}>
      {run_id === undefined && <StartForm />}
      <QueryTable
        query={query}
        label="Reconcile runs"
        columns={run_id === undefined ? columns : columns.filter(({ id }) => ['at', 'state', 'found'].includes(id))}
        keyOf={(run) => run.run_id}
        isChosen={(run) => run.run_id === run_id}
        empty="No runs yet. A run starts every night, or start one now."
      />
    </ListPage>
  )
}

function StartForm() {
  const { data: overview } = useQuery(overviewQuery)
  const navigate = useNavigate()
  const [{ account: chosen }] = useAddress()
  const accounts = overview?.accounts.map(({ account }) => account) ?? []
  const start = useAction({
    run: (body: { account?: string; dry_run?: boolean; active_only?: boolean }) => unwrap(api.POST('/api/v1/reconcile-runs', { body })),
    done: ({ items }) => (items.length === 1 ? 'Run queued.' : `${items.length} runs are queued.`),
  })
  const open = (run: Run | undefined) => run && void navigate({ to: '/reconcile/$run_id', params: { run_id: run.run_id } })
  const startOf = (account: string, dry_run: boolean, active_only: boolean) =>
    start.mutate({ ...(account && { account }), dry_run, active_only }, { onSuccess: ({ items: [first] }) => open(first) })
  return (
    <Form className="filters" onSubmit={({ text, has }) => startOf(text('account'), has('dry'), has('active'))}>
      {accounts.length > 1 && (
        <select key={chosen} name="account" aria-label="Account of the run" defaultValue={chosen ?? ''}>
          <option value="">All accounts</option>
          {accounts.map((account) => (
            <option key={account}>{account}</option>
          ))}
        </select>
      )}
      <Check name="dry" title="Reports differences without changing the mirror.">
        Dry run
      </Check>
      <Check name="active" title="Skips submissions without recent activity.">
        Active submissions only
      </Check>
      <Button type="submit" requires="operator" kind="primary" isSmall isBusy={start.isPending}>
        Start run
      </Button>
    </Form>
  )
}

/** @returns the number of differences that the run found, including those that it repaired. */
export function foundBy(run: Run): number {
  return run.missing + run.different + run.absent + run.undelivered + run.lost
}

export function RunChip({ run }: { readonly run: Run }) {
  if (run.state === 'done' && (run.unreadable > 0 || run.exit_code === 1)) {
    return <Chip word={run.state} tone="bad" label="done, incomplete" />
  }
  return <Chip word={run.state} />
}

const columns: readonly Column<Run>[] = [
  {
    id: 'at',
    head: headOf('requested_at'),
    isWide: true,
    cell: ({ run_id, requested_at, requested_by, options }) => (
      <Link to="/reconcile/$run_id" params={{ run_id }} className="row-link" data-row="">
        <Age at={requested_at} /> <span className="quiet">{requesterText(requested_by)}</span>
        {options['dry_run'] === true && <span className="quiet">, dry run</span>}
      </Link>
    ),
  },
  { id: 'account', head: 'Account', rank: 2, cell: ({ account }) => account },
  { id: 'state', head: 'State', cell: (run) => <RunChip run={run} /> },
  {
    id: 'done',
    head: 'Submissions',
    isNumber: true,
    rank: 2,
    cell: ({ submissions_done: done, submissions_total: all }) => `${count(done)} of ${count(all)}`,
  },
  { id: 'rows', head: 'Rows compared', isNumber: true, rank: 3, cell: ({ rows_compared }) => count(rows_compared) },
  {
    id: 'found',
    head: 'Differences',
    isNumber: true,
    cell: (run) => (foundBy(run) === 0 ? <span className="quiet">0</span> : count(foundBy(run))),
  },
  {
    id: 'repaired',
    head: 'Repaired',
    isNumber: true,
    rank: 2,
    cell: ({ repaired }) => (repaired === 0 ? <span className="quiet">0</span> : count(repaired)),
  },
]
