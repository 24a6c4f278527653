import type { FastifyInstance } from 'fastify'
import { answerOutstanding, answersBody, applyFile } from '../service/answering.ts'
import { createBind, submitBind, uploadContingency } from '../service/bind.ts'
import { checkpoint } from '../service/checkpoint.ts'
import { createSubmission, finalize } from '../service/creation.ts'
import { formFillBody, startFormFill } from '../service/forms.ts'
import { intakeBody } from '../service/intake.ts'
import { programLineBody, setProgramLine } from '../service/market-access.ts'
import { parseBody } from '../service/parse.ts'
import type { BuiltParts } from '../service/parts.ts'
import { selectProducts } from '../service/quote-products.ts'
import { postToThread } from '../service/thread-post.ts'
import { checkFile, documentView, requireFile, storeDocument } from '../service/uploads.ts'
import type { Submission } from '../world/submission.ts'
import { formOf, jsonOf, optionalJsonOf } from './body.ts'
import { type WriteRoutes, writeRoutes } from './write-route.ts'

/** The write operations of submissions: creation, release, answers, thread, documents and binding. */
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
  on('POST', '/broker/intake', async ({ caller, request, account, atMs }) => {
    const field = parts.unshown.word('intake_file_field')
    const { fields, files } = await formOf(request)
    const form = { fields, files: field === 'any' ? files : files.filter((file) => file.field === field) }
    const submission = createSubmission(parts, caller, intakeBody(form), atMs)
    for (const file of form.files) storeDocument(submission, file, {}, atMs)
    for (const file of form.files) applyFile(parts, account, submission, file.name, atMs)
    return created(submission)
  })
  // "No body": who names the producer all the same may do so in the query as well.
  onSubmission('POST', 'finalize', ({ caller, request, account, atMs }, submission) => {
    const { producer_email } = { ...(request.query as object), ...(optionalJsonOf(request) as object) } as { producer_email?: unknown }
    parts.authority.checkNamed(caller, producer_email, false)
    return finalize(parts, account, submission, atMs)
  })
}

function registerConversation({ onSubmission }: WriteRoutes, parts: BuiltParts): void {
  const { authority, unshown } = parts
  onSubmission('POST', 'outstanding-requirements/answers', ({ caller, request, account, atMs }, submission) => {
    const body = parseBody(answersBody, jsonOf(request))
    authority.attributed(caller, body.producer_email)
    return answerOutstanding(parts, account, submission, body.answers, atMs)
  })
  onSubmission('POST', 'thread', ({ caller, request, account, atMs }, submission) => {
    const input = jsonOf(request)
    const user = authority.attributed(caller, (input as { producer_email?: unknown } | null)?.producer_email)
    const key = request.headers['idempotency-key']
    const id = postToThread(parts, {
      account,
      submission,
      input,
      atMs,
      user,
      idempotencyKey: Array.isArray(key) ? key[0] : key,
    })
    return { status: 'received', [unshown.word('thread_post_id_field')]: id }
  })
  onSubmission('POST', 'documents', async ({ caller, request, account, atMs }, submission) => {
    const { fields, files } = await formOf(request, 'validation_failure')
    const file = requireFile(files, 'validation_failure')
    authority.checkNamed(caller, fields['producer_email'])
    checkFile(file, unshown.word('document_upload_limit') === '25_mb')
    const document = storeDocument(submission, file, { displayName: fields['display_name'] }, atMs)
    applyFile(parts, account, submission, document.displayName, atMs)
    return documentView(document)
  })
}

function registerApplications({ onSubmission }: WriteRoutes, parts: BuiltParts): void {
  const { authority } = parts
  onSubmission('POST', 'applications/:session_id/checkpoint', ({ caller, request, account, ids, atMs }, submission) => {
    const input = jsonOf(request)
    authority.checkNamed(caller, (input as { producer_email?: unknown } | null)?.producer_email)
    return checkpoint(parts, { account, submission, sessionId: ids['session_id'] ?? '' }, input, atMs)
  })
  onSubmission('PUT', 'application-workspace/quote-products', ({ caller, request }, submission) => {
    authority.requirePortalSession(caller)
    return selectProducts(submission, jsonOf(request))
  })
}

function registerFormsAndAccess({ on, onSubmission }: WriteRoutes, parts: BuiltParts): void {
  const { authority, world } = parts
  onSubmission('POST', 'form-fill-session', ({ caller, request, account, atMs }, submission) => {
    const body = parseBody(formFillBody, optionalJsonOf(request))
    authority.checkNamed(caller, body.producer_email)
    return startFormFill(parts, account, submission, body.form_keys, atMs)
  })
  on('PUT', '/broker/market-access/program-line', ({ caller, request, account }) => {
    authority.requireAdmin(caller)
    return setProgramLine(world.recordsOf(account), parseBody(programLineBody, jsonOf(request)))
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
