import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useParams } from '@tanstack/react-router'
import { type FormEvent, useId } from 'react'
import { headOf, requesterText } from '../../../ops/output/words.ts'
import { useAction } from '../../api/action.ts'
import { answered, api, type Schemas } from '../../api/client.ts'
import { overviewQuery, runsQuery } from '../../api/queries.ts'
import { useAddress } from '../../layout/search.ts'
import { Chip } from '../../parts/chip.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { Listed } from '../../parts/listed.tsx'
import { count } from '../../parts/numbers.ts'
import type { Column } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'
import { useMay } from '../../session/session.ts'

type Run = Schemas['ReconcileRun']

/** Proofs that the mirror is right. */
export function Reconcile() {
  const { run_id } = useParams({ strict: false })
  const [{ account }] = useAddress()
  const query = useInfiniteQuery(runsQuery(account))
  return (
    <ListPage title="Reconcile" detail={run_id === undefined ? null : <Outlet />}>
      {run_id === undefined && <StartForm />}
      <Listed
        query={query}
        loading={4}
        label="Reconcile runs"
        columns={run_id === undefined ? columns : columns.filter(({ id }) => ['at', 'state', 'found'].includes(id))}
        keyOf={(run) => run.run_id}
        isChosen={(run) => run.run_id === run_id}
        empty="No run yet. One starts every night; start one now to prove the mirror."
      />
    </ListPage>
  )
}

/** Asks for a run. */
function StartForm() {
  const fields = useId()
  const { data: overview } = useQuery(overviewQuery)
  const may = useMay('operator')
  const navigate = useNavigate()
  const [{ account: chosen }] = useAddress()
  const accounts = overview?.accounts.map(({ account }) => account) ?? []
  const start = useAction({
    run: (body: { account?: string; dry_run?: boolean; active_only?: boolean }) => answered(api.POST('/api/v1/reconcile-runs', { body })),
    done: ({ items }) => (items.length === 1 ? 'The run is queued; it starts when a worker is free.' : `${items.length} runs are queued.`),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const account = String(form.get('account') ?? '')
    const body = { ...(account && { account }), dry_run: form.has('dry'), active_only: form.has('active') }
    start.mutate(body, {
      onSuccess: ({ items: [first] }) => first && void navigate({ to: '/reconcile/$run_id', params: { run_id: first.run_id } }),
    })
  }
  return (
    <form className="filters" onSubmit={submit}>
      {accounts.length > 1 && (
        <select key={chosen} name="account" aria-label="Account of the run" defaultValue={chosen ?? ''}>
          <option value="">All accounts</option>
          {accounts.map((account) => (
            <option key={account}>{account}</option>
          ))}
        </select>
      )}
      <label className="check" htmlFor={`${fields}d`} title="Differences are reported, and nothing in the mirror is changed.">
        <input id={`${fields}d`} type="checkbox" name="dry" /> Dry run
      </label>
      <label className="check" htmlFor={`${fields}a`} title="Submissions on which nothing has happened for a long time are left out.">
        <input id={`${fields}a`} type="checkbox" name="active" /> Only what moved lately
      </label>
      <button
        type="submit"
        className="button primary small"
        disabled={!may || start.isPending}
        title={may ? undefined : 'This takes the role operator.'}
      >
        Start
      </button>
    </form>
  )
}

/** Differences that a run found, repaired or not. */
export function foundBy(run: Run): number {
  return run.missing + run.different + run.absent + run.undelivered + run.lost
}

export function RunChip({ run }: { readonly run: Run }) {
  if (run.state === 'done' && (run.unreadable > 0 || run.exit_code === 1)) {
    return <Chip word={run.state} tone="bad" label="done, not everything checked" />
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
        {options['dry_run'] === true && <span className="quiet">, dry</span>}
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
