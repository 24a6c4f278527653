import { z } from 'zod'
import type { Json } from '../../model/json.ts'
import { maskedRow } from '../../model/masking.ts'
import { rowKey } from '../../model/row-key.ts'
import { withInsured } from '../../store/mirror/submissions.ts'
import { listFindings } from '../../store/reconcile/findings.ts'
import { findRun, listRuns } from '../../store/reconcile/runs.ts'
import { type FieldDifference, findingKinds, type RunOptions } from '../../store/schema/reconcile.ts'
import { accountsOfRun, futureProblem, requestReconcile, runNamed, runShown, stopReconcile } from '../actions/reconcile.ts'
import { findingColumns, runColumns, runSummary } from '../output/reconcile-text.ts'
import { MismatchError } from '../output/refusals.ts'
import { record, time } from '../output/schema.ts'
import { hidden } from './hidden.ts'
import {
  count,
  moment,
  momentOf,
  name,
  noCursor,
  numberIn,
  ofAccount,
  ofSubmission,
  page,
  pageOf,
  paging,
  period,
  placeIn,
  rowKeySchema,
  submissionId,
  whole,
} from './inputs.ts'
import { type OperationContext, operation } from './operation.ts'

const states = ['requested', 'running', 'done', 'budget', 'failed', 'stopped'] as const

const run = record('ReconcileRun', {
  run_id: z.string(),
  account: z.string(),
  slot: time.nullable().describe('scheduled time (RECONCILE_CRON); null if requested by an operator'),
  requested_by: z.string().describe('`command`, `cron`, or `admin:` and a token name'),
  options: z.record(z.string(), z.unknown()),
  state: z.enum(states),
  requested_at: time,
  started_at: time.nullable(),
  updated_at: time,
  ended_at: time.nullable(),
  submissions_total: z.int(),
  submissions_done: z.int(),
  rows_compared: z.int(),
  missing: z.int(),
  different: z.int(),
  absent: z.int(),
  unreadable: z.int(),
  undelivered: z.int(),
  lost: z.int().describe('gaps in the change log'),
  moved: z.int().describe('rows that changed after the last read; no action required'),
  repaired: z.int(),
  known: z.int().describe('findings of earlier runs, not counted above'),
  exit_code: z.int().nullable(),
  note: z.string().nullable(),
})

const runTable = ['Reconcile runs, newest first', runColumns, 'No runs.'] as const

const list = operation({
  name: 'reconcile.list',
  summary: 'list reconcile runs, newest first',
  role: 'viewer',
  http: 'GET /reconcile-runs',
  input: z.strictObject({
    account: ofAccount,
    state: z.enum(states).optional().describe('only this state'),
    since: period('requested').since,
    ...paging,
  }),
  output: pageOf(run),
  run: async (c, { since, limit, cursor, ...filter }) => {
    const after = await placeOf(c, cursor)
    const rows = await listRuns(c.db.read, { ...filter, since: momentOf(c, since), after, limit: limit + 1 })
    return page(rows, limit, ({ run_id }) => [run_id])
  },
  table: runTable,
})

async function placeOf(c: OperationContext, cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const last = await findRun(c.db.read, String(placeIn(cursor, ['string'])[0]))
  if (last === null) throw noCursor()
  return { requestedAt: last.requested_at, runId: last.run_id }
}

const byId = { id: z.uuid().describe('run id') }
const byPrefix = { id: name.describe('run id or its first characters') }

const show = operation({
  name: 'reconcile.show',
  summary: 'show a reconcile run',
  role: 'viewer',
  http: 'GET /reconcile-runs/:id',
  input: z.strictObject(byPrefix),
  argument: 'id',
  withoutCommand: 'the terminal also shows findings and writes a report',
  output: run,
  run: async (c, { id }) => await runShown(c.db.read, id),
  print: (to, shown) => to.line(runSummary(shown).trimEnd()),
})

const stop = operation({
  name: 'reconcile.stop',
  summary: 'stop a waiting or running reconcile run; its findings and repairs are kept',
  description: 'A running run stops within seconds.',
  role: 'operator',
  http: 'POST /reconcile-runs/:id/stop',
  input: z.strictObject(byId),
  argument: 'id',
  output: run,
  run: async (c, { id }) => await stopReconcile(c, id),
  print: (to, { run_id, note }) => to.line(`Reconcile run ${run_id} is stopped: ${note ?? ''}`),
})

const difference = z.object({ field: z.string(), mirror: z.unknown(), service: z.unknown() })
const finding = record('ReconcileFinding', {
  row_key: rowKeySchema,
  run_id: z.string(),
  finding_no: z.int(),
  account: z.string(),
  submission_id: z.string().nullable(),
  kind: z.enum(findingKinds),
  insured_name: z.string().nullable(),
  entity: z.string().nullable(),
  entity_id: z.string().nullable(),
  fields: hidden(z.array(difference).readonly().nullable(), (fields, row: { entity: string | null }) =>
    (fields as readonly FieldDifference[]).map(({ field, mirror, service }) => {
      const side = (value: Json) => maskedRow(row.entity ?? '', { [field]: value })[field] ?? null
      return { field, mirror: side(mirror), service: side(service) }
    }),
  ),
  read: z.string().nullable(),
  destination: z.string().nullable(),
  seq: z.int().nullable(),
  known: z.boolean().describe('known before this run'),
  repaired_at: time.nullable(),
  detail: z.string(),
  found_at: time,
})

const findings = operation({
  name: 'reconcile.findings',
  summary: 'list the findings of a run in order',
  description: 'Personal values are masked. `GET /api/v1/rows/reconcile_findings/{key}` shows them; viewing is recorded.',
  role: 'viewer',
  http: 'GET /reconcile-runs/:id/findings',
  input: z.strictObject({
    ...byPrefix,
    kind: z.enum(findingKinds).optional().describe('only this kind'),
    known: z.boolean().optional().describe('true: only findings known before; false: only new ones'),
    submission_id: ofSubmission,
    ...paging,
  }),
  argument: 'id',
  output: pageOf(finding),
  run: async (c, { id, kind, known, submission_id, limit, cursor }) => {
    const { run_id: runId } = await runShown(c.db.read, id)
    const filter = { runId, kind, known, submissionId: submission_id, after: numberIn(cursor) }
    const found = page(await listFindings(c.db.read, { ...filter, limit: limit + 1 }), limit, ({ finding_no }) => [finding_no])
    const rows = found.items.map((row) => ({ ...row, row_key: rowKey([row.run_id, String(row.finding_no)]) }))
    return { ...found, items: await withInsured(c.db.read, rows) }
  },
  table: ['Findings', findingColumns, 'No findings.'],
})

const MOST_READS = 256

const request = operation({
  name: 'reconcile.request',
  summary: 'request a reconcile run, which a worker process carries out',
  description:
    'Reads submissions from the service again, compares them with the mirror and fixes differences. A dry run only reports. Each account gets ' +
    'its own run.',
  role: 'operator',
  needs: 'account',
  http: 'POST /reconcile-runs',
  tool: 'reconcile',
  toolDefaults: { dry_run: true },
  command: 'reconcile',
  withoutCommand: 'the terminal runs it itself',
  input: z.strictObject({
    account: name.optional().describe('all configured accounts if omitted'),
    submissions: z.array(submissionId).min(1).max(500).optional().describe('only these submissions'),
    since: moment.optional().describe('only submissions with activity since'),
    active_only: z.boolean().optional().describe('skip dormant submissions'),
    dry_run: z.boolean().optional().describe('only report differences'),
    no_state: z.boolean().optional().describe('only feeds'),
    concurrency: count(MOST_READS).optional().describe('parallel reads'),
  }),
  output: pageOf(run),
  run: async (c, { account, since, submissions, ...rest }) => {
    const at = momentOf(c, since)
    const problems = futureProblem(at, c.clock.now(), c.nameOf('since'))
    if (problems.length > 0) throw new MismatchError(problems)
    const options = {
      ...(rest as RunOptions),
      ...(submissions !== undefined && { submissions: [...new Set(submissions)].sort() }),
      ...(at !== undefined && { since: at }),
    }
    const accounts = await accountsOfRun(c.config, c.db.read, account, options, c.nameOf('account'))
    const runs: z.input<typeof run>[] = []
    for (const each of accounts) runs.push(await runNamed(c.db.read, await requestReconcile(c, each, options)))
    return whole(runs)
  },
  table: runTable,
})

/** Operations of `reconcile list|show|stop|findings`, and the request of a run. */
export const operations = [list, show, stop, findings, request]
