import { z } from 'zod'
import { inOneAccount, moment, momentOf, submissionId } from '../../operations/inputs.ts'
import { exportRecord } from '../../record/export.ts'
import { fileAbout } from '../api/answers.ts'
import { type AdminParts, type Api, actionContextFor } from '../api/parts.ts'

const schema = {
  summary: 'export everything about a submission as a ZIP file with its sources',
  description: 'It contains personal values; the export is recorded in `operator_actions`.',
  tags: ['submission'],
  params: z.strictObject({ account: inOneAccount.unwrap(), submission_id: submissionId }),
  querystring: z.strictObject({ until: moment.optional().describe('as the mirror knew it at this time; default: now') }),
  response: fileAbout('the archive'),
}

/** Adds `GET /submissions/{account}/{submission_id}/export`. */
export function addExport(api: Api, p: AdminParts): void {
  api.get('/submissions/:account/:submission_id/export', { schema, config: { role: 'admin' } }, async (request, reply) => {
    const { account, submission_id: submissionId } = request.params
    const parts = { ...actionContextFor(p, request), config: p.config(), version: p.version }
    const archive = await exportRecord(parts, { account, submissionId }, momentOf(p, request.query.until))
    reply.header('content-disposition', `attachment; filename="record-${submissionId}.zip"`)
    return reply.type('application/octet-stream').send(archive as never)
  })
}
