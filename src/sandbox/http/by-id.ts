import type { FastifyInstance } from 'fastify'
import { parseUuid } from '../../model/uuid.ts'
import { bindRequestsOf } from '../service/binding.ts'
import { fileAt } from '../service/files.ts'
import { insuredOf } from '../service/insureds.ts'
import type { BuiltParts } from '../service/parts.ts'
import { policiesOf } from '../service/policies.ts'
import { BASE_PATH } from '../service/sandbox.ts'
import type { Submission } from '../world/submission.ts'
import { errorAnswer, validationError } from './answers.ts'
import type { Handle } from './handle.ts'

type ByIdParts = Pick<BuiltParts, 'faults' | 'unshown' | 'world'>

/** The files of documents, at every path that a document has. */
function registerFiles(app: FastifyInstance, { faults, unshown, world }: ByIdParts, handle: Handle): void {
  const serve = (path: string) =>
    app.get(path, (request, reply) =>
      handle('document', request, reply, undefined, ({ account }) => {
        const file = fileAt([...world.submissions(account.name).values()], request.url.slice(BASE_PATH.length))
        if (file === undefined) return errorAnswer(404, 'Document not found')
        if (faults.draw(['pdf_unavailable'], { operation: 'document', account: account.name }))
          throw unshown.refusal('pdf_unavailable', 'The stored document could not be retrieved')
        return { status: 200, body: file.bytes, contentType: file.contentType }
      }),
    )
  serve('/broker/finalized-documents/:id/pdf')
  serve('/documents/:name')
}

/** The reads of what has an id of its own. */
export function registerById(app: FastifyInstance, parts: ByIdParts, handle: Handle): void {
  const { world } = parts
  registerFiles(app, parts, handle)
  const read = (
    operation: 'bind_request' | 'policy' | 'insured',
    path: string,
    find: (all: Submission[], id: string, of: string | null) => unknown,
  ) => {
    app.get<{ Params: { id: string; submissionId?: string } }>(path, (request, reply) => {
      const of = parseUuid(request.params.submissionId)
      return handle(operation, request, reply, of ?? undefined, ({ account }) => {
        const id = parseUuid(request.params.id)
        if (id === null) return validationError([{ loc: ['path', 'id'], msg: 'Input should be a valid UUID', type: 'uuid_parsing' }])
        const found = find([...world.submissions(account.name).values()], id, of)
        return found === undefined ? errorAnswer(404, 'Not found') : { status: 200, body: found }
      })
    })
  }
  read('bind_request', '/broker/submissions/:submissionId/bind-requests/:id', (all, id, of) => {
    const submission = all.find((one) => one.id === of)
    return submission && bindRequestsOf(submission).find(({ bind_request_id }) => bind_request_id === id)
  })
  read('policy', '/broker/policies/:id', (all, id) => all.flatMap(policiesOf).find(({ policy_id }) => policy_id === id))
  read('insured', '/broker/insureds/:id', (all, id) => insuredOf(id, all))
}
