import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { parseUuid } from '../../model/uuid.ts'
import { type ActivityLog, requestRecord } from '../service/activity-log.ts'
import { outstandingView, sessionsView, workspaceView } from '../service/details.ts'
import type { Operation } from '../service/faults.ts'
import { requirementsView } from '../service/requirements.ts'
import { type Caller, READ_SCOPE, type Tokens } from '../service/tokens.ts'
import type { Submission } from '../world/submission.ts'
import type { World } from '../world/world.ts'
import { type Answer, answer, errorAnswer, type FaultSources, send, serviceTime, validationError } from './answers.ts'
import { registerById } from './by-id.ts'
import { registerExtra } from './extra.ts'
import { listAnswer, listPaths } from './lists.ts'
import { type PageRequest, page } from './pages.ts'

export interface ApiOptions extends FaultSources {
  readonly world: World
  readonly tokens: Tokens
  readonly activity: ActivityLog
  /** Whether to answer lists of submissions and insureds. */
  readonly lists: boolean
}

interface SubmissionRequest {
  Params: { submissionId: string }
  Querystring: Record<string, string | string[] | undefined>
}

/** The service's read operations. Every write is answered 403, since the sandbox's keys are read-only. */
export function registerApi(app: FastifyInstance, options: ApiOptions): void {
  const { clock, faults, activity, tokens, world } = options

  /** Identifies the caller, applies faults, then answers. */
  const handle = async (
    operation: Operation,
    request: FastifyRequest,
    reply: FastifyReply,
    submissionId: string | undefined,
    compute: (caller: Caller) => Answer,
  ): Promise<FastifyReply> => {
    const caller = tokens.callerOf(request.headers.authorization)
    activity.request(requestRecord(operation, request, caller?.account.name))
    const context = { operation, account: caller?.account.name, submissionId }
    if (caller) return answer(reply, context, options, () => compute(caller))
    serviceTime(reply, context, options)
    return send(reply, unauthenticated())
  }

  app.get('/broker/me', (request, reply) => handle('me', request, reply, undefined, identity))

  const onSubmission = (
    operation: 'events' | 'thread' | 'requirements' | 'outstanding' | 'workspace' | 'sessions',
    path: string,
    read: (submission: Submission, pageRequest: PageRequest) => Answer,
  ) => {
    app.get<SubmissionRequest>(`/broker/submissions/:submissionId/${path}`, (request, reply) => {
      const submissionId = parseUuid(request.params.submissionId)
      return handle(operation, request, reply, submissionId ?? undefined, ({ account }) => {
        if (submissionId === null)
          return validationError([{ loc: ['path', 'submission_id'], msg: 'Input should be a valid UUID', type: 'uuid_parsing' }])
        const submission = world.submissions(account.name).get(submissionId)
        if (!submission) return errorAnswer(404, 'Submission not found')
        const { since, limit } = request.query
        return read(submission, { account: account.name, submissionId, since: first(since), limit: first(limit) })
      })
    })
  }
  onSubmission('events', 'events', (submission, request) => page('events', submission.events, request, faults))
  onSubmission('thread', 'thread', (submission, request) => page('thread', submission.thread, request, faults))
  onSubmission('requirements', 'requirements', (submission) => ({ status: 200, body: requirementsView(submission, clock.now()) }))
  onSubmission('outstanding', 'outstanding-requirements', (submission) => ({ status: 200, body: outstandingView(submission) }))
  onSubmission('workspace', 'application-workspace', (submission) => ({ status: 200, body: workspaceView(submission) }))
  onSubmission('sessions', 'api-quotes/sessions', (submission) => ({ status: 200, body: sessionsView(submission) }))

  for (const path of options.lists ? listPaths : []) {
    app.get(path, (request, reply) =>
      handle('list', request, reply, undefined, ({ account }) => listAnswer(path, [...world.submissions(account.name).values()])),
    )
  }

  registerById(app, world, handle)
  registerExtra(app, world, handle)

  app.route({
    method: ['POST', 'PUT', 'PATCH', 'DELETE'],
    url: '/broker/*',
    handler(request, reply) {
      const caller = tokens.callerOf(request.headers.authorization)
      const write = requestRecord('write', request, caller?.account.name)
      activity.request(write)
      activity.writes.push(write)
      return send(reply, caller ? errorAnswer(403, 'This operation needs the scope broker_submit') : unauthenticated())
    },
  })
}

function unauthenticated(): Answer {
  return errorAnswer(401, 'Invalid or expired token', { 'www-authenticate': 'Bearer' })
}

function identity({ account, credential }: Caller): Answer {
  if (!credential.active) return errorAnswer(403, 'This credential is no longer active')
  const { clientId } = credential
  const body = {
    kind: 'api_client',
    client_id: clientId,
    label: `${account.name} mirror`,
    scope: READ_SCOPE,
    brokerage: account.brokerage,
    active_states: null,
  }
  return { status: 200, body }
}

/** @returns the first value of a repeated query parameter. */
function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
