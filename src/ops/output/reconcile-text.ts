import { printable } from '../../base/printable.ts'
import type { FindingRow } from '../../store/reconcile/findings.ts'
import type { RunRow } from '../../store/reconcile/runs.ts'
import { findingKinds } from '../../store/schema/reconcile.ts'
import type { Column } from './columns.ts'
import { pluralize, printableLine, shortTime } from './text.ts'
import { requesterOf } from './words.ts'

type ShownRun = Omit<RunRow, 'options'>

export function runSummary(run: ShownRun): string {
  const lines = [
    `run ${run.run_id} of account ${run.account}: ${stateOf(run)}`,
    `${run.submissions_done} of ${pluralize(run.submissions_total, 'submission')} checked, ${pluralize(run.rows_compared, 'row')} compared`,
    foundText(run),
  ]
  if (run.known > 0) lines.push(`${pluralize(run.known, 'known finding')}, listed but not counted`)
  if (run.note !== null) lines.push(printableLine(run.note, 500))
  return lines.map((line) => `${printable(line)}\n`).join('')
}

function stateOf(run: ShownRun): string {
  if (run.state === 'requested') return 'waiting for a `serve` process'
  if (run.state === 'running') return `in progress since ${shortTime(run.started_at)}, last update ${shortTime(run.updated_at)}`
  const words = { done: 'done', budget: 'budget ended', failed: 'failed', stopped: 'stopped' }[run.state]
  return `${words}, ${shortTime(run.started_at)} to ${shortTime(run.ended_at)}, exit code ${run.exit_code}`
}

export const runColumns: readonly Column<ShownRun>[] = [
  ...(['run_id', 'account', 'state', 'requested_at'] as const),
  ['done', (run) => `${run.submissions_done}/${run.submissions_total}`],
  ['unresolved', unresolvedOf],
  ['requested by', (run) => requesterOf(run.requested_by)],
  ['outcome', outcomeOfRun, 'below'],
]

function outcomeOfRun(run: ShownRun): string {
  const code = run.exit_code === null ? [] : [`exit code ${run.exit_code}`]
  const known = run.known > 0 ? [`${run.known} known`] : []
  const note = run.note === null ? [] : [run.note]
  return [...code, foundText(run), ...known, ...note].join('; ')
}

function foundText(run: ShownRun): string {
  const found = findingKinds.filter((kind) => run[kind] > 0).map((kind) => `${run[kind]} ${kind}`)
  return found.length === 0 ? 'no findings' : `found: ${found.join(', ')}; ${run.repaired} repaired, ${unresolvedOf(run)} unresolved`
}

function unresolvedOf(run: ShownRun): number {
  return findingKinds.reduce((sum, kind) => sum + run[kind], 0) - run.repaired
}

type Finding = Omit<FindingRow, 'read' | 'fields'> & { readonly read: string | null }

export const findingColumns: readonly Column<Finding>[] = [
  ...(['finding_no', 'kind', 'submission_id'] as const),
  ['outcome', outcomeOf],
  ['record', whatOf, 'below'],
  'detail',
]

function whatOf(one: Finding): string | null {
  if (one.destination !== null) return `${one.entity ?? ''} → ${one.destination}`
  return one.entity === null ? one.read : `${one.entity} ${one.entity_id ?? ''}`
}

function outcomeOf(one: Finding): string {
  if (one.known) return 'known'
  return one.repaired_at === null ? 'unresolved' : 'repaired'
}
