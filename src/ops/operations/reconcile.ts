import { z } from 'zod'
import type { Json } from '../../model/json.ts'
import { maskedRow } from '../../model/masking.ts'
import { rowKey } from '../../model/row-key.ts'
import { withInsured } from '../../store/mirror/insured.ts'
import { listFindings } from '../../store/reconcile/findings.ts'
import { findRun, listRuns } from '../../store/reconcile/runs.ts'
import { type FieldDifference, findingKinds, type RunOptions } from '../../store/schema/reconcile.ts'
import { refuseUnknownNames } from '../actions/names.ts'
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
  slot: time.nullable().describe('the scheduled time of the run (RECONCILE_CRON); null for one that an operator requested'),
  requested_by: z.string().describe('`command`, `cron`, or `admin:` and the name of a token'),
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
  lost: z.int().describe('holes in the change log'),
  moved: z.int().describe('rows that changed after they were last read; need no attention'),
  repaired: z.int(),
  known: z.int().describe('findings that stand since before; they are not counted above'),
  exit_code: z.int().nullable(),
  note: z.string().nullable(),
})

const runTable = ['Reconcile runs, the newest first', runColumns, 'No run.'] as const

const list = operation({
  name: 'reconcile.list',
  summary: 'list runs, the newest first',
  role: 'viewer',
  http: 'GET /reconcile-runs',
  input: z.strictObject({
    account: ofAccount,
    state: z.enum(states).optional().describe('only in this state'),
    since: period('requested').since,
    ...paging,
  }),
  output: pageOf(run),
  run: async (c, { since, limit, cursor, ...filter }) => {
    await refuseUnknownNames(c.db.read, c.config, filter)
    const after = await placeOf(c, cursor)
    const rows = await listRuns(c.db.read, { ...filter, since: momentOf(c, since), after, limit: limit + 1 })
    return page(rows, limit, ({ run_id }) => [run_id])
  },
  table: runTable,
})

/** The run behind which a list goes on. */
async function placeOf(c: OperationContext, cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const last = await findRun(c.db.read, String(placeIn(cursor, ['string'])[0]))
  if (last === null) throw noCursor()
  return { requestedAt: last.requested_at, runId: last.run_id }
}

const byId = { id: z.uuid().describe('of the run') }
const byBeginning = { id: name.describe('of the run (the beginning will do)') }

const show = operation({
  name: 'reconcile.show',
  summary: 'show a run',
  role: 'viewer',
  http: 'GET /reconcile-runs/:id',
  input: z.strictObject(byBeginning),
  argument: 'id',
  withoutCommand: 'the terminal shows what it found, too, and writes its report to a file',
  output: run,
  run: async (c, { id }) => await runShown(c.db.read, id),
  print: (to, told) => to.line(runSummary(told).trimEnd()),
})

const stop = operation({
  name: 'reconcile.stop',
  summary: 'end a run that waits or is in progress; what it found and repaired stays',
  description: 'The process that works on it notices within some seconds.',
  role: 'operator',
  http: 'POST /reconcile-runs/:id/stop',
  input: z.strictObject(byId),
  argument: 'id',
  output: run,
  run: async (c, { id }) => await stopReconcile(c, id),
  print: (to, { run_id, note }) => to.line(`reconcile run ${run_id} is stopped: ${note ?? ''}`),
})

const difference = z.object({ field: z.string(), mirror: z.unknown(), service: z.unknown() })
const finding = record('ReconcileFinding', {
  row_key: rowKeySchema,
  run_id: z.string(),
  finding_no: z.int(),
  account: z.string(),
  submission_id: z.string().nullable(),
  kind: z.enum(findingKinds),
  insured_name: z.string().nullable().describe('of its submission'),
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
  standing: z.boolean().describe('it was known before this run'),
  repaired_at: time.nullable(),
  detail: z.string(),
  found_at: time,
})

const findings = operation({
  name: 'reconcile.findings',
  summary: 'list what a run found, in the order in which it was found',
  description: 'Personal values are masked on both sides; `GET /api/v1/rows/reconcile_findings/{key}` shows them, and notes it.',
  role: 'viewer',
  http: 'GET /reconcile-runs/:id/findings',
  input: z.strictObject({
    ...byBeginning,
    kind: z.enum(findingKinds).optional().describe('only of this kind'),
    standing: z.boolean().optional().describe('only what was known before; false: only what was not'),
    submission_id: ofSubmission,
    ...paging,
  }),
  argument: 'id',
  output: pageOf(finding),
  run: async (c, { id, kind, standing, submission_id, limit, cursor }) => {
    const { run_id: runId } = await runShown(c.db.read, id)
    const filter = { runId, kind, standing, submissionId: submission_id, after: numberIn(cursor) }
    const found = page(await listFindings(c.db.read, { ...filter, limit: limit + 1 }), limit, ({ finding_no }) => [finding_no])
    const rows = found.items.map((row) => ({ ...row, row_key: rowKey([row.run_id, String(row.finding_no)]) }))
    return { ...found, items: await withInsured(c.db.read, rows) }
  },
  table: ['Findings', findingColumns, 'No finding.'],
})

const MOST_READS = 256

const request = operation({
  name: 'reconcile.request',
  summary: 'ask for a reconcile run: a process that works takes it up',
  description:
    'It reads submissions anew from the service, compares, and corrects what differs; a dry run only reports. Each account has a run of its own.',
  role: 'operator',
  http: 'POST /reconcile-runs',
  tool: 'reconcile',
  toolDefaults: { dry_run: true },
  command: 'reconcile',
  withoutCommand: 'the terminal carries the run out itself',
  input: z.strictObject({
    account: name.optional().describe('every account of the settings when left out'),
    submissions: z.array(submissionId).min(1).max(500).optional().describe('only these'),
    since: moment.optional().describe('only submissions in which something moved since'),
    active_only: z.boolean().optional().describe('only submissions that are not dormant'),
    dry_run: z.boolean().optional().describe('write nothing but the report'),
    no_state: z.boolean().optional().describe('the feeds only'),
    concurrency: count(MOST_READS).optional().describe('reads at once'),
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

/** `reconcile list|show|stop|findings`, and the request of a run */
export const operations = [list, show, stop, findings, request]
