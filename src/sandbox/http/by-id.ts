import type { FastifyInstance } from 'fastify'
import { parseUuid } from '../../model/uuid.ts'
import { bindRequestsOf } from '../service/binding.ts'
import { fileAt } from '../service/files.ts'
import { insuredOf } from '../service/insureds.ts'
import type { BuiltParts } from '../service/parts.ts'
import { policiesOf } from '../service/policies.ts'
import { Refusal } from '../service/refusal.ts'
import type { Submission } from '../world/submission.ts'
import type { Handle } from './handle.ts'
import { pathIds } from './path-ids.ts'

type ByIdParts = Pick<BuiltParts, 'faults' | 'world'>

/** The files of documents, at every path that a document has. */
function registerFiles(app: FastifyInstance, { faults, world }: ByIdParts, handle: Handle): void {
  const serve = (url: string, pathOf: (params: Readonly<Record<string, string>>) => string) =>
    app.get<{ Params: Record<string, string> }>(url, (request, reply) =>
      handle('document', request, reply, undefined, ({ account }) => {
        const file = fileAt([...world.submissions(account.name).values()], pathOf(request.params))
        if (file === undefined) throw new Refusal('not_found', 'Document not found')
        if (faults.draw(['pdf_unavailable'], { operation: 'document', account: account.name }))
          throw new Refusal('pdf_unavailable', 'The stored document could not be retrieved')
        return { status: 200, body: file.bytes, contentType: file.contentType }
      }),
    )
  serve('/broker/finalized-documents/:document_id/pdf', (params) => `/broker/finalized-documents/${pathIds(params)['document_id']}/pdf`)
  serve('/documents/:name', ({ name }) => `/documents/${name}`)
}

/** The reads of what has an id of its own. */
export function registerById(app: FastifyInstance, parts: ByIdParts, handle: Handle): void {
  const { world } = parts
  registerFiles(app, parts, handle)
  const read = (
    operation: 'bind_request' | 'policy' | 'insured',
    path: string,
    find: (all: Submission[], ids: Readonly<Record<string, string>>) => unknown,
  ) => {
    app.get<{ Params: Record<string, string> }>(path, (request, reply) =>
      handle(operation, request, reply, parseUuid(request.params['submission_id']) ?? undefined, ({ account }) => {
        const found = find([...world.submissions(account.name).values()], pathIds(request.params))
        if (found === undefined) throw new Refusal('not_found', 'Not found')
        return { status: 200, body: found }
      }),
    )
  }
  read('bind_request', '/broker/submissions/:submission_id/bind-requests/:bind_request_id', (all, ids) => {
    const submission = all.find(({ id }) => id === ids['submission_id'])
    return submission && bindRequestsOf(submission).find(({ bind_request_id }) => bind_request_id === ids['bind_request_id'])
  })
  read('policy', '/broker/policies/:policy_id', (all, ids) =>
    all.flatMap(policiesOf).find(({ policy_id }) => policy_id === ids['policy_id']),
  )
  read('insured', '/broker/insureds/:insured_id', (all, ids) => insuredOf(ids['insured_id'] ?? '', all))
}
