import { insuredSchema, policySchema } from '../../../client/schemas/appetite.ts'
import { bindRequestSchema } from '../../../client/schemas/binding.ts'
import { formsSchema, quoteSessionsSchema } from '../../../client/schemas/documents.ts'
import { outstandingSchema, requirementsViewSchema } from '../../../client/schemas/requirements.ts'
import { workspaceSchema } from '../../../client/schemas/workspace.ts'
import { isObject } from '../../../model/json.ts'
import type { KnownId } from '../../../model/known-ids.ts'
import { count, type Desk, refusalOf, views } from './desk.ts'
import { agrees, compare, differs, judged, NotTold, untold, type Verdict } from './verdict.ts'

const FORMS_CAP = 50

/** The rows of everything else that is read. */
export const readingChecks: Readonly<Record<string, (desk: Desk) => Promise<Verdict>>> = {
  'endpoint.getRequirements': (desk) => desk.ofSubmissions(views.requirements, requirementsViewSchema),
  'endpoint.getOutstanding': (desk) => desk.ofSubmissions(views.outstanding, outstandingSchema),
  'endpoint.getQuoteSessions': (desk) => desk.ofSubmissions(views.sessions, quoteSessionsSchema),
  'endpoint.getWorkspace': (desk) => desk.ofSubmissions(views.workspace, workspaceSchema),
  'endpoint.getBindRequest': async (desk) => desk.ofEach(await bindPaths(desk), bindRequestSchema),
  'endpoint.getPolicy': async (desk) => desk.ofEach(await pathsOf(desk, 'policy', '/broker/policies/'), policySchema),
  'endpoint.getInsured': async (desk) => desk.ofEach(await pathsOf(desk, 'insured', '/broker/insureds/'), insuredSchema),
  'endpoint.getPdf': pdf,
  'endpoint.searchForms': forms,
  'limit.forms': formsCap,
  'state.matched': matched,
  'state.bound': bound,
  'state.readiness': readiness,
}

async function pathsOf(desk: Desk, kind: 'policy' | 'insured', path: string): Promise<string[]> {
  return (await desk.idsOf(kind)).map(({ id }) => `${path}${id}`)
}

async function bindPaths(desk: Desk): Promise<string[]> {
  return (await desk.idsOf('bind_request')).map(bindPath)
}

function bindPath({ id, submissionId }: KnownId): string {
  return `/broker/submissions/${submissionId}/bind-requests/${id}`
}

async function pdf(desk: Desk): Promise<Verdict> {
  for (const { id } of await desk.idsOf('document')) {
    const { status, contentType, start } = await desk.service.file(`/broker/finalized-documents/${id}/pdf`)
    if (status === 404) continue
    // "Stored document could not be retrieved" is an error of its own, and says nothing about the others.
    if (status >= 400) return untold(`a document was answered ${status}`)
    const wrong = [
      ...(contentType === 'application/pdf' ? [] : [`its type is not application/pdf`]),
      ...(start === '%PDF-' ? [] : ['it is no PDF']),
    ]
    return wrong.length > 0
      ? differs(`a document was answered ${status}, but ${wrong.join(', and ')}`)
      : agrees('a document is a PDF, of that type')
  }
  return untold('answered 404 for the documents that are known here')
}

async function forms({ service }: Desk): Promise<Verdict> {
  const answer = await service.get('/broker/forms', { q: 'acord' })
  const refused = refusalOf(answer)
  if (refused !== null) return differs(refused)
  return judged(compare(formsSchema, answer.json), `${count(lengthOf(answer.json), 'form')} read`)
}

async function formsCap({ service }: Desk): Promise<Verdict> {
  // The letter that most titles have.
  const answer = await service.get('/broker/forms', { q: 'e' })
  if (refusalOf(answer) !== null) throw new NotTold(`a search for forms was answered ${answer.status}`)
  const found = lengthOf(answer.json)
  if (found > FORMS_CAP) return differs(`a search gave ${found} forms, more than ${FORMS_CAP}`)
  return found === FORMS_CAP ? agrees(`a wide search gave ${FORMS_CAP} forms`) : untold(`a wide search gave only ${count(found, 'form')}`)
}

async function matched(desk: Desk): Promise<Verdict> {
  const shown = (await viewsOf(desk, views.requirements)).filter((view) => view['marketing_status'] === 'matched')
  if (shown.length === 0) return untold('no submission that is looked at is matched')
  const empty = shown.filter((view) => lengthOf(view['markets']) === 0)
  return empty.length > 0
    ? differs('a matched submission has no market')
    : agrees(`${count(shown.length, 'matched submission')} with markets`)
}

async function bound(desk: Desk): Promise<Verdict> {
  for (const path of (await desk.boundRequests()).map(bindPath)) {
    const { json } = await desk.service.get(path)
    if (!isObject(json) || json['status'] !== 'bound') continue
    const events = `${path.slice(0, path.indexOf('/bind-requests'))}/events`
    const page = await desk.service.get(events, { limit: '100' })
    const list = isObject(page.json) && Array.isArray(page.json['events']) ? page.json['events'] : []
    if (list.some((event) => isObject(event) && event['type'] === 'bound')) return agrees('a bound request has its event in the feed')
    const isWhole = isObject(page.json) && page.json['next_cursor'] === null
    return isWhole ? differs('a bound request has no event `bound` in the feed') : untold('the feed of a bound request is long')
  }
  return untold('no bind request that is looked at is bound')
}

async function readiness(desk: Desk): Promise<Verdict> {
  const workspaces = await viewsOf(desk, views.workspace)
  const applications = workspaces.flatMap((view) => (Array.isArray(view['applications']) ? view['applications'].filter(isObject) : []))
  const told = applications.filter(({ missing, readiness: state }) => Array.isArray(missing) && typeof state === 'string')
  if (told.length === 0) return untold('no submission that is looked at has an application')
  const wrong = told.filter(({ missing, readiness: state }) => (state === 'ready_for_quote') !== (lengthOf(missing) === 0))
  return wrong.length > 0
    ? differs(`${count(wrong.length, 'application')} of ${told.length} whose readiness does not follow from what is missing`)
    : agrees(`${count(told.length, 'application')} whose readiness follows from what is missing`)
}

async function viewsOf(desk: Desk, path: string): Promise<Record<string, unknown>[]> {
  const read: Record<string, unknown>[] = []
  for (const id of await desk.submissions()) {
    const { status, json } = await desk.service.get(`/broker/submissions/${id}${path}`)
    if (status === 200 && isObject(json)) read.push(json)
  }
  return read
}

function lengthOf(value: unknown): number {
  return Array.isArray(value) ? value.length : 0
}
