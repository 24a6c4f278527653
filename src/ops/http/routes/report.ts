import { z } from 'zod'
import { noteShowing } from '../../actions/context.ts'
import { runNamed } from '../../actions/reconcile.ts'
import { htmlAbout } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'

const schema = {
  summary: 'the report of a run, as a page of its own',
  description: 'It holds personal values: who saw it is noted in `operator_actions`.',
  tags: ['reconcile'],
  params: z.strictObject({ id: z.uuid() }),
  response: htmlAbout('the report'),
}

/** It holds whatever the service sent, so a browser that shows it runs nothing and loads nothing. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"

/** `/reconcile-runs/{id}/report.html` */
export function addReport(api: Api, p: AdminParts): void {
  api.get('/reconcile-runs/:id/report.html', { schema, config: { role: 'operator' } }, async (asked, reply) => {
    const run = await runNamed(p.db.read, asked.params.id)
    await noteShowing(actionContextFor(p, asked), 'reconcile.report', run.account, { run_id: run.run_id })
    // Loaded only when somebody wants a report.
    const [{ readReport }, { renderHtml }] = await Promise.all([
      import('../../../reconcile/report/data.ts'),
      import('../../../reconcile/report/html.ts'),
    ])
    const page = renderHtml(await readReport(p.db.read, run, p.version))
    return reply.type('text/html; charset=utf-8').header('content-security-policy', POLICY).send(page)
  })
}
