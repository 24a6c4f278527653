import { z } from 'zod'
import { readReport } from '../../../reconcile/report/data.ts'
import { renderHtml } from '../../../reconcile/report/html.ts'
import { noteShowing } from '../../actions/context.ts'
import { runNamed } from '../../actions/reconcile.ts'
import { textAbout } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'

const schema = {
  summary: 'the report of a run as an HTML page',
  description: 'It contains personal values; viewing is recorded in `operator_actions`.',
  tags: ['reconcile'],
  params: z.strictObject({ id: z.uuid() }),
  response: textAbout('text/html', 'the report'),
}

/** Content policy of the report, which contains service data. Forbids scripts, and loading from any address. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"

/** Adds `GET /reconcile-runs/{id}/report.html`. */
export function addReport(api: Api, p: AdminParts): void {
  api.get('/reconcile-runs/:id/report.html', { schema, config: { role: 'operator' } }, async (asked, reply) => {
    const run = await runNamed(p.db.read, asked.params.id)
    await noteShowing(actionContextFor(p, asked), 'reconcile.report', run.account, { run_id: run.run_id })
    const page = renderHtml(await readReport(p.db.read, run, p.version))
    return reply.type('text/html; charset=utf-8').header('content-security-policy', POLICY).send(page)
  })
}
