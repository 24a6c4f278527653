import type { FastifyInstance, FastifyRequest } from 'fastify'
import { programLineSchema } from '../../client/schemas/appetite.ts'
import { formFillSchema } from '../../client/schemas/documents.ts'
import { answerOutstanding, answersBody, applyFile } from '../service/answering.ts'
import { setProgramLine } from '../service/appetite.ts'
import { selectProducts } from '../service/applications.ts'
import { createBind, submitBind, uploadContingency } from '../service/bind.ts'
import { checkpoint } from '../service/checkpoint.ts'
import { createSubmission, finalize, intakeBody } from '../service/creation.ts'
import type { BuiltParts } from '../service/parts.ts'
import { parseBody, Refusal } from '../service/refusal.ts'
import { postToThread } from '../service/thread-post.ts'
import type { Caller } from '../service/tokens.ts'
import { checkFile, documentView, requireFile, storeDocument } from '../service/uploads.ts'
import type { Submission } from '../world/submission.ts'
import { formOf, jsonOf, optionalJsonOf } from './body.ts'
import { handler, pathIds } from './handle.ts'

/**
 * Maximum size of a request body, in bytes. Must exceed 25 MB, so that the route itself rejects files of more than
 * 25 MB.
 */
const BODY_LIMIT_BYTES = 40 * 1024 * 1024

interface WriteCall {
  readonly request: FastifyRequest
  readonly caller: Caller
  /** Ids in the path, by name. */
  readonly ids: Readonly<Record<string, string>>
  readonly atMs: number
}

interface WriteRoutes {
  /** Adds a write operation. `act` returns the body of the answer. The status is 200. */
  on(method: 'POST' | 'PUT', path: string, act: (call: WriteCall) => unknown): void
  /** Adds a write operation below a submission. If the submission is unknown, the answer is 404. */
  onSubmission(method: 'POST' | 'PUT', path: string, act: (call: WriteCall, submission: Submission) => unknown): void
}

function writeRoutes(app: FastifyInstance, parts: BuiltParts): WriteRoutes {
  const handle = handler(parts)
  const on: WriteRoutes['on'] = (method, url, act) => {
    app.route({
      method,
      url,
      bodyLimit: BODY_LIMIT_BYTES,
      handler: (request, reply) =>
        handle('write', request, reply, async (caller) => {
          const call = { request, caller, ids: pathIds(request), atMs: parts.clock.now() }
          return { status: 200, body: await act(call) }
        }),
    })
  }
  return {
    on,
    onSubmission: (method, path, act) =>
      on(method, `/broker/submissions/:submission_id/${path}`, (call) => {
        const submission = parts.world.submissions(call.caller.account.name).get(call.ids['submission_id'] ?? '')
        if (!submission) throw new Refusal('not_found', 'Submission not found')
        return act(call, submission)
      }),
  }
}

/** Adds the write operations of the API. */
export function registerWrites(app: FastifyInstance, parts: BuiltParts): void {
  const routes = writeRoutes(app, parts)
  registerCreation(routes, parts)
  registerConversation(routes, parts)
  registerApplications(routes, parts)
  registerFormsAndAccess(routes, parts)
  registerBinding(routes, parts)
}

function registerCreation({ on, onSubmission }: WriteRoutes, parts: BuiltParts): void {
  const created = (submission: Submission) => ({
    [parts.unshown.word('create_id_field')]: submission.id,
    marketing_status: submission.facts.marketing_status,
  })
  on('POST', '/broker/submissions', ({ caller, request, atMs }) => created(createSubmission(parts, caller, jsonOf(request), atMs)))
  on('POST', '/broker/intake', async ({ caller, request, atMs }) => {
    const field = parts.unshown.word('intake_file_field')
    const { fields, files } = await formOf(request)
    const form = { fields, files: field === 'any' ? files : files.filter((file) => file.field === field) }
    const submission = createSubmission(parts, caller, intakeBody(form), atMs)
    for (const file of form.files) storeDocument(submission, file, {}, atMs)
    for (const file of form.files) applyFile(parts, submission, file.name, atMs)
    return created(submission)
  })
  // The specification shows no body here. `producer_email` may be in the query or in a JSON body.
  onSubmission('POST', 'finalize', ({ caller, request, atMs }, submission) => {
    const { producer_email } = { ...(request.query as object), ...(optionalJsonOf(request) as object) } as { producer_email?: unknown }
    parts.authority.checkNamed(caller, producer_email, false)
    return finalize(parts, submission, atMs)
  })
}

function registerConversation({ onSubmission }: WriteRoutes, parts: BuiltParts): void {
  const { authority, unshown } = parts
  onSubmission('POST', 'outstanding-requirements/answers', ({ caller, request, atMs }, submission) => {
    const body = parseBody(answersBody, jsonOf(request))
    authority.attributed(caller, body.producer_email)
    return answerOutstanding(parts, submission, body.answers, atMs)
  })
  onSubmission('POST', 'thread', ({ caller, request, atMs }, submission) => {
    const input = jsonOf(request)
    const user = authority.attributed(caller, (input as { producer_email?: unknown } | null)?.producer_email)
    const key = request.headers['idempotency-key']
    const id = postToThread(parts, {
      submission,
      input,
      atMs,
      user,
      idempotencyKey: Array.isArray(key) ? key[0] : key,
    })
    return { status: 'received', [unshown.word('thread_post_id_field')]: id }
  })
  onSubmission('POST', 'documents', async ({ caller, request, atMs }, submission) => {
    const { fields, files } = await formOf(request, 'validation_failure')
    const file = requireFile(files, 'validation_failure')
    authority.checkNamed(caller, fields['producer_email'])
    checkFile(file, unshown.word('document_upload_limit') === '25_mb')
    const document = storeDocument(submission, file, { displayName: fields['display_name'] }, atMs)
    applyFile(parts, submission, document.displayName, atMs)
    return documentView(document)
  })
}

function registerApplications({ onSubmission }: WriteRoutes, parts: BuiltParts): void {
  const { authority } = parts
  onSubmission('POST', 'applications/:session_id/checkpoint', ({ caller, request, ids, atMs }, submission) => {
    const input = jsonOf(request)
    authority.checkNamed(caller, (input as { producer_email?: unknown } | null)?.producer_email)
    return checkpoint(parts, submission, ids['session_id'] ?? '', input, atMs)
  })
  onSubmission('PUT', 'application-workspace/quote-products', ({ caller, request }, submission) => {
    authority.requirePortalSession(caller)
    return selectProducts(submission, jsonOf(request))
  })
}

function registerFormsAndAccess({ on, onSubmission }: WriteRoutes, { authority, life, unshown, world }: BuiltParts): void {
  onSubmission('POST', 'form-fill-session', ({ caller, request, atMs }, submission) => {
    const body = parseBody(formFillSchema, optionalJsonOf(request))
    authority.checkNamed(caller, body.producer_email)
    return life.startFormFill(submission, body.form_keys, unshown, atMs)
  })
  on('PUT', '/broker/market-access/program-line', ({ caller, request }) => {
    authority.requireAdmin(caller)
    return setProgramLine(world.recordsOf(caller.account.name), parseBody(programLineSchema, jsonOf(request)))
  })
}

function registerBinding({ onSubmission }: WriteRoutes, parts: BuiltParts): void {
  const { authority, unshown } = parts
  onSubmission('POST', 'bind-requests', ({ caller, request, atMs }, submission) => {
    const input = jsonOf(request)
    const user = authority.attributed(caller, (input as { producer_email?: unknown } | null)?.producer_email)
    return createBind(submission, input, user, unshown, atMs)
  })
  onSubmission('POST', `bind-requests/:bind_request_id/${unshown.word('bind_submit_path')}`, ({ caller, request, ids }, submission) => {
    const input = optionalJsonOf(request)
    authority.attributed(caller, (input as { producer_email?: unknown } | null)?.producer_email)
    return submitBind(submission, ids['bind_request_id'] ?? '', input, unshown)
  })
  onSubmission(
    'POST',
    'bind-requests/:bind_request_id/contingencies/:contingency_id/document',
    async ({ caller, request, ids, atMs }, submission) => {
      const { fields, files } = await formOf(request)
      authority.attributed(caller, fields['producer_email'])
      const bindIds = { bindRequestId: ids['bind_request_id'] ?? '', contingencyId: ids['contingency_id'] ?? '' }
      return uploadContingency(submission, bindIds, { file: requireFile(files), notes: fields['notes'] ?? null }, atMs)
    },
  )
}
