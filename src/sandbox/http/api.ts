import type { FastifyInstance } from 'fastify'
import { parseUuid } from '../../model/uuid.ts'
import { outstandingView, sessionsView, workspaceView } from '../service/details.ts'
import { Refusal } from '../service/refusal.ts'
import { requirementsView } from '../service/requirements.ts'
import type { Caller } from '../service/tokens.ts'
import type { Unshown } from '../service/unshown.ts'
import type { Submission } from '../world/submission.ts'
import type { World } from '../world/world.ts'
import type { Answer } from './answers.ts'
import { registerById } from './by-id.ts'
import { registerExtra } from './extra.ts'
import { type HandleOptions, readHandler, writeHandler } from './handle.ts'
import { listAnswer, listPaths } from './lists.ts'
import { registerLookups } from './lookups.ts'
import { type PageRequest, page } from './pages.ts'
import { pathIds } from './path-ids.ts'

export interface ApiOptions extends HandleOptions {
  readonly world: World
  /** Whether to answer lists of submissions and insureds. */
  readonly lists: boolean
}

interface SubmissionRequest {
  Params: { submission_id: string }
  Querystring: Record<string, string | string[] | undefined>
}

/** The service's read operations. A write without the scope for it is refused; any other that has no route of its own is not found. */
export function registerApi(app: FastifyInstance, options: ApiOptions): void {
  const { clock, world } = options

  const handle = readHandler(options)
  const write = writeHandler(options)

  app.get('/broker/me', (request, reply) => handle('me', request, reply, undefined, (caller) => identity(caller, options.unshown)))

  const onSubmission = (
    operation: 'events' | 'thread' | 'requirements' | 'outstanding' | 'workspace' | 'sessions',
    path: string,
    read: (submission: Submission, pageRequest: PageRequest) => Answer,
  ) => {
    app.get<SubmissionRequest>(`/broker/submissions/:submission_id/${path}`, (request, reply) => {
      const submissionId = parseUuid(request.params.submission_id)
      return handle(operation, request, reply, submissionId ?? undefined, ({ account }) => {
        const { submission_id: id = '' } = pathIds(request.params)
        const submission = world.submissions(account.name).get(id)
        if (!submission) throw new Refusal('not_found', 'Submission not found')
        const { since, limit } = request.query
        return read(submission, { account: account.name, submissionId: id, since: first(since), limit: first(limit) })
      })
    })
  }
  onSubmission('events', 'events', (submission, request) => page('events', submission.events, request, options))
  onSubmission('thread', 'thread', (submission, request) => page('thread', submission.thread, request, options))
  onSubmission('requirements', 'requirements', (submission) => ({ status: 200, body: requirementsView(submission, clock.now()) }))
  onSubmission('outstanding', 'outstanding-requirements', (submission) => ({ status: 200, body: outstandingView(submission) }))
  onSubmission('workspace', 'application-workspace', (submission) => ({ status: 200, body: workspaceView(submission) }))
  onSubmission('sessions', 'api-quotes/sessions', (submission) => ({ status: 200, body: sessionsView(submission) }))

  for (const path of options.lists ? listPaths : []) {
    app.get(path, (request, reply) =>
      handle('list', request, reply, undefined, ({ account }) => listAnswer(path, [...world.submissions(account.name).values()])),
    )
  }

  registerById(app, options, handle)
  registerLookups(app, options, handle)
  registerExtra(app, world, handle)

  app.route({
    method: ['POST', 'PUT', 'PATCH', 'DELETE'],
    url: '/broker/*',
    handler: (request, reply) =>
      write('write', request, reply, undefined, () => {
        throw new Refusal('not_found', 'Not Found')
      }),
  })
}

/** "Two shapes discriminated by `kind`." `active_states` null: no gating. */
function identity(caller: Caller, unshown: Unshown): Answer {
  const { account, credential, user } = caller
  if (!(credential ?? user)?.active) throw new Refusal('inactive_credential', 'This account or credential is no longer active')
  const rest = { brokerage: account.brokerage, active_states: null }
  if (user)
    return { status: 200, body: { kind: 'user', id: user.id, email: user.email, full_name: user.fullName, role: user.role, ...rest } }
  const scope = unshown.word('me_scope') === 'list' ? caller.scopes : caller.scopes.join(' ')
  return { status: 200, body: { kind: 'api_client', client_id: credential.clientId, label: credential.label, scope, ...rest } }
}

/** @returns the first value of a repeated query parameter. */
function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}
