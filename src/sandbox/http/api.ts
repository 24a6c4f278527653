import type { FastifyInstance, FastifyRequest } from 'fastify'
import { appetiteSearchSchema } from '../../client/schemas/appetite.ts'
import { appetiteQuery, appetiteResult, appetiteSearch, countQuestion } from '../service/appetite.ts'
import { bindRequestsOf } from '../service/binding.ts'
import { outstandingView, sessionsView, workspaceView } from '../service/details.ts'
import type { Operation } from '../service/faults.ts'
import { fileAt } from '../service/files.ts'
import { searchForms } from '../service/forms.ts'
import { insuredOf } from '../service/insureds.ts'
import type { BuiltParts } from '../service/parts.ts'
import { policiesOf } from '../service/policies.ts'
import { parseBody, Refusal } from '../service/refusal.ts'
import { requirementsView } from '../service/requirements.ts'
import type { Caller } from '../service/tokens.ts'
import type { Unshown } from '../service/unshown.ts'
import { matchingPrograms } from '../world/catalogue.ts'
import { taxIdOf } from '../world/ids.ts'
import { categoryLabels } from '../world/names.ts'
import type { AccountRecords } from '../world/records.ts'
import type { Submission } from '../world/submission.ts'
import type { RailLane } from '../world/wire.ts'
import type { Answer } from './answers.ts'
import { jsonOf } from './body.ts'
import { handler, pathIds } from './handle.ts'
import { page } from './pages.ts'

type AddRead = (operation: Operation, path: string, answer: (caller: Caller, request: FastifyRequest) => Answer) => void

/**
 * Adds the service's read operations. A write to an unknown path gets 403 if the token lacks the write scope, else 404.
 */
export function registerApi(app: FastifyInstance, parts: BuiltParts): void {
  const { options, unshown, world } = parts
  const handle = handler(parts)
  const on: AddRead = (operation, path, answer) => {
    app.get(path, (request, reply) => handle(operation, request, reply, (caller) => answer(caller, request)))
  }
  on('me', '/broker/me', (caller) => identity(caller, unshown))
  registerSubmissions(on, parts)
  registerById(on, parts)
  for (const path of options.lists ? listPaths : [])
    on('list', path, ({ account }) => listAnswer(path, [...world.submissions(account.name).values()]))
  registerLookups(on, parts)
  // This search is sent by POST but is a read, so it needs only the read scope.
  app.post('/broker/appetite/search', (request, reply) =>
    handle('appetite', request, reply, (caller) => {
      const body = parseBody(appetiteSearchSchema, jsonOf(request))
      count(caller, parts)
      return { status: 200, body: appetiteSearch(body) }
    }),
  )
  app.route({
    method: ['POST', 'PUT', 'PATCH', 'DELETE'],
    url: '/broker/*',
    handler: (request, reply) =>
      handle('write', request, reply, () => {
        throw new Refusal('not_found', 'Not Found')
      }),
  })
}

function registerSubmissions(on: AddRead, parts: BuiltParts): void {
  const { clock, world } = parts
  const onSubmission = (operation: Operation, path: string, answer: (submission: Submission, request: FastifyRequest) => Answer) =>
    on(operation, `/broker/submissions/:submission_id${path}`, ({ account }, request) => {
      const submission = world.submissions(account.name).get(pathIds(request)['submission_id'] ?? '')
      if (!submission) throw new Refusal('not_found', 'Submission not found')
      return answer(submission, request)
    })
  for (const name of ['events', 'thread'] as const)
    onSubmission(name, `/${name}`, (submission, { query }) => {
      const { since, limit } = query as Readonly<Record<string, string | string[] | undefined>>
      const request = { account: submission.account, submissionId: submission.id, since: first(since), limit: first(limit) }
      return name === 'events' ? page(name, submission.events, request, parts) : page(name, submission.thread, request, parts)
    })
  const view = (operation: Operation, path: string, viewOf: (submission: Submission) => unknown) =>
    onSubmission(operation, path, (submission) => ({ status: 200, body: viewOf(submission) }))
  view('requirements', '/requirements', (submission) => requirementsView(submission, clock.now()))
  view('outstanding', '/outstanding-requirements', outstandingView)
  view('workspace', '/application-workspace', workspaceView)
  view('sessions', '/api-quotes/sessions', sessionsView)
  // The specification mentions the two reads below without showing their paths or answers.
  view('extra', '', submissionDetail)
  view('extra', '/markets', (submission) => ({
    submission_id: submission.id,
    ...marketGroups(submission, world.recordsOf(submission.account).linesOff),
  }))
}

/**
 * @returns the caller's identity. `kind` says whether the caller is a user or a machine credential. If `active_states`
 * is null, the service is active in all states.
 */
function identity(caller: Caller, unshown: Unshown): Answer {
  const { account, credential, user } = caller
  if (!(credential ?? user)?.active) throw new Refusal('inactive_credential', 'This account or credential is no longer active')
  const rest = { brokerage: account.brokerage, active_states: null }
  if (user)
    return { status: 200, body: { kind: 'user', id: user.id, email: user.email, full_name: user.fullName, role: user.role, ...rest } }
  const scope = unshown.word('me_scope') === 'list' ? caller.scopes : caller.scopes.join(' ')
  return { status: 200, body: { kind: 'api_client', client_id: credential.clientId, label: credential.label, scope, ...rest } }
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value
}

function registerById(on: AddRead, { faults, world }: BuiltParts): void {
  const read = (operation: Operation, path: string, find: (all: Submission[], ids: Readonly<Record<string, string>>) => unknown) =>
    on(operation, path, ({ account }, request) => {
      const found = find([...world.submissions(account.name).values()], pathIds(request))
      if (found === undefined) throw new Refusal('not_found', 'Not found')
      return { status: 200, body: found }
    })
  read('bind_request', '/broker/submissions/:submission_id/bind-requests/:bind_request_id', (all, ids) => {
    const submission = all.find(({ id }) => id === ids['submission_id'])
    return submission && bindRequestsOf(submission).find(({ bind_request_id }) => bind_request_id === ids['bind_request_id'])
  })
  read('policy', '/broker/policies/:policy_id', (all, ids) =>
    all.flatMap(policiesOf).find(({ policy_id }) => policy_id === ids['policy_id']),
  )
  read('insured', '/broker/insureds/:insured_id', (all, ids) => insuredOf(ids['insured_id'] ?? '', all))

  const serve = (url: string, pathOf: (request: FastifyRequest) => string) =>
    on('document', url, ({ account }, request) => {
      const file = fileAt([...world.submissions(account.name).values()], pathOf(request))
      if (file === undefined) throw new Refusal('not_found', 'Document not found')
      if (faults.draw(['pdf_unavailable'], { operation: 'document', account: account.name }))
        throw new Refusal('pdf_unavailable', 'The stored document could not be retrieved')
      return { status: 200, body: file.bytes, contentType: file.contentType }
    })
  serve('/broker/finalized-documents/:document_id/pdf', (request) => `/broker/finalized-documents/${pathIds(request)['document_id']}/pdf`)
  serve('/documents/:name', ({ params }) => `/documents/${(params as { readonly name: string }).name}`)
}

function registerLookups(on: AddRead, parts: BuiltParts): void {
  on('forms', '/broker/forms', (_caller, { query }) => {
    const { q } = query as Readonly<Record<string, string | string[]>>
    return { status: 200, body: searchForms(first(q) ?? '') }
  })
  on('appetite', '/broker/appetite', (caller, request) => {
    const query = parseBody(appetiteQuery, request.query, 'query')
    count(caller, parts)
    return { status: 200, body: appetiteResult(query) }
  })
}

function count({ account }: Caller, { clock, unshown, world }: BuiltParts): void {
  countQuestion(world.recordsOf(account.name), unshown, clock.now())
}

/** Paths of lists that the specification mentions without describing them. */
const listPaths = ['/broker/submissions', '/broker/insureds'] as const

function listAnswer(path: (typeof listPaths)[number], submissions: readonly Submission[]): Answer {
  if (path === '/broker/submissions') {
    const items = submissions.map((one) => ({
      submission_id: one.id,
      insured: { insured_id: one.insuredId, name: one.facts.insured_name },
    }))
    return { status: 200, body: { items } }
  }
  const insureds = new Map(submissions.map((one) => [one.insuredId, one.facts.insured_name]))
  return { status: 200, body: [...insureds].map(([insured_id, name]) => ({ insured_id, name })) }
}

function marketGroups(submission: Submission, linesOff: AccountRecords['linesOff']) {
  const lanes = submission.shownLanes.map(({ rail }) => rail)
  const laneView = ({ submission_market_id, market_name, program, program_category, lines, status, status_label }: RailLane) => {
    const market = { market_name, program, program_category, category_label: categoryLabels[program_category], lines }
    return { lane_id: submission_market_id, ...market, status, status_label }
  }
  const others = matchingPrograms(submission, linesOff).filter(
    ({ program }) => !lanes.some((lane) => lane.market_name === program.market.name),
  )
  return {
    engaged: lanes.filter(({ chip }) => chip !== 'not_available').map(laneView),
    declined: lanes.filter(({ chip }) => chip === 'not_available').map(laneView),
    available: others.map(({ program: { market }, lines }) => ({
      market_name: market.name,
      program: market.program,
      program_category: market.category,
      category_label: categoryLabels[market.category],
      lines,
    })),
  }
}

/**
 * @returns the detail of a submission. The detail contains ids that no list shows, and a tax id. If a request created
 * the submission, the tax id is from that request. Otherwise the tax id derives from the insured's name.
 */
function submissionDetail(submission: Submission): unknown {
  const { id, facts } = submission
  return {
    submission_id: id,
    insured_name: facts.insured_name,
    insured_id: submission.insuredId,
    applicant: { fein: submission.records.brief ? submission.taxId : taxIdOf(facts.insured_name) },
    bind_requests: bindRequestsOf(submission).map(({ bind_request_id, status }) => ({ bind_request_id, status })),
    policies: policiesOf(submission).map(({ policy_id }) => ({ policy_id })),
  }
}
