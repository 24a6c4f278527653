import jsonata from 'jsonata'
import type { AuthConfig, DestinationConfig, HttpDestination, RequestTemplate } from '../../config/config.ts'
import { allExpressions } from './expressions.ts'
import { problemOf } from './template-problem.ts'
import { unknownColumns } from './unknown-columns.ts'

/** Headers that the HTTP client writes itself, or refuses to send. */
const CONNECTION_HEADERS = /^(?:content-length|transfer-encoding|connection|keep-alive|upgrade|expect|proxy-authorization)$/

/**
 * Checks the templates of a destination before anything starts, without evaluating them.
 * @returns one sentence for each problem: an expression that is no JSONata or names a column that no table has, a header that a request must
 * not set, updates that could never be sent.
 */
export function checkTemplates(destination: HttpDestination): string[] {
  const at = `destination ${destination.name}:`
  const broken = allExpressions(destination).flatMap(({ name, text }) => {
    const problem = compileProblem(text)
    return problem === null ? [] : [`${at} ${name} is no JSONata expression: ${problem}`]
  })
  const requests = Object.entries({
    request: destination.request,
    update: destination.update,
    upload: destination.upload,
    lookup: destination.lookup,
    check: destination.check,
    probe: destination.probe,
  })
  return [
    ...authProblems(at, destination.auth),
    ...updateProblems(at, destination),
    ...uploadProblems(at, destination),
    ...verifyProblems(at, destination),
    ...batchProblems(at, destination),
    ...requests.flatMap(([name, template]) => (template === null ? [] : requestProblems(`${at} ${name}`, template))),
    ...(destination.request.format === 'file' && !destination.documents ? [`${at} request: format file needs documents: true`] : []),
    ...(broken.length > 0 ? broken : unknownColumns(destination, allExpressions(destination), false)),
  ]
}

function authProblems(at: string, auth: HttpDestination['auth']): string[] {
  if (auth?.type === 'login') return loginProblems(at, auth)
  const problem = auth?.type === 'header' ? connectionProblem(auth.name) : null
  return problem === null ? [] : [`${at} auth.name: ${problem}`]
}

function loginProblems(at: string, { header, request, refresh, refreshToken }: Extract<AuthConfig, { type: 'login' }>): string[] {
  const problem = connectionProblem(header)
  return [
    ...(problem === null ? [] : [`${at} auth.header: ${problem}`]),
    ...requestProblems(`${at} auth.request`, request, true),
    ...(refresh === null ? [] : requestProblems(`${at} auth.refresh`, refresh, true)),
    ...((refresh === null) === (refreshToken === null) ? [] : [`${at} auth.refresh and auth.refresh_token need each other; give both`]),
  ]
}

/** Without the id from an answer, every update would be skipped. */
function updateProblems(at: string, { update, remoteId, batch }: HttpDestination): string[] {
  return update !== null && remoteId === null && batch === null
    ? [`${at} update needs remote_id: an update is sent only where the id at the target is known`]
    : []
}

function uploadProblems(at: string, { upload }: HttpDestination): string[] {
  return upload !== null && upload.body === null ? [`${at} upload has no body: let it be document.file`] : []
}

function verifyProblems(at: string, { verify, check, lookup }: HttpDestination): string[] {
  return verify !== null && check === null && lookup === null ? [`${at} verify needs check or lookup: nothing else asks the target`] : []
}

function batchProblems(at: string, destination: HttpDestination): string[] {
  const { batch, documents, upload } = destination
  if (batch === null) return []
  const told = [
    ['remote_id', destination.remoteId] as const,
    ...(['duplicate', 'refused'] as const).map((key) => [key, destination[key]] as const),
  ]
  return [
    ...told.flatMap(([key, text]) =>
      text === null ? [] : [`${at} ${key} cannot be told of a whole batch: let batch.result yield it for each change`],
    ),
    ...(documents || upload !== null
      ? [`${at} batch: a document goes along with a single change; leave out documents and upload, or batch`]
      : []),
    ...(['request', 'update'] as const).flatMap((name) =>
      destination[name] !== null && destination[name].body === null
        ? [`${at} ${name} has no body, which holds the changes of a batch (items)`]
        : [],
    ),
  ]
}

function connectionProblem(header: string): string | null {
  const name = header.toLowerCase()
  return CONNECTION_HEADERS.test(name) ? `${name} belongs to the connection, and no request sets it; leave it out` : null
}

/** @param mayAuthorize whether it may set `authorization` itself. */
function requestProblems(at: string, template: RequestTemplate, mayAuthorize = false): string[] {
  const problems: string[] = []
  for (const header of Object.keys(template.headers)) {
    const problem = connectionProblem(header)
    if (problem !== null) problems.push(`${at}.headers: ${problem}`)
    else if (header.toLowerCase() === 'authorization' && !mayAuthorize) problems.push(`${at}.headers: authorization comes from auth alone`)
  }
  if (template.body !== null && /^(?:GET|HEAD)$/.test(template.method)) problems.push(`${at}: a ${template.method} has no body`)
  return problems
}

/** @returns one sentence for each problem of the `filter` of a destination of any kind: it is no JSONata, or names a column that no table has. */
export function checkFilter(destination: Pick<DestinationConfig, 'name' | 'filter' | 'entities'>): string[] {
  const { name, filter } = destination
  if (filter === null) return []
  const problem = compileProblem(filter)
  return problem === null
    ? unknownColumns(destination, [{ name: 'filter', text: filter }], true)
    : [`destination ${name}: filter is no JSONata expression: ${problem}`]
}

function compileProblem(text: string): string | null {
  try {
    jsonata(text)
    return null
  } catch (error) {
    return problemOf(error)
  }
}
