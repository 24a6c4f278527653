import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import type { Json } from '../../../model/json.ts'
import { maskedRow } from '../../../model/masking.ts'
import { rowKey } from '../../../model/row-key.ts'
import { withInsured } from '../../../store/mirror/insured.ts'
import { type FindingRow, listFindings } from '../../../store/reconcile/findings.ts'
import { findRun, listRuns } from '../../../store/reconcile/runs.ts'
import { findingKinds, type RunOptions } from '../../../store/schema/tables-reconcile.ts'
import { accountsOfRun, futureProblem, requestReconcile, stopReconcile } from '../../actions/reconcile.ts'
import { noteShowing } from '../../actions/showing.ts'
import { refuseUnknownNames } from '../../actions/unknown-names.ts'
import { moment, momentOf, name, submissionId, time } from '../../operations/inputs.ts'
import { MismatchError, NotFoundError } from '../../output/refusals.ts'
import { answersAbout, answersOfAction, documentAbout } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'
import { rowKeySchema } from '../api/row-schemas.ts'
import { afterNumber, limit, numberProblem, page, pageOf, whole } from '../api/schemas.ts'

const MOST_READS = 256
const states = ['requested', 'running', 'done', 'budget', 'failed', 'stopped'] as const

const run = z
  .object({
    run_id: z.string(),
    account: z.string(),
    slot: time.nullable().meta({ description: 'the scheduled time of the run (RECONCILE_CRON); null for one that an operator requested' }),
    requested_by: z.string().meta({ description: '`command`, `cron`, or `admin:` and the name of a token' }),
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
    lost: z.int().meta({ description: 'holes in the change log' }),
    repaired: z.int(),
    known: z.int().meta({ description: 'findings that stand since before; they are not counted above' }),
    exit_code: z.int().nullable(),
    note: z.string().nullable(),
  })
  .meta({ id: 'ReconcileRun' })

const finding = z
  .object({
    row_key: rowKeySchema,
    run_id: z.string(),
    finding_no: z.int(),
    account: z.string(),
    submission_id: z.string().nullable(),
    kind: z.enum(findingKinds),
    insured_name: z.string().nullable().meta({ description: 'of its submission' }),
    entity: z.string().nullable(),
    entity_id: z.string().nullable(),
    fields: z
      .array(z.object({ field: z.string(), mirror: z.unknown(), service: z.unknown() }))
      .readonly()
      .nullable(),
    read: z.string().nullable(),
    destination: z.string().nullable(),
    seq: z.int().nullable(),
    standing: z.boolean().meta({ description: 'it was known before this run' }),
    repaired_at: time.nullable(),
    detail: z.string(),
    found_at: time,
  })
  .meta({ id: 'ReconcileFinding' })

const requestBody = z.strictObject({
  account: name.optional().meta({ description: 'every account of the settings when left out' }),
  submissions: z.array(submissionId).min(1).max(500).optional().meta({ description: 'only these' }),
  since: moment.optional().meta({ description: 'only submissions in which something moved since' }),
  active_only: z.boolean().optional().meta({ description: 'only submissions that are not dormant' }),
  dry_run: z.boolean().optional().meta({ description: 'write nothing but the report' }),
  no_state: z.boolean().optional().meta({ description: 'the feeds only' }),
  concurrency: z
    .int(numberProblem(MOST_READS))
    .min(1, numberProblem(MOST_READS))
    .max(MOST_READS, numberProblem(MOST_READS))
    .optional()
    .meta({ description: 'reads at once' }),
})

const tags = ['reconcile']
const params = z.strictObject({ id: z.uuid() })

const request = {
  summary: 'ask for a reconcile run: a process that works takes it up',
  tags,
  body: requestBody,
  response: answersOfAction('the runs, one for each account', pageOf(run)),
}

const list = {
  summary: 'reconcile runs, the newest first',
  tags,
  querystring: z.strictObject({
    account: name.optional(),
    state: z.enum(states).optional(),
    since: moment.optional(),
    limit,
    after: z.uuid().optional().meta({ description: 'the `next` of the page before' }),
  }),
  response: answersAbout('a page of runs', pageOf(run)),
}

const show = { summary: 'one reconcile run', tags, params, response: answersAbout('the run', run) }

const stop = {
  summary: 'end a run that waits or is under way',
  description: 'What it found and repaired stays. The process that works on it notices within some seconds.',
  tags,
  params,
  response: answersOfAction('the run, stopped', run),
}

const findings = {
  summary: 'what a run found',
  description: 'Personal values are masked on both sides; `GET /api/v1/rows/reconcile_findings/{key}` shows them, and notes it.',
  tags,
  params,
  querystring: z.strictObject({
    kind: z.enum(findingKinds).optional(),
    standing: z.enum(['true', 'false']).optional(),
    submission_id: submissionId.optional(),
    limit,
    after: afterNumber,
  }),
  response: answersAbout('a page of findings, in the order in which they were found', pageOf(finding)),
}

const NOTED = 'It holds personal values: who saw it is noted in `operator_actions`.'
const html = {
  summary: 'the report of a run, as a page of its own',
  description: NOTED,
  tags,
  params,
  response: documentAbout('the report', 'text/html'),
}
const markdown = {
  summary: 'the report of a run, as Markdown',
  description: NOTED,
  tags,
  params,
  response: documentAbout('the report', 'text/markdown'),
}

/** `/reconcile-runs` */
export function addReconcile(api: Api, p: AdminParts): void {
  const found = async (id: string) => there(await findRun(p.db.read, id), id)
  const noted = async (asked: { readonly params: { readonly id: string }; readonly who: string }) => {
    const { run_id, account } = await found(asked.params.id)
    await noteShowing(actionContextFor(p, asked), 'reconcile.report', account, { run_id })
    return run_id
  }
  api.post('/reconcile-runs', { schema: request }, async (asked) => {
    const { account, since, ...rest } = asked.body
    const at = momentOf(p, since)
    const problems = futureProblem(at, p.clock.now(), 'since')
    if (problems.length > 0) throw new MismatchError(problems)
    const { submissions } = rest
    const options: RunOptions = {
      ...defined({ ...rest, submissions: submissions && [...new Set(submissions)].sort() }),
      ...(at !== undefined && { since: at }),
    }
    const accounts = await accountsOfRun(p.config(), p.db.read, account, options, 'account')
    const runs = []
    for (const each of accounts) runs.push(await found(await requestReconcile(actionContextFor(p, asked), each, options)))
    return whole(runs)
  })
  api.get('/reconcile-runs', { schema: list }, async ({ query }) => {
    const { since, limit: max, after, ...filter } = query
    await refuseUnknownNames(p.db.read, p.config(), filter)
    const last = after === undefined ? undefined : await found(after)
    const behind = last && { requestedAt: last.requested_at, runId: last.run_id }
    const rows = await listRuns(p.db.read, { ...filter, since: momentOf(p, since), after: behind, limit: max + 1 })
    return page(rows, max, ({ run_id }) => run_id)
  })
  api.get('/reconcile-runs/:id', { schema: show }, async (asked) => await found(asked.params.id))
  api.post('/reconcile-runs/:id/stop', { schema: stop }, (asked) => stopReconcile(actionContextFor(p, asked), asked.params.id))
  api.get('/reconcile-runs/:id/findings', { schema: findings }, async ({ params: { id }, query }) => {
    const { run_id: runId } = await found(id)
    const { kind, standing, submission_id, limit: max, after } = query
    const filter = { runId, kind, standing: standing && standing === 'true', submissionId: submission_id, after }
    const rows = await listFindings(p.db.read, { ...filter, limit: max + 1 })
    return page(await withInsured(p.db.read, rows.map(maskedFinding)), max, (last) => last.finding_no)
  })
  api.get('/reconcile-runs/:id/report.html', { schema: html }, async (asked, reply) => {
    const id = await noted(asked)
    const [{ readReport }, { renderHtml }] = await Promise.all([reportData(), import('../../../reconcile/report/html.ts')])
    return sendDocument(reply, 'text/html', renderHtml(there(await readReport(p.db.read, id, p.version), id)))
  })
  api.get('/reconcile-runs/:id/report.md', { schema: markdown }, async (asked, reply) => {
    const id = await noted(asked)
    const [{ readReport }, { renderMarkdown }] = await Promise.all([reportData(), import('../../../reconcile/report/markdown.ts')])
    return sendDocument(reply, 'text/markdown', renderMarkdown(there(await readReport(p.db.read, id, p.version), id)))
  })
}

/** The values on both sides as everybody may see them; `GET /rows/reconcile_findings/{key}` shows them as they are. */
function maskedFinding(row: FindingRow): FindingRow & { readonly row_key: string } {
  const side = (field: string, value: Json) => maskedRow(row.entity ?? '', { [field]: value })[field] ?? null
  const fields = row.fields?.map(({ field, mirror, service }) => ({ field, mirror: side(field, mirror), service: side(field, service) }))
  return { ...row, row_key: rowKey([row.run_id, String(row.finding_no)]), fields: fields ?? null }
}

/** @throws NotFoundError for null. */
function there<T>(row: T | null, id: string): T {
  if (row === null) throw new NotFoundError([`there is no reconcile run ${id}`])
  return row
}

/** Loaded only when somebody wants a report. */
function reportData() {
  return import('../../../reconcile/report/data.ts')
}

/** It holds whatever the service sent, so a browser that shows it runs nothing and loads nothing. */
function sendDocument(reply: FastifyReply, type: 'text/html' | 'text/markdown', text: string): FastifyReply {
  const policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
  return reply.type(`${type}; charset=utf-8`).header('content-security-policy', policy).send(text)
}

/** Without the fields that were left out. */
function defined<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}
